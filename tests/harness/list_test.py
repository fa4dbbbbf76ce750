import json


def test_lists_boards_scenarios_and_duts(fake, wizloop):
    code, text, _ = wizloop("list")
    assert code == 0
    assert "fast" in text and "42 MHz  ethernet2" in text and "byte, burst" in text
    assert "tcp_recv" in text and "read_bytes=2048" in text
    assert "size of a read call: 1 to 65535" in text
    assert "fail=no" in text and "how the run ends: no or void or die" in text
    assert "model:BOARD" in text
    assert "serial:" not in text


def test_why_gives_a_reason_for_each_thing_that_cannot_run(fake, wizloop):
    _, text, _ = wizloop("list", "--why")
    assert "no dma: fast.toml gives no dma_gap_ns" in text
    assert "no burst: slow.toml gives no burst_gap_ns" in text
    assert "serial:PORT[@BAUD]" in text and "this release has no agent firmware" in text


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
