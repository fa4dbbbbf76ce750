"""`wizloop run --spi FILE` and `wizloop replay FILE`."""

import json

import pytest
from serve_test import serve


@pytest.fixture
def transcript(simulator, wizloop, tmp_path):
    file = tmp_path / "run.spi"
    code, _, _ = wizloop("run", "tcp_xmit", "--board", "w55rp20", "--set", "total_bytes=20000", "--spi", file)
    assert code == 0
    return file


def test_a_run_is_equal_to_its_transcript(transcript, wizloop, tmp_path):
    code, text, _ = wizloop("replay", transcript, "--json", tmp_path / "replay.json")
    assert code == 0
    assert text.splitlines()[-1] == "no difference"
    document = json.loads((tmp_path / "replay.json").read_text())
    assert document["difference"] is None
    assert document["whole"]
    assert document["bytes"] > 20000
    assert f"compared {document['bytes']} bytes in {document['frames']} SPI frames" in text


def test_another_chip_is_told_by_the_first_byte_that_differs(transcript, wizloop, tmp_path):
    code, text, _ = wizloop(
        "replay", transcript, "--set", "chip.latency.send_to_frame_ns=900000", "--json", tmp_path / "replay.json"
    )
    assert code == 1
    found = json.loads((tmp_path / "replay.json").read_text())["difference"]
    assert f"  recorded  {found['recorded']:02X}" in text
    assert f"  replayed  {found['replayed']:02X}" in text
    assert found["where"] in text


def test_a_transcript_that_was_cut_short_says_so(transcript, wizloop):
    lines = transcript.read_text().splitlines()
    transcript.write_text("\n".join(lines[: len(lines) // 2]) + "\n")
    code, text, _ = wizloop("replay", transcript)
    assert code == 0
    assert "the recorded run was cut short" in text


def test_what_is_no_transcript_is_refused(simulator, wizloop, tmp_path):
    code, _, complaint = wizloop("replay", tmp_path / "none.spi")
    assert code == 2
    assert "none.spi: cannot be read" in complaint
    (tmp_path / "other.spi").write_text("hello\n")
    code, _, complaint = wizloop("replay", tmp_path / "other.spi")
    assert code == 2
    assert "other.spi:1: this is no SPI transcript" in complaint


def test_a_setting_that_is_not_the_chips_is_refused(transcript, wizloop):
    code, _, complaint = wizloop("replay", transcript, "--set", "fault.link_loss=ppm=1")
    assert code == 2
    assert "fault.link_loss is no setting of the chip" in complaint


def test_a_board_that_is_not_there_is_infrastructure(transcript, wizloop):
    code, _, complaint = wizloop("replay", transcript, "--dut", "serial:/nonexistent/tty")
    assert code == 5
    assert "serial:/nonexistent/tty cannot be opened" in complaint
    code, _, complaint = wizloop("replay", transcript, "--dut", "ttyACM0")
    assert code == 2
    assert "expected serial:PORT[@BAUD] or tcp:HOST:PORT" in complaint
    code, _, complaint = wizloop("replay", transcript, "--dut", "tcp:localhost:1", "--set", "chip.preset=strict")
    assert code == 2
    assert "--set is about the chip model" in complaint


def test_a_transcript_is_held_against_the_chip_of_a_served_board(simulator, wizloop, tmp_path):
    identity = "1000 S\n2000 X 9000 00390000 010203{:02X}\n9000 D\n9000 E\n"  # a read of VERSIONR
    for version, expected in ((0x04, 0), (0x51, 1)):
        file = tmp_path / "run.spi"
        file.write_text("wizloop-spi 1\nboard b\n" + identity.format(version))
        with serve("--board", "w55rp20", "--tcp", "127.0.0.1:0") as served:
            code, text, _ = wizloop("replay", file, "--dut", f"tcp:{served.board()['tcp']}")
        assert code == expected, text
        assert ("no difference" in text) == (expected == 0)
        assert ("read of VERSIONR" in text) == (expected == 1)
