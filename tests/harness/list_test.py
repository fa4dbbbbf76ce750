import importlib.util
import json


def test_lists_boards_scenarios_and_duts(fake, wizloop):
    code, text, _ = wizloop("list")
    assert code == 0
    assert "fast" in text and "42 MHz  ethernet2" in text and "byte, burst" in text
    assert "tcp_recv" in text and "read_bytes=2048" in text
    assert "size of a read call: 1 to 65535" in text
    assert "fail=no" in text and "how the run ends: no or void or die or stale or often" in text
    assert "model:BOARD" in text and "serial:PORT[@BAUD]" in text and "tcp:HOST:PORT" in text
    assert "rtl:" not in text  # the fake has no RTL


def test_why_gives_a_reason_for_each_thing_that_cannot_run(fake, wizloop, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "labgrid" else found(name))
    _, text, _ = wizloop("list", "--why")
    assert "no dma: fast.toml gives no dma_gap_ns" in text
    assert "no burst: slow.toml gives no burst_gap_ns" in text
    assert "rtl:BOARD" in text and "this simulator was built without Verilator" in text
    assert "labgrid:PLACE" in text and "pip install 'wizloop[labgrid]'" in text


def test_json_has_the_same_lists(fake, wizloop, tmp_path):
    out = tmp_path / "list.json"
    wizloop("list", "--json", out)
    document = json.loads(out.read_text())
    assert [board["name"] for board in document["boards"]] == ["fast", "slow"]
    assert document["boards"][1]["unavailable"] == {
        "burst": "slow.toml gives no burst_gap_ns",
        "dma": "slow.toml gives no dma_gap_ns",
    }
    assert document["scenarios"][0]["parameters"][0]["name"] == "read_bytes"
    assert document["duts"][0] == {
        "address": "model:BOARD",
        "what": "the chip model in this process, priced by the board file; virtual time",
        "unavailable": "",
    }


def test_quirks_are_listed_by_trust_with_the_default_marked(fake, wizloop):
    code, text, _ = wizloop("list", "--quirks")
    assert code == 0
    lines = text.splitlines()
    assert "observed: seen on silicon by users (1)" in lines
    line = next(line for line in lines if "tx_wr_readback" in line)
    assert line.split() == [
        *("chip.quirk.tx_wr_readback", "latched*", "plain", "observed"),
        *"what a read of Sn_TX_WR gives".split(),
        *("[three", "users]"),
    ]
    assert any(line.split()[:2] == ["chip.latency.segment_to_ack_ns", "5000*"] for line in lines)
    assert "boards" not in text


def test_quirks_put_question_and_source_below_in_a_terminal(fake, wizloop, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, text, _ = wizloop("list", "--quirks")
    assert "      source: three users" in text.splitlines()


def test_quirks_as_json(fake, wizloop, tmp_path):
    wizloop("list", "--quirks", "--json", tmp_path / "quirks.json")
    first = json.loads((tmp_path / "quirks.json").read_text())["quirks"][0]
    assert first["default"] == "latched"
    assert set(first) == set("name kind choices default trust source question".split())


def test_faults_are_listed_by_layer_with_their_parameters(fake, wizloop, tmp_path):
    code, text, _ = wizloop("list", "--faults", "--json", tmp_path / "faults.json")
    assert code == 0
    lines = text.splitlines()
    assert "spi (1)" in lines and "link (1)" in lines
    assert "  spi_flip     one bit is read wrongly (at: SPI byte)" in lines
    assert "      line=miso          which line: miso or mosi" in lines
    assert "  link_unplug  the cable is pulled (lasts from= until=)" in lines
    assert [kind["name"] for kind in json.loads((tmp_path / "faults.json").read_text())["faults"]] == [
        "spi_flip",
        "link_unplug",
    ]


def test_both_tables_come_together(fake, wizloop, tmp_path):
    wizloop("list", "--faults", "--quirks", "--json", tmp_path / "both.json")
    assert set(json.loads((tmp_path / "both.json").read_text())) == {"quirks", "faults"}
