"""Fixtures: a small fake simulator module for tests of the harness alone, and the real one for tests of both."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import signal
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from wizloop import boards
from wizloop.cli import main
from wizloop.errors import UsageError

REPOSITORY = Path(__file__).resolve().parents[2]

# Whoever starts the tests in the background of a script has them ignore SIGINT, and all programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
FAKE_PROGRAM = [sys.executable, str(Path(__file__).with_name("fake_program.py"))]

FAST_BOARD = """\
title = "A fast board whose name takes more room than most people would care to spend"
mcu = "STM32"
library = "ethernet2"
sclk_hz = { value = 42_000_000, basis = "given", source = "manual" }
byte_gap_ns = { value = 1000, basis = "fit", figure = "F1", source = "loop" }
burst_gap_ns = { value = 100, basis = "given", source = "loop" }
supply_current_ma = { value = 132, basis = "given", source = "page" }

[[announce]]
rule = "sclk-above-rating"
reason = "the source ran it so"

[[figure]]
id = "F1"
scenario = "tcp_recv"
path = "byte"
published = 4.5
unit = "Mbit/s"
parameters = { read_bytes = 2048 }

[[figure]]
id = "F2"
scenario = "tcp_recv"
path = "burst"
published = 30
unit = "Mbit/s"
parameters = { read_bytes = 2048 }
why = "the source says about twice"

[[figure]]
id = "F3"
scenario = "ping_rtt"
path = "byte"
published = 82
unit = "us"
"""

SLOW_BOARD = """\
title = "A slow board"
mcu = "ESP32"
library = "pjrc_ethernet"
sclk_hz = { value = 12_571_429, basis = "given", source = "computed" }
byte_gap_ns = { value = 150, basis = "given", source = "loop" }

