"""A report with everything in it: boards and model over many runs, a step, a regression, failures, findings, tests."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

from wizloop.compare.comparison import Comparison, compare
from wizloop.compare.sides import Side, key_of
from wizloop.history import history
from wizloop.report import contents, junit
from wizloop.report.contents import Contents, Published
from wizloop.results.reading import Point, StoredFigure, StoredRun, StoredSample
from wizloop.results.recording import FigureHead, FindingRow, RunHead, Sample
from wizloop.results.schema import REAL, VIRTUAL

START = datetime(2024, 1, 1, 2, tzinfo=UTC)
BOARDS = {"stm32f405-arduino": "serial:/dev/ttyACM0", "w55rp20": "tcp:rack1:7001"}
SLOWER, FAILED = 3, 5  # figures of the model in the newest run
BUDGET = {
    "spi_clock": 410, "byte_gap": 260, "select": 40, "dma_setup": 22, "cpu": 81, "chip": 60, "wire": 90, "peer": 35,
    "idle": 2,
}  # fmt: skip


def runs(count: int) -> list[StoredRun]:
    made = []
    for n in range(1, count + 1):
        started = START + timedelta(days=n)
        head = RunHead("nightly", f"{n * 7919:010x}" * 4, False, "rack1", "ci/nightly")
        made.append(StoredRun(n, head, started, started + timedelta(minutes=4)))
    return made


def heads(count: int) -> list[FigureHead]:
    """Half of the model, half of boards, each with its prediction."""
    made = []
    for n in range(count):
        board = list(BOARDS)[n % 2]
        real = n >= count // 2
        n %= count // 2
        path = ("byte", "burst", "dma")[n % 3]
        unit = ("Mbit/s", "Mbit/s", "us", "packets/s")[n % 4]
        scenario = {"Mbit/s": "tcp_recv", "us": "udp_rtt", "packets/s": "udp_pps"}[unit]
        made.append(
            FigureHead(
                f"SEED{n + 1:03}", BOARDS[board] if real else f"model:{board}", board, path, unit,
                REAL if real else VIRTUAL,
                scenario, "throughput", "ethernet2", {"read_bytes": "2048"},
                fingerprint="" if real else f"{n:016x}", budget_ps={} if real else {**BUDGET, "byte_gap": 100 + 60 * n},
            )
        )  # fmt: skip
    return made


def level(head: FigureHead) -> float:
    return {"Mbit/s": 4.5, "us": 82.0, "packets/s": 21514.0}[head.unit] * (1 + int(head.name[4:]) % 7 / 3)


def course(head: FigureHead, count: int) -> list[float]:
    """Of the model: constant but for a step. Of a board: it scatters, and SEED002 steps down near the end."""
    chance = random.Random(head.name + head.dut)
    number, values = int(head.name[4:]), []
    for n in range(1, count + 1):
        value = level(head) * (1.04 if number % 3 == 0 and n > count // 2 else 1.0)
        if head.clock == REAL:
            value *= 0.95 * (1 + chance.gauss(0, 0.01)) * (0.92 if number == 2 and n > count - 4 else 1.0)
        elif number == SLOWER and n == count:
            value *= 1.03 if head.unit == "us" else 0.97
        values.append(value)
    return values


def stored(head: FigureHead, run: int, value: float | None) -> StoredFigure:
    """Measured in turn with the run before, if it is a board's."""
    if head.clock == VIRTUAL:
        sample = Sample(value, void="" if value is not None else "the receiver counts 3 bytes fewer than were sent")
        found = (
            FindingRow(
                "sclk-above-rating", "warning", "SCLK 42000000 Hz, guaranteed 33300000 Hz", 1, "the source ran it so"
            ),
        )
        stale = (FindingRow("write-beyond-free", "error", "S0 Sn_TX_WR advanced by 40000, free 2048", 4, None),)
        return StoredFigure(run, head, (StoredSample(run, None, sample),), found if "stm32" in head.board else stale)
    assert value is not None
    chance = random.Random(f"{head.name} {run}")
    taken = tuple(
        StoredSample(2 * n + run % 2, None, Sample(value * (1 + chance.gauss(0, 0.01)), host_noise_pct=3.0))
        for n in range(60)
    )
    return StoredFigure(run, head, taken, ())


