"""A board on a pseudo-terminal: what comes is answered by a function of the test, in the test's own process."""

from __future__ import annotations

import os
import selectors
import tty
from collections.abc import Callable
from pathlib import Path

from wizloop.dut import protocol
from wizloop.dut.host import Host

HELLO = "agent=1 board=fake chip=W5500 caps=full,byte,burst fw=1 line=1024"

Answers = Callable[[int, str], str | bytes | None]  # sequence and request to what is said


class FakeBoard:
    """Answers hello; anything else as `answers` says. Bytes are said as they are, text as a line with its checksum."""

    def __init__(self, host: Host, answers: Answers | None = None) -> None:
        self.host = host
        self.answers = answers
        self.heard: list[str] = []
        self._rest = b""
        self._open()

    def _open(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(self.master)
        self.device = os.ttyname(slave)
        os.close(slave)
        self.host.watch(self.master, selectors.EVENT_READ, self._on_input)

    def say(self, data: bytes) -> None:
        os.write(self.master, data)

    def _on_input(self, _: int) -> None:
        try:
            self._rest += os.read(self.master, 4096)
        except OSError:  # nobody has the other end open
            return
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            if text := line.decode(errors="replace").strip("\r\x03"):
                self._on_line(text)

    def _on_line(self, line: str) -> None:
        self.heard.append(line)
        sequence, _, request = line.removeprefix("#").partition(" ")
        request = request.rpartition(" *")[0] or request
        said: str | bytes | None = f"ok {HELLO}" if request == "hello" else None
        if self.answers is not None:
            said = self.answers(int(sequence), request) or said
        if isinstance(said, str):
            said = protocol.with_crc(f"#{sequence} {said}").encode() + b"\r\n"
        if said:
            self.say(said)

    def drop(self) -> None:
        """The device goes away."""
        self.host.unwatch(self.master)
        os.close(self.master)

    def come_back(self, link: Path) -> None:
        """As another device, under the same name."""
        self._open()
        link.unlink(missing_ok=True)
        link.symlink_to(self.device)
