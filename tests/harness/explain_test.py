import json

import pytest


def test_a_finding_shows_cause_cure_and_how_to_accept_it(fake, wizloop):
    code, text, _ = wizloop("explain", "write-beyond-free")
    assert code == 0
    assert text.splitlines() == [
        "write-beyond-free  error, W5500 datasheet 4.2",
        "  what       TX_WR went too far",
        "  cause      TX_WR was kept from before CONNECT",
        "  cure       read Sn_TX_WR anew",
        "  error      firmware does not do what the datasheet asks for; fails a run unless announced",
        "  accept it  wizloop run ... --set finding.write-beyond-free=WHY, or suppress.write-beyond-free=WHY to leave it "
        'out of the report too; for all runs on a board [[announce]] with rule = "write-beyond-free" and a reason, in its '
        'file; of a driver test ANNOUNCE "write-beyond-free=WHY", or announce() of its testbed',
    ]


def test_an_open_question_shows_its_answers_trust_and_source(fake, wizloop):
    code, text, _ = wizloop("explain", "chip.quirk.tx_wr_readback")
    assert code == 0
    assert text.splitlines() == [
        "chip.quirk.tx_wr_readback  an assumption about the chip",
        "  question   what a read of Sn_TX_WR gives",
        "  answers    latched (default), plain",
        "  trust      observed: seen on silicon by users",
        "  source     three users",
        "  change it  wizloop run ... --set chip.quirk.tx_wr_readback=plain",
    ]


def test_a_fault_shows_when_it_strikes_and_its_parameters(fake, wizloop):
    _, text, _ = wizloop("explain", "spi_flip")
    lines = text.splitlines()
    assert lines[0] == "fault.spi_flip  a fault of the layer spi"
    assert "  strikes  SPI byte" in lines
    assert "  bit=     which bit: 0 to 7; any by default" in lines
    assert "  try it   wizloop run ... --set fault.spi_flip=nth=3" in lines
    _, text, _ = wizloop("explain", "fault.link_unplug")
    assert "--set fault.link_unplug=from=100ms" in text


@pytest.mark.parametrize("name", ["tx_wr_readback", "tx-wr-readback", "TX_WR_READBACK"])
def test_a_name_is_found_without_its_prefix(fake, wizloop, name):
    code, text, _ = wizloop("explain", name)
    assert code == 0
    assert text.startswith("chip.quirk.tx_wr_readback")


def test_a_full_name_wins_over_what_looks_alike(fake, wizloop):
    _, text, _ = wizloop("explain", "chip.quirk.write_beyond_free")
    assert text.startswith("chip.quirk.write_beyond_free")
    _, text, _ = wizloop("explain", "write-beyond-free")
    assert text.startswith("write-beyond-free")


def test_a_latency_shows_its_unit(fake, wizloop):
    _, text, _ = wizloop("explain", "segment_to_ack")
    assert "5000 ns by default" in text


def test_the_preset_is_explained_by_its_choices(fake, wizloop):
    code, text, _ = wizloop("explain", "chip.preset")
    assert code == 0
    assert text.splitlines()[0] == "chip.preset  how strictly a run is judged"
    assert "silicon (default)" in text and "every finding fails a run" in text
    assert "wizloop run ... --set chip.preset=strict" in text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tx_wr_readbak", "did you mean chip.quirk.tx_wr_readback?"),
        ("chip.quirk.wrte_miso", "did you mean chip.quirk.write_miso?"),
        ("write-beyond-fre", "did you mean write-beyond-free or chip.quirk.write_beyond_free?"),
        ("fault.spi_flop", "did you mean fault.spi_flip?"),
        ("zzz", "nothing is called 'zzz': `wizloop explain` lists all names"),
    ],
)
def test_an_unknown_name_brings_the_nearest(fake, wizloop, name, said):
    code, out, err = wizloop("explain", name)
    assert (code, out) == (2, "")
    assert said in err


def test_alone_it_lists_all_names(fake, wizloop):
    code, text, _ = wizloop("explain")
    assert code == 0
    assert "findings (3)" in text and "open questions (4)" in text
    assert "  sclk-above-rating" in text
    assert "  chip.latency.segment_to_ack_ns" in text


def test_json_has_the_same(fake, wizloop, tmp_path):
    wizloop("explain", "write_miso", "--json", tmp_path / "one.json")
    assert json.loads((tmp_path / "one.json").read_text())["choices"] == ["zero", "echo"]
    wizloop("explain", "--json", tmp_path / "all.json")
    assert "chip.quirk.write_miso" in json.loads((tmp_path / "all.json").read_text())["names"]["open questions"]


def test_long_texts_wrap_in_a_narrow_terminal(fake, wizloop, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    _, text, _ = wizloop("explain", "tx_wr_readback")
    assert "  trust      observed: seen on silicon" in text.splitlines()


@pytest.mark.simulator
def test_every_name_of_the_simulator_is_explained(simulator, wizloop, tmp_path):
    wizloop("explain", "--json", tmp_path / "all.json")
    names = json.loads((tmp_path / "all.json").read_text())["names"]
    assert all(names.values())
    for kind in names.values():
        for name in kind:
            code, text, _ = wizloop("explain", name)
            assert code == 0
            assert text.startswith(name)
