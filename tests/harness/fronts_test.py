"""The SPI front of a run and of a board: the chip's own, RTL, or both in lock-step."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from places import lacking
from wizloop import simulator as of_simulator
from wizloop.dut.address import ModelAddress, parse_address
from wizloop.dut.device import open_device
from wizloop.errors import NothingMeasured
from wizloop.repeat import command
from wizloop.simulator import Request

RUN = ("run", "tcp_xmit", "--board", "stm32f405-arduino", "--path", "dma", "--set", "total_bytes=16384")


DEADLINE_S = 20.0


@pytest.fixture
def rtl(simulator):
    if "rtl" not in simulator.fronts():
        lacking("this simulator was built without Verilator: ci/setup installs it")


def test_a_run_is_the_same_on_any_front(rtl, wizloop):
    shown = {front: wizloop(*RUN, "--front", front) for front in ("cpp", "rtl", "both")}
    assert {code for code, _, _ in shown.values()} == {0}
    own = shown["cpp"][1].splitlines()
    assert shown["rtl"][1].splitlines() == [*own, "SPI front rtl"]
    assert shown["both"][1].splitlines() == [*own, "SPI fronts cpp and rtl: no difference"]


def test_two_fronts_can_be_drawn_as_a_waveform(rtl, wizloop, tmp_path):
    alone, both = tmp_path / "alone.vcd", tmp_path / "both.vcd"
    wizloop(*RUN, "--vcd", alone, "--vcd-window", "1001ms..1002ms")
    code, _, _ = wizloop(*RUN, "--front", "both", "--vcd", both, "--vcd-window", "1001ms..1002ms")
    assert code == 0
    assert len(alone.read_text().splitlines()) > 1000
    assert both.read_bytes() == alone.read_bytes()


def blocks_of(waveform: Path) -> list[int]:
    """The kinds of the blocks that an FST is made of, each with its length; a file that is cut short fails."""
    octets, kinds, at = waveform.read_bytes(), [], 0
    while at < len(octets):
        kinds.append(octets[at])
        at += 1 + int.from_bytes(octets[at + 1 : at + 9], "big")
    assert at == len(octets)
    return kinds


def drawing(waveform: Path) -> subprocess.Popen[str]:
    """A run of hours that has begun to draw."""
    arguments = ["run", "tcp_xmit", "--board", "w55rp20", "--set", "total_bytes=1000000000", "--vcd", str(waveform)]
    process = subprocess.Popen(
        [sys.executable, "-m", "wizloop", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + DEADLINE_S
    while not Path(f"{waveform}.hier").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + 15)])
def test_an_interrupted_run_leaves_a_waveform_that_can_be_read(rtl, tmp_path, number, code):
    waveform = tmp_path / "run.fst"
    process = drawing(waveform)
    process.send_signal(number)
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == code
    header, values, geometry, hierarchies = 0, 8, 3, {6, 7}
    kinds = blocks_of(waveform)
    assert kinds[0] == header
    assert values in kinds
    assert geometry in kinds
    assert hierarchies & set(kinds)
    assert list(tmp_path.iterdir()) == [waveform]


def test_a_run_that_dies_leaves_no_half_of_a_waveform(rtl, tmp_path):
    process = drawing(tmp_path / "run.fst")
    (run,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(run), signal.SIGKILL)
    _, error = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 5
    assert "the simulator died (signal SIGKILL)" in error
    assert list(tmp_path.iterdir()) == []


def test_the_board_of_an_rtl_address_answers_as_that_of_a_model_address(rtl):
    fingerprints = []
    for text in ("model:w55rp20", "rtl:w55rp20"):
        with open_device(parse_address(text)) as device:
            assert str(device.line.name) == text
            assert device.board == "w55rp20"
            fingerprints.append((device.chip.fingerprint, device.now()))
    assert fingerprints[0] == fingerprints[1]


def test_an_rtl_address_is_read_and_written():
    address = parse_address("rtl:boards/own.toml")
    assert address == ModelAddress("boards/own.toml", "rtl")
    assert str(address) == "rtl:boards/own.toml"


def test_without_verilator_there_is_no_rtl(fake, wizloop):
    code, _, error = wizloop("run", "tcp_recv", "--board", "fast", "--front", "both")
    assert code == 4
    assert "front both: this simulator was built without Verilator" in error
    with pytest.raises(NothingMeasured, match="front rtl: this simulator was built without Verilator"):
        open_device(parse_address("rtl:fast"))


def test_a_front_that_is_none_is_told_which_there_are(fake, wizloop):
    code, _, error = wizloop("run", "tcp_recv", "--board", "fast", "--front", "vhdl")
    assert code == 2
    assert "a front is one of cpp, rtl, both" in error


def test_the_command_that_repeats_a_run_names_its_front(fake):
    board = of_simulator.load_board(fake / "fast.toml")
    assert command(Request("tcp_recv", board.file, front="both")).endswith("--seed 1 --front both")
    assert "--front" not in command(Request("tcp_recv", board.file))