[[figure]]
id = "S1"
scenario = "udp_pps"
path = "byte"
published = 21514
unit = "packets/s"
"""


def fake_simulator() -> ModuleType:
    """As wizloop._sim, but with a formula for a chip: 8 clocks, one gap and a fixed share of waiting for each byte."""
    fake = ModuleType("wizloop._sim")
    parameters = [
        {
            "name": "read_bytes",
            "default": "2048",
            "meaning": "size of a read call",
            "least": 1,
            "most": 65535,
            "choices": [],
        },
        {
            "name": "fail",
            "default": "no",
            "meaning": "how the run ends",
            "least": 0,
            "most": 0,
            "choices": ["no", "void", "die", "stale", "often"],
        },
    ]
    units = {"tcp_recv": ("throughput", "Mbit/s"), "udp_pps": ("rate", "packets/s"), "ping_rtt": ("round_trip", "us")}

    def catalogue() -> list[dict[str, Any]]:
        return [
            {"name": name, "what": f"measures {figure}", "figure": figure, "unit": unit, "parameters": parameters, "settings": {}}
            for name, (figure, unit) in units.items()
        ]

    def rules() -> list[dict[str, Any]]:
        return [
            {
                "id": "sclk-above-rating",
                "severity": "warning",
                "section": "6.3",
                "what": "SCLK is faster than rated",
                "cause": "a divider set too low",
                "cure": "slow down",
            },
            {
                "id": "write-beyond-free",
                "severity": "error",
                "section": "4.2",
                "what": "TX_WR went too far",
                "cause": "TX_WR was kept from before CONNECT",
                "cure": "read Sn_TX_WR anew",
            },
            {
                "id": "not-modelled",
                "severity": "note",
                "section": "-",
                "what": "the model does not do this yet",
                "cause": "none",
                "cure": "do not rest a verdict on this run",
            },
        ]

    def quirks() -> list[dict[str, Any]]:
        return [
            {
                "name": "chip.quirk.tx_wr_readback",
                "kind": "quirk",
                "choices": ["latched", "plain"],
                "default": "latched",
                "trust": "observed",
                "source": "three users",
                "question": "what a read of Sn_TX_WR gives",
            },
            {
                "name": "chip.quirk.write_miso",
                "kind": "quirk",
                "choices": ["zero", "echo"],
                "default": "zero",
                "trust": "unverified",
                "source": "nobody says",
                "question": "what MISO shows during write data",
            },
            {
                "name": "chip.quirk.write_beyond_free",
                "kind": "quirk",
                "choices": ["wraps", "stops"],
                "default": "wraps",
                "trust": "inferred",
                "source": "rings",
                "question": "what a write beyond Sn_TX_FSR does",
            },
            {
                "name": "chip.latency.segment_to_ack_ns",
                "kind": "latency",
                "choices": [],
                "default": "5000",
                "trust": "unverified",
                "source": "no trace was found",
                "question": "how long an ACK takes",
            },
        ]

    def faults() -> list[dict[str, Any]]:
        bit = {"name": "bit", "form": "0 to 7", "default": "any", "meaning": "which bit"}
        line = {"name": "line", "form": "miso or mosi", "default": "miso", "meaning": "which line"}
        return [
            {
                "name": "spi_flip",
                "layer": "spi",
                "occasion": "SPI byte",
                "meaning": "one bit is read wrongly",
                "parameters": [line, bit],
            },
            {
                "name": "link_unplug",
                "layer": "link",
                "occasion": "",
                "meaning": "the cable is pulled",
                "parameters": [],
            },
        ]

    def load_board(file: Path) -> dict[str, Any]:
        raw = tomllib.loads(Path(file).read_text())
        if "sclk_hz" not in raw:
            raise UsageError(f"{file}:1: sclk_hz is missing, expected a number from 100000 to 80000000")
        constants = {key: {"figure": "", **value} for key, value in raw.items() if isinstance(value, dict)}
        figures = [
            {"why": "", "decided": "", **f, "parameters": {k: str(v) for k, v in f.get("parameters", {}).items()}}
            for f in raw.get("figure", [])
        ]
        return {
            "name": Path(file).stem,
            "chip": "W5500",
            "cpu_hz": 168_000_000,
            **{key: raw[key] for key in ("title", "mcu", "library")},
            "sclk_hz": raw["sclk_hz"]["value"],
            "paths": [path for path in ("byte", "burst", "dma") if f"{path}_gap_ns" in raw],
            "supply_current_ma": raw.get("supply_current_ma", {}).get("value"),
            "announced": raw.get("announce", []),
            "figures": figures,
            "constants": constants,
        }

    def run(
        scenario: str,
        board_file: Path,
        path: str,
        library: str,
        seed: int,
        parameters: dict[str, str],
        pcap_file: Path | None,
        trace_file: Path | None,
        transcript_file: Path | None,
        wave_file: Path | None,
        wave_window: str,
        front: str,
        mismatch_file: Path | None,
    ) -> dict[str, Any]:
        board = load_board(board_file)
        ends = parameters.get("fail", "")
        if ends == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        key = f"{path}_gap_ns"
        gap_ns = float(parameters.get(f"board.{key}", board["constants"][key]["value"]))
        clock_ps = 8 * 10**12 // board["sclk_hz"]
        gap_ps = round(1000 * gap_ns) // (2 if library == "wizloop" else 1)
        budget = dict.fromkeys(
            ("spi_clock", "byte_gap", "select", "dma_setup", "cpu", "chip", "wire", "peer", "idle"), 0
        )
        budget.update(spi_clock=clock_ps, byte_gap=gap_ps, peer=333_333)
        total_ps = sum(budget.values())
        value = {"tcp_recv": 8e6 / total_ps, "udp_pps": 1e12 / total_ps / 50, "ping_rtt": total_ps / 1e4}[scenario]
        name, unit = units[scenario]
        finding = {
            "rule": "sclk-above-rating",
            "severity": "warning",
            "section": "6.3",
            "what": "SCLK is faster than rated",
            "seen": f"SCLK {board['sclk_hz']} Hz, rated 33300000 Hz",
            "spi": "",
            "socket_state": "",
            "cause": "a divider set too low",
            "cure": "slow down",
            "count": 3,
            "at_ps": 1_500_000,
        }
        finds = [finding] if board["sclk_hz"] > 33_300_000 else []
        if ends in ("stale", "often"):
            seen_often = [(rules()[1], f"S0 Sn_TX_WR advanced by {n}", "", "") for n in range(1, 6)]
            finds += [
                {
                    **dict(zip(("rule", "severity", "section", "what", "cause", "cure"), rule.values(), strict=True)),
                    "seen": seen,
                    "spi": spi,
                    "socket_state": state,
                    "count": 1,
                    "at_ps": 2_000_000_000,
                }
                for rule, seen, spi, state in (
                    seen_often
                    if ends == "often"
                    else (
                        (rules()[2], "PPPoE", "", ""),
                        (rules()[1], "S0 Sn_TX_WR advanced by 40000", "00 01 0c 20", "SOCK_ESTABLISHED"),
                    )
                )
            ]
        announced = {
            **{a["rule"]: {"reason": a["reason"], "by": "board", "suppressed": False} for a in board["announced"]},
            **{
                key.partition(".")[2]: {"reason": why, "by": "command", "suppressed": key.startswith("suppress.")}
                for key, why in parameters.items()
                if key.startswith(("finding.", "suppress."))
            },
        }
        finds = [{**found, "announced": announced.get(found["rule"])} for found in finds]
        failing = [f["rule"] for f in finds if f["severity"] != "note" and f["rule"] not in announced]
        return {
            "scenario": scenario,
            "board": board["name"],
            "path": path,
            "library": library or board["library"],
            "seed": seed,
            "parameters": {"read_bytes": "2048", **parameters},
            "figures": [] if ends == "void" else [{"name": name, "value": value, "unit": unit}],
            "budget_ps": budget,
            "measured_ps": total_ps,
            "virtual_ps": total_ps + 1_000_000,
            "spi_bytes": 2051,
            "frames_on_wire": 7,
            "sends": 4,
            "send_bytes": 1000,
            "rx_bytes_read": 1008,
            "rx_bytes_taken": 1000,
            "findings": finds,
            "unannounced": failing,
            "assumptions": [
                {"name": "chip.quirk.write_miso", "choice": "zero", "trust": "unverified"},
                {
                    "name": "chip.quirk.tx_wr_readback",
                    "choice": parameters.get("chip.quirk.tx_wr_readback", "latched"),
                    "trust": "observed",
                },
                *(
                    {
                        "name": f"chip.latency.{name}_ns",
                        "choice": parameters.get(f"chip.latency.{name}_ns", value),
                        "trust": "unverified",
                    }
                    for name, value in {"segment_to_ack": "5000", "event_to_intn": "26.667"}.items()
                ),
            ],
            "faults": [
                {"name": key.removeprefix("fault."), "struck": 1 if key == "fault.spi_flip" else 0}
                for key in parameters
                if key.startswith("fault.")
            ],
            "fingerprint": f"{total_ps:016x}",
            "supply_current_ma": 131.0,
            "wave_cut_ps": 1_000_000 if wave_file and not wave_window else None,
            "failure": "the receiver counts 3 bytes fewer" if ends == "void" else "",
        }

    fake.catalogue = catalogue
    fake.rules = rules
    fake.quirks = quirks
    fake.faults = faults
    fake.load_board = load_board
    fake.run = run
    fake.fronts = lambda: ["cpp"]
    return fake


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The fake simulator with two boards, `fast` and `slow`; the folder of the board files."""
    monkeypatch.setitem(sys.modules, "wizloop._sim", fake_simulator())
    folder = tmp_path / "boards"
    folder.mkdir()
    (folder / "fast.toml").write_text(FAST_BOARD)
    (folder / "slow.toml").write_text(SLOW_BOARD)
    monkeypatch.setattr(boards, "folder", lambda: folder)
    return folder


