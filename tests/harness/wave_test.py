"""`wizloop run --vcd FILE`: the pins of the chip as a waveform that others can read."""

import json
import subprocess
from pathlib import Path

import pytest
from places import need

RUN = ("run", "udp_xmit", "--board", "stm32f405-arduino", "--path", "dma")
BRIEF = ("--set", "datagrams=1", "--set", "payload_bytes=64")


def frames_of(transcript: Path) -> list[tuple[str, str]]:
    """MOSI and MISO of each SPI frame, as the transcript has them."""

    def octets(text: str, other: str) -> str:
        if not text.startswith("."):
            return text
        return "00" * (int(text[1:]) if len(text) > 1 else len(other) // 2)

    frames: list[tuple[str, str]] = []
    for line in transcript.read_text().splitlines():
        words = line.split()
        if words[1:2] == ["S"]:
            frames.append(("", ""))
        elif words[1:2] == ["X"]:
            mosi, miso = words[3], words[4] if len(words) > 4 else words[3]
            frames[-1] = (frames[-1][0] + octets(mosi, miso), frames[-1][1] + octets(miso, mosi))
    return frames


def decoded(waveform: Path, spi_mode: int) -> list[tuple[str, str]]:
    """The same by sigrok's own SPI decoder. A sample is a nanosecond; pauses are shortened."""
    polarity, phase = divmod(spi_mode, 2)
    decoder = f"spi:clk=SCLK:mosi=MOSI:miso=MISO:cs=SCSn:cpol={polarity}:cpha={phase}"
    command = ["sigrok-cli", "-l", "1", "-I", "vcd:downsample=1000:compress=100000", "-i", str(waveform)]
    command += ["-P", decoder, "-A", "spi=mosi-transfer:miso-transfer"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    transfers = [line.removeprefix("spi-1: ").replace(" ", "") for line in shown]
    return [(mosi, miso) for miso, mosi in zip(transfers[::2], transfers[1::2], strict=True)]


@pytest.mark.parametrize("spi_mode", [0, 3])
def test_sigrok_decodes_a_waveform_to_the_bytes_of_the_transcript(simulator, wizloop, tmp_path, spi_mode):
    need("sigrok-cli")
    waveform, transcript = tmp_path / "run.vcd", tmp_path / "run.spi"
    mode = ("--set", f"board.spi_mode={spi_mode}")
    code, _, _ = wizloop(*RUN, *BRIEF, *mode, "--vcd", waveform, "--spi", transcript)
    assert code == 0
    frames = frames_of(transcript)
    assert len(frames) > 50
    assert max(len(mosi) for mosi, _ in frames) > 2 * 64
    assert decoded(waveform, spi_mode) == frames


def test_a_waveform_names_registers_and_a_window_begins_where_it_is_asked_to(simulator, wizloop, tmp_path):
    whole, part = tmp_path / "whole.vcd", tmp_path / "part.vcd"
    code, text, _ = wizloop(*RUN, *BRIEF, "--vcd", whole)
    assert code == 0
    assert "sS0.Sn_TX_WR" in whole.read_text()
    code, text_of_part, _ = wizloop(*RUN, *BRIEF, "--vcd", part, "--vcd-window", "1000100us..1000200us")
    assert code == 0
    assert text_of_part.splitlines()[-1] == text.splitlines()[-1]  # the fingerprint
    instants = [int(line[1:]) for line in part.read_text().splitlines() if line.startswith("#")]
    assert (instants[0], instants[-1]) == (1_000_100_000_000, 1_000_200_000_000)


def test_what_is_wrong_with_a_waveform_is_told(simulator, wizloop, tmp_path):
    code, _, error = wizloop(*RUN, *BRIEF, "--vcd", tmp_path / "none" / "run.vcd")
    assert code == 2
    assert "run.vcd: cannot be written: No such file or directory" in error
    code, _, error = wizloop(*RUN, *BRIEF, "--vcd", "/dev/full")
    assert code == 5
    assert "/dev/full: the waveform could not be written whole: No space left on device" in error
    code, _, error = wizloop(*RUN, *BRIEF, "--vcd", tmp_path / "run.vcd", "--vcd-window", "2ms..1ms")
    assert code == 2
    assert '"2ms..1ms" is no window, expected FROM..TO' in error


def test_a_window_wants_a_waveform(fake, wizloop):
    code, _, error = wizloop("run", "tcp_recv", "--board", "fast", "--vcd-window", "1ms..2ms")
    assert code == 2
    assert "add --vcd FILE" in error


def test_a_waveform_that_was_cut_off_says_where(fake, wizloop, tmp_path):
    out = tmp_path / "run.json"
    code, text, _ = wizloop("run", "tcp_recv", "--board", "fast", "--vcd", tmp_path / "run.vcd", "--json", out)
    assert code == 0
    assert "waveform cut off at 0.000001000 s by its limit: --vcd-window picks another part" in text.splitlines()
    assert json.loads(out.read_text())["wave_cut_s"] == 1e-6


def test_the_command_that_repeats_a_failure_has_the_waveform(fake, wizloop, tmp_path):
    arguments = ["run", "tcp_recv", "--board", "fast", "--set", "fail=void", "--vcd", tmp_path / "run.vcd"]
    _, text, _ = wizloop(*arguments, "--vcd-window", "1us..2us")
    assert text.splitlines()[-1].endswith(f"--vcd {tmp_path / 'run.vcd'} --vcd-window 1us..2us")
