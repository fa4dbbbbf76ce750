"""What the client of an agent needs of a line, and the log of its bytes."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from wizloop.errors import InfrastructureError

KEPT_BYTES = 1 << 20


class LineLost(InfrastructureError):
    """The line is gone, or was for a while: what was under way on it has an unknown fate."""


@dataclass(frozen=True)
class Passed:
    """Bytes that went by, as they were."""

    at_s: float
    sent: bool  # by us
    data: bytes
    gap: str = ""  # the line was away before: why and how long


class RawLog:
    """The bytes of a line: the last of them in memory, both ways; all that came in a file, if one is named."""

    def __init__(self, file: Path | None = None) -> None:
        self._passed: deque[Passed] = deque()
        self._bytes = 0
        self._file = None if file is None else file.open("ab", buffering=0)

    def add(self, at_s: float, sent: bool, data: bytes, gap: str = "") -> None:
        self._passed.append(Passed(at_s, sent, data, gap))
        self._bytes += len(data)
        while self._bytes > KEPT_BYTES:
            self._bytes -= len(self._passed.popleft().data)
        if self._file is not None and not sent:
            self._file.write(data)

    def __iter__(self) -> Iterator[Passed]:
        return iter(self._passed)

    @property
    def received(self) -> bytes:
        return b"".join(passed.data for passed in self._passed if not passed.sent)

    def text(self, last: int = 4000) -> str:
        """The end of what was received, for people, with its gaps."""
        received = (passed for passed in self._passed if not passed.sent)
        shown = "".join(
            (f"\n-- {passed.gap} --\n" if passed.gap else "") + passed.data.decode("ascii", "backslashreplace")
            for passed in received
        )
        return shown[-last:]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Line(ABC):
    """A line to a board, open from its creation until close(). Times are seconds of its own clock."""

    virtual = False  # its clock is the simulation's

    def __init__(self, name: str, log: RawLog) -> None:
        self.name = name
        self.log = log

    @abstractmethod
    def now(self) -> float: ...

    @abstractmethod
    def send(self, data: bytes, deadline: float) -> None:
        """All of it, or LineLost."""

    @abstractmethod
    def receive(self, deadline: float) -> bytes:
        """What has come, as soon as there is some; nothing if there is none until then. LineLost."""

    @abstractmethod
    def pause(self, seconds: float) -> None:
        """Lets time pass without a look at the line, which may be dead meanwhile."""

    @abstractmethod
    def close(self) -> None:
        """Leaves nothing behind. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        with contextlib.suppress(InfrastructureError) if error is not None else contextlib.nullcontext():
            self.close()