def side(run: StoredRun, figures: list[StoredFigure]) -> Side:
    said = f"run {run.id} (nightly), {run.head.commit[:9]}, {run.started:%Y-%m-%d %H:%M} UTC"
    return Side(said, run.head.commit, {key_of(figure.head): figure for figure in figures})


def results(folder: Path, failing: bool = True) -> list[junit.Part]:
    """Of a ctest and a pytest part, as those programs write them."""
    suite = ElementTree.Element("testsuite", name="(empty)")
    for n in range(400):
        ElementTree.SubElement(suite, "testcase", name=f"unit_chip.Tcp.Case{n}", time="0.004", status="run")
    if failing:
        case = ElementTree.SubElement(
            suite, "testcase", name="unit_chip.TcpConnect.GivesUpAfterTheLastRetry", time="0.031", status="fail"
        )
        ElementTree.SubElement(case, "failure", message="")
        ElementTree.SubElement(case, "system-out").text = (
            "[ RUN      ] TcpConnect.GivesUpAfterTheLastRetry\ntests/unit/chip/tcp_test.cpp:212: Failure\n"
            "Expected equality of these values:\n  board.frames()\n    Which is: 2\n  3\n<script>alert(1)</script>\n"
            "[  FAILED  ] TcpConnect.GivesUpAfterTheLastRetry (31 ms)\n"
        )
    ElementTree.ElementTree(suite).write(folder / "ctest-release.xml")
    (folder / "echo.pcapng").write_bytes(b"")
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name="pytest")
    for n in range(200):
        ElementTree.SubElement(suite, "testcase", classname="tests.dut.echo_test", name=f"test_size[{n}]", time="0.01")
    case = ElementTree.SubElement(suite, "testcase", classname="tests.dut.link_test", name="test_unplug", time="0")
    ElementTree.SubElement(case, "skipped", message="no board offers link_flap", type="pytest.skip")
    if failing:
        case = ElementTree.SubElement(
            suite, "testcase", classname="tests.dut.echo_test", name="test_echo[serial:/dev/ttyACM0-2049]", time="4.2"
        )
        properties = ElementTree.SubElement(case, "properties")
        ElementTree.SubElement(properties, "property", name="capture", value="echo.pcapng")
        ElementTree.SubElement(case, "failure", message="AssertionError: 2048 of 2049 bytes came back").text = (
            "dut = <Dut serial:/dev/ttyACM0>\n\n    def test_echo(dut, size):\n>       assert dut.echo(size) == size\n"
            "E       AssertionError: 2048 of 2049 bytes came back\n\n"
            "repeat with: wizloop run tcp_echo --board w55rp20 --seed 7\n"
        )
    ElementTree.ElementTree(suites).write(folder / "pytest.xml")
    return [junit.read(folder / f"{name}.xml", folder) for name in ("ctest-release", "pytest")]


def example(folder: Path, run_count: int = 60, figure_count: int = 40, good: bool = False) -> Contents:
    """Red, with something in every part of the page; or all in order."""
    made, of = runs(run_count), heads(figure_count)
    courses = {key_of(head): course(head, run_count) for head in of}
    if good:
        courses = {key: [value * 1.0 for value in [values[0]] * run_count] for key, values in courses.items()}
    points, newest, base = [], [], []
    for head in of:
        number = int(head.name[4:])
        for run, value in zip(made, courses[key_of(head)], strict=True):
            predicted = level(head) if head.clock == REAL else None
            last = run is made[-1] and head.clock == VIRTUAL and number == FAILED and not good
            of_run = (run.id, head.name, head.dut, head.board, head.path, head.unit, head.clock, predicted)
            points.append(Point(*of_run, None if last else value, 1, 0))
        before, now = courses[key_of(head)][-2:]
        now = None if not good and head.clock == VIRTUAL and number == FAILED else now
        base.append(stored(head, made[-2].id, before))
        newest.append(stored(head, made[-1].id, now))
    comparison: Comparison = compare(side(made[-2], base), side(made[-1], newest))
    published = {
        (head.board, head.name): Published(
            level(head) * (1 - 0.04 * (n % 5 - 1)), head.unit, "fit" if n % 5 == 1 else "predicted"
        )
        for n, head in enumerate(of)
        if head.clock == VIRTUAL and n % 2
    }
    return contents.gather(
        made[-1], newest, comparison, history(made, points), results(folder, not good), published,
        lambda figure: f"wizloop run {figure.head.scenario} --board {figure.head.board} --path {figure.head.path}",
    )  # fmt: skip
