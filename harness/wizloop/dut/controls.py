"""What stands around a board besides its line: power, reset button, network cable. Each may be missing.

On a rack they are commands of a shell, pages of a relay board with a web server, the control port of `wizloop serve`, or
what labgrid has for a place. Each action has a deadline, and a process that is started ends with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from wizloop.errors import InfrastructureError

PS_PER_S = 10**12
ACTION_S = 30.0

Pause = Callable[[float], None]  # lets time pass that is the board's, or real


class Power(Protocol):
    def cycle(self, off_s: float, pause: Pause) -> None:
        """Off, and on again after so long."""


class Button(Protocol):
    def press(self) -> None: ...


class Cable(Protocol):
    def plug(self, plugged: bool) -> None: ...


class ModelSurroundings:
    """Power, button and cable of a board in this process."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def cycle(self, off_s: float, pause: Pause) -> None:
        self._raw.cycle_power(round(off_s * PS_PER_S))

    def press(self) -> None:
        self._raw.reset()

    def plug(self, plugged: bool) -> None:
        self._raw.plug(plugged)


def act(action: str, within_s: float = ACTION_S) -> None:
    """Does what an inventory says: fetches a page if it begins with http, else runs it in a shell."""
    if action.startswith(("http://", "https://")):
        _fetch(action, within_s)
    else:
        _run(action, within_s)


def _fetch(url: str, within_s: float) -> None:
    try:
        with urllib.request.urlopen(url, timeout=within_s):
            pass
    except urllib.error.HTTPError as error:
        raise InfrastructureError(f"{url}: {error}") from error
    except urllib.error.URLError as error:
        raise InfrastructureError(f"{url}: {error.reason}") from error
    except (OSError, ValueError) as error:
        raise InfrastructureError(f"{url}: {error}") from error


def _run(command: str | Sequence[str], within_s: float, **environment: str) -> None:
    process = subprocess.Popen(
        command, shell=isinstance(command, str), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, **environment},
    )  # fmt: skip
    if not isinstance(command, str):
        command = " ".join(command)
    try:
        said, _ = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        raise InfrastructureError(f"'{command}' was not done within {within_s:g} s") from None
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        raise InfrastructureError(f"'{command}' ended with {process.returncode}" + (f": {last[0]}" if last else ""))


@dataclass(frozen=True)
class SwitchedPower:
    on: str
    off: str

    def cycle(self, off_s: float, pause: Pause) -> None:
        act(self.off)
        try:
            pause(off_s)
        finally:
            act(self.on)


@dataclass(frozen=True)
class SwitchedButton:
    action: str

    def press(self) -> None:
        act(self.action)


@dataclass(frozen=True)
class SwitchedCable:
    pull: str
    push: str

    def plug(self, plugged: bool) -> None:
        act(self.push if plugged else self.pull)


@dataclass(frozen=True)
class ServedBoard:
    """Power, button and cable of a board of `wizloop serve`, by its control port."""

    host: str
    port: int
    name: str

    def cycle(self, off_s: float, pause: Pause) -> None:
        self._ask("off")
        try:
            pause(off_s)
        finally:
            self._ask("on")

    def press(self) -> None:
        self._ask("reset")

    def plug(self, plugged: bool) -> None:
        self._ask("replug" if plugged else "unplug")

    def _ask(self, verb: str) -> None:
        from wizloop.cli.control import ask, token

        answer = ask(self.host, self.port, f"{verb} {self.name}".rstrip(), token(None))
        if not answer.startswith("ok"):
            raise InfrastructureError(f"control port {self.host}:{self.port}: {verb} {self.name}: {answer}")


@dataclass(frozen=True)
class PlaceControl:
    """Power, button and cable of a place of labgrid, by labgrid's client and in the name of who holds the place: its
    power port, and its digital outputs named `reset` (high is pressed) and `cable` (high is plugged).
    """

    place: str
    owner: str = ""  # as HOST/USER; nobody has leased it yet

    def cycle(self, off_s: float, pause: Pause) -> None:
        self._ask("power", "off")
        try:
            pause(off_s)
        finally:
            self._ask("power", "on")

    def press(self) -> None:
        self._ask("io", "high", "reset")
        self._ask("io", "low", "reset")

    def plug(self, plugged: bool) -> None:
        self._ask("io", "high" if plugged else "low", "cable")

    def _ask(self, *words: str) -> None:
        if not self.owner:
            raise InfrastructureError(f"the place {self.place} is not leased")
        host, _, user = self.owner.partition("/")
        command = [sys.executable, "-m", "labgrid.remote.client", "-p", self.place, *words]
        _run(command, ACTION_S, LG_HOSTNAME=host, LG_USERNAME=user)