def commands_of(file: Path, line: str) -> list[list[str]]:
    """The commands of the first block of code below a line of a Markdown file, in words."""
    _, _, below = file.read_text().partition(f"\n{line}\n")
    block = below.split("```")[1]
    return [shlex.split(command, comments=True) for command in block.splitlines() if command.strip()]


Wizloop = Callable[..., tuple[int, str, str]]


@pytest.fixture
def wizloop(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Wizloop:
    """Calls the program: exit code, stdout, stderr. Output goes into a pipe as far as the program can tell."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/wizloop"])

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder for databases: in memory, where a commit need not wait for a disk, if the machine has such a place."""
    place = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="wizloop-", dir=place if os.access(place, os.W_OK) else None) as name:
        yield Path(name)


FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Notes what a test has measured, for the summary at the end and for the JUnit file."""

    def note(text: str) -> None:
        record_property("figure", text)
        request.config.stash.setdefault(FIGURES, []).append(f"{request.node.name}: {text}")

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    measured = terminalreporter.config.stash.get(FIGURES, [])
    if measured:
        terminalreporter.section("figures")
        terminalreporter.write("".join(f"{line}\n" for line in measured))


@pytest.fixture(scope="session")
def simulator() -> ModuleType:
    """The compiled module. Missing, it is a skip on a desk and an error in CI."""
    if importlib.util.find_spec("wizloop._sim") is None and not os.environ.get("CI"):
        pytest.skip("the simulator module is not built: ci/setup builds it")
    return importlib.import_module("wizloop._sim")
