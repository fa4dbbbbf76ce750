"""How well a virtual rack board keeps real time, against the same board and verbs in virtual time.

`ci/realtime` measures the same at length. A machine that others use as well disturbs single rounds, so the best of some
counts, and each is in the summary at the end. Where none is good enough, and the kernel says that what was measured had
to wait for a processor in each of them, nothing is judged: the test is skipped with that as its reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from bounded import SECONDS, read_line
from conftest import REPOSITORY
from places import HOST_IN_OWN_NETWORK, PLACES, Board, Place, board_at, lacking, need, own_network
from serve_test import Line, fields, serve
from wizloop import boards, programs

pytestmark = pytest.mark.simulator  # its programs come with the compiled module

BOARD = "stm32f405-arduino"
BYTES = 2 << 20
KIB = 16
ROUNDS = 6
BUSY_PCT = 2.0
PROGRAM = REPOSITORY / "build" / "release" / "tests" / "bench" / "virtual_figures"
Figure = Callable[[str], None]


@pytest.fixture(scope="module")
def virtual() -> dict[str, str]:
    if not PROGRAM.exists():
        lacking("virtual_figures is not built: ci/setup builds it")
    command = [PROGRAM, boards.find(BOARD), str(BYTES), str(KIB)]
    return fields(subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS).stdout)


class Wait:
    """How much of a while some processes were ready to run and did not, for want of a processor."""

    def __init__(self, pids: Sequence[int]) -> None:
        self.pids = pids
        self.waited_ns = self.so_far_ns()
        self.began_ns = time.monotonic_ns()

    def so_far_ns(self) -> int:
        threads = [file for pid in self.pids for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int(file.read_text().split()[1]) for file in threads)

    def pct(self) -> float:
        return 100 * (self.so_far_ns() - self.waited_ns) / (time.monotonic_ns() - self.began_ns)


def best_of_rounds(what: str, measure: Callable[[], tuple[bool, str, float]], figure: Figure) -> None:
    """Until one is good; `measure` says whether it was, what it measured, and for how many percent of it had to wait."""
    waited = []
    for number in range(1, ROUNDS + 1):
        good, measured, wait_pct = measure()
        figure(f"{what}, round {number}: {measured}; waited for a processor {wait_pct:.1f} % of the time")
        if good:
            return
        waited.append(wait_pct)
    if min(waited) > BUSY_PCT:
        pytest.skip(f"this machine is too busy to judge {what}: it waited at least {min(waited):.1f} % of each round")
    pytest.fail(f"{what}: none of {ROUNDS} rounds was good, and some ran undisturbed: the summary has their figures")


def test_a_round_that_is_good_ends_them_and_each_is_shown() -> None:
    rounds = iter([(False, "slow", 9.0), (True, "fast", 0.1), (True, "fast", 0.1)])
    shown: list[str] = []
    best_of_rounds("two", lambda: next(rounds), shown.append)
    assert [line.partition(";")[0] for line in shown] == ["two, round 1: slow", "two, round 2: fast"]


@pytest.mark.parametrize(
    ("waits_pct", "verdict"), [([9.0], pytest.skip.Exception), ([9.0, 0.1], pytest.fail.Exception)], ids=["busy", "free"]
)
def test_a_busy_machine_is_no_judge_and_a_free_one_is(waits_pct: list[float], verdict: type[BaseException]) -> None:
    rounds = iter(waits_pct * ROUNDS)
    with pytest.raises(verdict):
        best_of_rounds("six", lambda: (False, "slow", next(rounds)), lambda _: None)


def test_processes_that_share_a_processor_have_to_wait_for_it() -> None:
    command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "sh", "-c", "while :; do :; done"]
    with ExitStack() as stack:
        both = [stack.enter_context(subprocess.Popen(command)) for _ in range(2)]
        for process in both:
            stack.callback(process.kill)
        time.sleep(0.1)
        wait = Wait([process.pid for process in both])
        time.sleep(0.3)
        assert wait.pct() > 80


@contextmanager
def listening(place: Place, *what: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A peer in that place, and the words by which the board finds it."""
    program = place.folder / "wizloop-peer"
    if not program.exists():
        program.write_bytes(programs.find("wizloop-peer").read_bytes())
        program.chmod(0o755)
    here = HOST_IN_OWN_NETWORK if place.name == "veth" else "127.0.0.1"
    with place.running(str(program), "--transfers", "1", *what, "--tcp", f"{here}:0") as process:
        said = re.fullmatch(r"listening tcp=\S+:(\d+)\n", read_line(process))
        assert said is not None
        yield process, f"ip={place.host} port={said[1]}"


