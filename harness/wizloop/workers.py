"""Runs simulations side by side, each in a forked process of its own.

A fresh process per run lets runs use all cores and turns a simulator that dies into an error of that run, with the command that repeats it. None of them outlives the program, however it ends.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from wizloop.errors import InfrastructureError, WizloopError, unexpected
from wizloop.repeat import command
from wizloop.simulator import Request, Run, module, run_from, run_raw

RUN_DEADLINE_S = 120.0
CLOSING_S = 5.0  # how long a run that is told to end has to close its files

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def cores() -> int:
    return len(os.sched_getaffinity(0))


def run_all(
    requests: Sequence[Request],
    jobs: int | None = None,
    on_done: Callable[[int, Run], None] = lambda index, run: None,
    deadline_s: float = RUN_DEADLINE_S,
) -> list[Run]:
    """The runs in the order of the requests, whatever order they end in; on_done hears of each when it ends."""
    module()  # here once, so that the children need not load it
    fork = multiprocessing.get_context("fork")
    waiting = list(range(len(requests)))[::-1]
    running: dict[Connection, tuple[int, ForkProcess, float]] = {}
    runs: dict[int, Run] = {}
    try:
        while waiting or running:
            while waiting and len(running) < (jobs or cores()):
                index = waiting.pop()
                receiver, sender = fork.Pipe(duplex=False)
                process = fork.Process(target=_serve, args=(os.getpid(), sender, requests[index]))
                with _signals_held_back():
                    process.start()
                    running[receiver] = (index, process, time.monotonic() + deadline_s)
                sender.close()
            next_deadline = min(deadline for _, _, deadline in running.values())
            ready = wait(list(running), max(0.0, next_deadline - time.monotonic()))
            if not ready:
                index = min(running.values(), key=lambda entry: entry[2])[0]
                raise InfrastructureError(f"no result within {deadline_s:g} s of: {command(requests[index])}")
            for receiver in [connection for connection in running if connection in ready]:
                index, process, _ = running.pop(receiver)
                runs[index] = _collect(receiver, process, requests[index])
                on_done(index, runs[index])
    finally:
        for _, process, _ in running.values():
            process.terminate()
        closed_by = time.monotonic() + CLOSING_S
        for index, process, _ in running.values():
            process.join(max(0.0, closed_by - time.monotonic()))
            process.kill()
            process.join()
            _remove_half_written(requests[index])
    return [runs[index] for index in range(len(requests))]


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """A signal that ends the program waits, so that no process starts without being known."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(parent: int, sender: Connection, request: Request) -> None:
    _end_with(parent)
    if request.wave_file is not None:
        _end_between_frames_when_told_to()
    try:
        sender.send((run_raw(request), None))
    except WizloopError as error:
        sender.send((None, error))
    except Exception as error:
        sender.send((None, InfrastructureError(f"{unexpected(error)}, in: {command(request)}")))


def _end_with(parent: int) -> None:
    """Leaves it to the parent to end this process: it does so when it is ended itself, and the kernel if it cannot."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it was gone before the kernel knew
    # A terminal sends these two to both processes. The parent kills this one; here they would end in a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)


def _end_between_frames_when_told_to() -> None:
    """So that the waveform is closed: an .fst is of no use before."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    def wait() -> None:
        signal.sigwait([signal.SIGTERM])
        module().interrupt()

    threading.Thread(target=wait, daemon=True).start()


def _remove_half_written(request: Request) -> None:
    """Of a run that was killed. The library that writes an .fst has another file beside it until it closes them."""
    for file in (request.wave_file, request.mismatch_file):
        beside = Path(f"{file}.hier")
        if file is not None and file.suffix == ".fst" and beside.exists():
            file.unlink(missing_ok=True)
            beside.unlink(missing_ok=True)


def _collect(receiver: Connection, process: ForkProcess, request: Request) -> Run:
    try:
        raw, error = receiver.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        _remove_half_written(request)
        raise InfrastructureError(f"the simulator died ({how}) in: {command(request)}") from None
    finally:
        receiver.close()
    process.join()
    if error is not None:
        raise error
    return run_from(raw)
