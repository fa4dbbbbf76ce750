"""The simulator seen from Python: scenarios, boards and runs.

    board = load_board(boards.find("w55rp20"))
    run = run_here(Request(scenario="tcp_recv", board_file=board.file))
    print(run.figures[0].value, run.budget_ps["spi_clock"])

Times are integers in picoseconds wherever they come from the simulator: the accounts of a budget add up exactly.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from wizloop.errors import InfrastructureError, NothingMeasured, UsageError

PATHS = ("byte", "burst", "dma")
FRONTS = ("cpp", "rtl", "both")  # of the chip's SPI; the first is its own
NO_RTL = "this simulator was built without Verilator"
OWN_LIBRARY = "wizloop"


@dataclass(frozen=True)
class Parameter:
    """A whole number within a range, its unit at the end of its name, or one of several words."""

    name: str
    default: str
    meaning: str
    least: int
    most: int
    choices: tuple[str, ...]  # empty: a number

    @property
    def values(self) -> str:
        return " or ".join(self.choices) if self.choices else f"{self.least} to {self.most}"


@dataclass(frozen=True)
class Scenario:
    name: str
    what: str
    figure: str
    unit: str
    parameters: tuple[Parameter, ...]
    settings: dict[str, str]  # fault.NAME and the like that belong to it; one of the same name takes its place

    @property
    def protocol(self) -> str:
        return "icmp" if self.name.startswith("ping_") else self.name.split("_")[0]

    @property
    def direction(self) -> str:
        return self.name.split("_", 1)[1]


@dataclass(frozen=True)
class Constant:
    """A number of a board file, in the unit that ends its key."""

    value: float
    basis: str
    source: str
    figure: str


@dataclass(frozen=True)
class PublishedFigure:
    id: str
    scenario: str
    path: str
    published: float
    unit: str
    parameters: dict[str, str]
    why: str
    decided: str  # what the chip model was given because of this figure


@dataclass(frozen=True)
class Board:
    file: Path
    name: str
    title: str
    mcu: str
    library: str
    chip: str
    cpu_hz: int
    sclk_hz: int
    paths: tuple[str, ...]
    supply_current_ma: float | None
    announced: dict[str, str]  # rule to reason
    figures: tuple[PublishedFigure, ...]
    constants: dict[str, Constant]

    def basis_of(self, figure_id: str) -> str:
        """A figure that a constant was fitted to, or that decided how the chip is modelled, is no prediction."""
        fitted = any(c.basis == "fit" and c.figure == figure_id for c in self.constants.values())
        decided = any(f.decided for f in self.figures if f.id == figure_id)
        return "fit" if fitted or decided else "predicted"

    def check_path(self, path: str) -> None:
        if path not in PATHS:
            raise UsageError(f"unknown path '{path}'{near(path, PATHS)}: a path is one of {', '.join(PATHS)}")
        if path not in self.paths:
            raise UsageError(
                f"board {self.name} has no {path} path: {self.file.name} gives no {path}_gap_ns; "
                f"it has {', '.join(self.paths)}"
            )


@dataclass(frozen=True)
class Request:
    scenario: str
    board_file: Path
    path: str = "byte"
    library: str = ""  # empty: the board's own
    seed: int = 1
    parameters: dict[str, str] = field(default_factory=dict)
    pcap_file: Path | None = None
    trace_file: Path | None = None
    transcript_file: Path | None = None
    wave_file: Path | None = None
    wave_window: str = ""  # FROM..TO; empty: all of the run
    front: str = FRONTS[0]

    @property
    def mismatch_file(self) -> Path | None:
        """The waveform that a run leaves whose two fronts differ."""
        if self.front != "both":
            return None
        return Path(f"{self.scenario}-{self.board_file.stem}-{self.path}-{self.seed}-mismatch.fst")


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Announcement:
    """Somebody knows that a rule is broken, and why that is accepted."""

    reason: str
    by: str  # one of ANNOUNCERS
    suppressed: bool  # left out of the report, unless it fails the run


@dataclass(frozen=True)
class Finding:
    rule: str
    severity: str  # "note", "warning" or "error"; a note never fails a run
    section: str
    what: str
    seen: str
    spi: str  # MOSI of the frame so far, in hex
    socket_state: str  # "SOCK_ESTABLISHED"; empty if no socket is concerned
    cause: str
    cure: str
    count: int
    at_ps: int
    announced: Announcement | None


@dataclass(frozen=True)
class Rule:
    """What firmware is judged by; a finding names the rule that it broke."""

    id: str
    severity: str  # "note", "warning" or "error"
    section: str  # of the datasheet
    what: str
    cause: str
    cure: str


@dataclass(frozen=True)
class Assumption:
    """A question that the datasheet leaves open and that the chip asked itself in a run, with the answer it took."""

    name: str  # chip.quirk.NAME, chip.latency.NAME_ns
    choice: str  # a word, nanoseconds
    trust: str


@dataclass(frozen=True)
class ChipOption:
    """Something that the datasheet leaves open, as a switch (kind "quirk") or a time in ns (kind "latency")."""

    name: str  # as in --set: chip.quirk.NAME, chip.latency.NAME_ns
    kind: str
    choices: tuple[str, ...]  # of a quirk
    default: str
    trust: str  # one of TRUSTS
    source: str
    question: str

    @property
    def values(self) -> str:
        """What it can be set to, the default marked."""
        if self.kind == "latency":
            return f"{self.default}*"
        return " ".join(f"{choice}*" if choice == self.default else choice for choice in self.choices)


@dataclass(frozen=True)
class FaultParameter:
    name: str
    form: str  # what its value looks like, e.g. "a number from 0 to 7"
    default: str
    meaning: str


@dataclass(frozen=True)
class FaultKind:
    """A fault that a run can be given: --set fault.NAME=WORDS."""

    name: str
    layer: str  # spi, dma, intn, chip, link, peer or host
    occasion: str  # what it may strike; empty: it lasts from one instant to another
    meaning: str
    parameters: tuple[FaultParameter, ...]


@dataclass(frozen=True)
class StruckFault:
    """A planned fault of a run, and how often it struck."""

    name: str
    struck: int


# The words that say when a fault strikes.
FAULT_WORDS = {
    "always": "at each occasion",
    "nth=N": "at the Nth occasion alone",
    "every=N": "at each Nth",
    "ppm=N": "by seeded chance, N in a million",
    "times=N": "at most N times",
    "from=T until=T": "only in between; a time is a whole number and ps, ns, us, ms or s",
    "at=T": "at the first occasion from T on",
}

# How far a default can be trusted, and what the word means.
TRUSTS = {
    "datasheet": "stated by the maker",
    "observed": "seen on silicon by users",
    "sibling": "stated for a W5100, W5200 or W6100",
    "inferred": "follows from drivers that work",
    "unverified": "no source, or sources disagree: a proposal",
}
# What a finding of a severity means for the run.
SEVERITIES = {
    "error": "firmware does not do what the datasheet asks for; fails a run unless announced",
    "warning": "works today, fails under another timing, load or board; fails a run unless announced",
    "note": "works, but a reader of the code would stop here; fails only a strict run",
}
# Who announces a finding, as a report says it.
ANNOUNCERS = {
    "board": "by the board file",
    "library": "as one that the library is known for",
    "scenario": "by the scenario",
    "command": "by --set",
}
PRESETS = {"silicon": "errors and warnings fail a run unless announced", "strict": "every finding fails a run"}


@dataclass(frozen=True)
class Preset:
    """chip.preset, an option of the chip that answers no question about it."""

    name: str
    choices: dict[str, str]  # the first is the default


def presets() -> dict[str, Preset]:
    return {"chip.preset": Preset("chip.preset", PRESETS)}


@dataclass(frozen=True)
class Run:
    scenario: str
    board: str
    path: str
    library: str
    seed: int
    parameters: dict[str, str]
    figures: tuple[Figure, ...]
    budget_ps: dict[str, int]
    measured_ps: int
    virtual_ps: int
    spi_bytes: int
    frames_on_wire: int
    sends: int  # SEND commands
    send_bytes: int
    rx_bytes_read: int  # from the chip's RX memory, over SPI
    rx_bytes_taken: int  # of payload, by the program
    findings: tuple[Finding, ...]
    unannounced: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    faults: tuple[StruckFault, ...]
    fingerprint: str
    supply_current_ma: float
    wave_cut_ps: int | None  # the waveform ends here, because a file may not hold more
    failure: str  # empty: passed
    wall_s: float

    def figure_in(self, unit: str) -> Figure | None:
        return next((f for f in self.figures if f.unit == unit), None)


def near(word: str, known: Iterable[str]) -> str:
    """' (did you mean ...?)' with the known words close to this one, or nothing."""
    full: dict[str, list[str]] = {}
    for name in known:
        full.setdefault(bare(name), []).append(name)
    matches = [name for match in get_close_matches(bare(word), full, n=3, cutoff=0.6) for name in full[match]]
    return f" (did you mean {' or '.join(matches)}?)" if matches else ""


def bare(name: str) -> str:
    """What a person remembers of a name: without chip.quirk. and the like, - for _, or the unit of a latency."""
    for prefix in ("chip.quirk.", "chip.latency.", "fault."):
        if name.startswith(prefix):
            name = name.removeprefix(prefix).removesuffix("_ns")
    return name.replace("-", "_").lower()


def module() -> ModuleType:
    try:
        return importlib.import_module("wizloop._sim")
    except ImportError as error:
        raise InfrastructureError(f"the simulator module cannot be loaded ({error}); ci/setup builds it") from error


def fronts() -> list[str]:
    """The SPI fronts that this build has: those with RTL want Verilator when it is configured."""
    return list(module().fronts())


def check_front(front: str) -> None:
    if front not in FRONTS:
        raise UsageError(f"unknown SPI front '{front}'{near(front, FRONTS)}: a front is one of {', '.join(FRONTS)}")
    if front not in fronts():
        raise NothingMeasured(f"front {front}: {NO_RTL}")


def catalogue() -> dict[str, Scenario]:
    scenarios = {}
    for raw in module().catalogue():
        parameters = tuple(Parameter(**{**p, "choices": tuple(p["choices"])}) for p in raw["parameters"])
        scenarios[raw["name"]] = Scenario(**{**raw, "parameters": parameters})
    return scenarios


def rules() -> dict[str, Rule]:
    return {raw["id"]: Rule(**raw) for raw in module().rules()}


def chip_options() -> dict[str, ChipOption]:
    options = (ChipOption(**{**raw, "choices": tuple(raw["choices"])}) for raw in module().quirks())
    return {option.name: option for option in options}


def fault_kinds() -> dict[str, FaultKind]:
    """By the name that --set takes: fault.NAME."""
    kinds = {}
    for raw in module().faults():
        parameters = tuple(FaultParameter(**parameter) for parameter in raw["parameters"])
        kinds[f"fault.{raw['name']}"] = FaultKind(**{**raw, "parameters": parameters})
    return kinds


def load_board(file: Path) -> Board:
    raw = module().load_board(file)
    return Board(
        file=file,
        paths=tuple(raw["paths"]),
        announced={a["rule"]: a["reason"] for a in raw["announced"]},
        figures=tuple(PublishedFigure(**f) for f in raw["figures"]),
        constants={key: Constant(**c) for key, c in raw["constants"].items()},
        **{
            key: raw[key]
            for key in ("name", "title", "mcu", "library", "chip", "cpu_hz", "sclk_hz", "supply_current_ma")
        },
    )


LINK_PARTNER = "link.partner"


def check(request: Request, board: Board) -> None:
    """Refuses what the simulator would refuse too, but names the near matches."""
    scenarios = catalogue()
    if request.scenario not in scenarios:
        raise UsageError(
            f"unknown scenario '{request.scenario}'{near(request.scenario, scenarios)}: `wizloop list` names them all"
        )
    board.check_path(request.path)
    for word in (request.library, *request.parameters, *request.parameters.values()):
        if not word.isprintable():  # bytes that are no UTF-8 reach Python as lone surrogates
            raise UsageError(f"{ascii(word)} is not text, expected printable UTF-8")
    known = [parameter.name for parameter in scenarios[request.scenario].parameters]
    for key in request.parameters:
        if key in known or key == LINK_PARTNER or key.startswith("board."):
            continue
        if key.startswith("chip."):
            _check_name(key, [*chip_options(), *presets()], "chip option", "wizloop list --quirks")
            continue
        if key.startswith("fault."):
            _check_name(key, list(fault_kinds()), "fault", "wizloop list --faults")
            continue
        if key.startswith(("finding.", "suppress.")):
            prefix, dot, _ = key.partition(".")
            _check_name(key, [f"{prefix}{dot}{rule}" for rule in rules()], "finding", "wizloop explain")
            continue
        raise UsageError(
            f"scenario {request.scenario} has no parameter '{key}'{near(key, known)}: it takes {', '.join(known)}, "
            "board.KEY for a number of the board file, the chip.KEY of `wizloop list --quirks`, the fault.NAME of "
            f"`wizloop list --faults`, {LINK_PARTNER} for the far end of the cable, such as 100-half-forced, and "
            "finding.ID or suppress.ID with the reason why that finding is accepted"
        )


def _check_name(key: str, known: list[str], what: str, where: str) -> None:
    if key not in known:
        raise UsageError(f"unknown {what} '{key}'{near(key, known)}: `{where}` names them all")


def run_raw(request: Request) -> dict[str, Any]:
    """One run in this process, as plain data and with the wall time that it took."""
    started = time.perf_counter()
    raw = module().run(
        scenario=request.scenario,
        board_file=request.board_file,
        path=request.path,
        library=request.library,
        seed=request.seed,
        parameters=request.parameters,
        pcap_file=request.pcap_file,
        trace_file=request.trace_file,
        transcript_file=request.transcript_file,
        wave_file=request.wave_file,
        wave_window=request.wave_window,
        front=request.front,
        mismatch_file=request.mismatch_file,
    )
    return {**raw, "wall_s": time.perf_counter() - started}


def _finding_from(raw: dict[str, Any]) -> Finding:
    announced = raw["announced"]
    return Finding(**{**raw, "announced": None if announced is None else Announcement(**announced)})


def run_from(raw: dict[str, Any]) -> Run:
    return Run(
        **{
            **raw,
            "figures": tuple(Figure(**f) for f in raw["figures"]),
            "findings": tuple(_finding_from(f) for f in raw["findings"]),
            "unannounced": tuple(raw["unannounced"]),
            "assumptions": tuple(Assumption(**a) for a in raw["assumptions"]),
            "faults": tuple(StruckFault(**f) for f in raw["faults"]),
        }
    )


def run_here(request: Request) -> Run:
    """One run in this process. Several runs belong into workers.run_all: each wants a process of its own."""
    return run_from(run_raw(request))


@dataclass(frozen=True)
class Difference:
    """The first byte of MISO that is not what a transcript recorded."""

    at_ps: int
    byte: int
    frame: int
    recorded: int
    replayed: int
    where: str
    mosi: str


@dataclass(frozen=True)
class Replay:
    board: str
    seed: int
    note: str
    settings: tuple[tuple[str, str], ...]
    frames: int
    bytes: int
    whole: bool
    difference: Difference | None


def replay(file: Path, settings: dict[str, str], dut: str = "") -> Replay:
    """Holds a recorded SPI transcript against the chip model, or a board's chip at serial:PORT or tcp:HOST:PORT."""
    raw = module().replay(file, list(settings.items()), dut)
    difference = None if raw["difference"] is None else Difference(**raw["difference"])
    return Replay(**{**raw, "settings": tuple(raw["settings"]), "difference": difference})