@pytest.fixture(scope="module", params=PLACES)
def board(request: pytest.FixtureRequest) -> Iterator[Board]:
    with PLACES[request.param]() as place, board_at(place, board=BOARD) as served:
        yield served


@pytest.mark.parametrize("verb", ["tcp-recv", "tcp-send"])
def test_throughput_is_within_ten_percent_of_virtual_time(
    board: Board, verb: str, virtual: dict[str, str], figure: Figure
) -> None:
    exact = int(virtual[f"{verb}_kbit_s"])
    peer = ["source", "--bytes", str(BYTES)] if verb == "tcp-recv" else ["sink"]
    size = "" if verb == "tcp-recv" else f" bytes={BYTES}"

    def measure() -> tuple[bool, str, float]:
        with listening(board.place, *peer) as (process, at):
            wait = Wait([board.served.process.pid, process.pid])
            # 16 KiB of the chip's memory: with less, how the host cuts its segments decides.
            answer = board.ask(f"{verb} {at}{size} kib={KIB} timeout_ms=50000")
            waited_pct = wait.pct()
        assert answer["bytes"] == str(BYTES)
        ratio = int(answer["kbit_s"]) / exact
        measured = f"{int(answer['kbit_s']) / 1000:.2f} of {exact / 1000:.2f} Mbit/s = {100 * ratio:.0f} %"
        return 0.9 <= ratio <= 1.1, measured, waited_pct

    best_of_rounds(f"{verb} over {board.place.name}", measure, figure)


def test_ping_is_within_a_millisecond_of_the_models_own_latency(virtual: dict[str, str], figure: Figure) -> None:
    need("ping")
    exact_ms = float(virtual["ping_us"]) / 1000
    with own_network() as place, board_at(place, board=BOARD) as board:
        place.run("ping", "-c", "1", "-w", "5", place.board)  # resolves addresses

        def measure() -> tuple[bool, str, float]:
            wait = Wait([board.served.process.pid])
            said = place.run("ping", "-c", "100", "-i", "0.005", place.board)
            times = sorted(float(each) for each in re.findall(r"time=([\d.]+) ms", said))
            assert len(times) == 100
            median_ms = times[50]
            return median_ms < exact_ms + 1, f"median {median_ms} ms, the model's {exact_ms} ms", wait.pct()

        best_of_rounds("ping through veth", measure, figure)


def test_eight_busy_boards_on_one_core_let_no_time_slip(figure: Figure) -> None:
    arguments = [word for n in range(8) for word in ("--board", BOARD, "--name", f"b{n}", "--tcp", "127.0.0.1:0")]
    with serve(*arguments) as served, ExitStack() as stack:
        pid = served.process.pid
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {max(os.sched_getaffinity(0))})
        consoles = [stack.enter_context(Line.connect(served.boards[f"b{n}"]["tcp"])) for n in range(8)]
        assert all(" up=1 " in console.ask("link wait_ms=10000") for console in consoles)
        targets = [f"ip={served.boards[f'b{n}']['ip']} port=5001 timeout_ms=50000" for n in range(1, 8, 2)]
        senders = list(zip(consoles[::2], targets, strict=True))
        for receiver in consoles[1::2]:
            receiver.send("#2 tcp-server port=5001 mode=sink s=600")
        for sender, target in senders:
            deadline = time.monotonic() + SECONDS
            while not sender.ask(f"tcp-send {target} bytes=10", 3).startswith("#3 ok"):
                assert time.monotonic() < deadline

        def slipped_us() -> int:
            return int(fields(consoles[0].ask("stats"))["slipped_us"])

        def measure() -> tuple[bool, str, float]:
            before_us = slipped_us()
            wait = Wait([pid])
            for sender, target in senders:
                sender.send(f"#4 tcp-send {target} bytes={BYTES}")
            sent = [fields(sender.wait_for("#4 ")) for sender, _ in senders]
            waited_pct = wait.pct()
            assert {each["bytes"] for each in sent} == {str(BYTES)}
            slip_us = slipped_us() - before_us
            return slip_us == 0, f"transfers at {[each['kbit_s'] for each in sent]} kbit/s, {slip_us} us slipped", waited_pct

        best_of_rounds("8 boards on one core", measure, figure)
