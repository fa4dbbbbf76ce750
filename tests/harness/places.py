"""Places where programs that are not ours meet a virtual board: the host itself, by slirp and as an ordinary user, and a
network of the test's own, by veth or TAP.

    with ordinary_user(folder) as place, place.serve("--board", file) as served:
        place.run("curl", place.url(80))

A place starts its programs there and says by which addresses the two sides reach each other. All that it starts ends
with it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import serial
from serve_test import BOARD, SECONDS, Served, fields, next_that_starts, open_serial
from wizloop import boards, programs

NOBODY = 65534  # whom no file belongs to
HOST_IN_OWN_NETWORK = "192.168.1.1"
CTRL_C = b"\x03"

# The ports on which the board serves; slirp forwards one of the host's to each.
TCP_PORTS = (7, 9, 80, 5001, 5201)
UDP_PORTS = (5001,)


def need(*names: str) -> None:
    """Without a program, a skip on a desk and an error in CI."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        lacking(f"no {', no '.join(missing)} on this machine: ci/setup installs it")


def lacking(what: str) -> None:
    assert os.environ.get("CI") != "true", what
    pytest.skip(what)


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(what: str, holds: Callable[[], bool], within: float = SECONDS) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"in {within} s, not {what}"
        time.sleep(0.01)


def stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=SECONDS)


@dataclass
class Place:
    """`enter` are the words before a command that make it run there."""

    name: str
    net: str
    enter: Sequence[str]
    folder: Path  # where its programs may write
    board: str  # what clients there call the board
    host: str  # what the board calls them
    ports: Mapping[tuple[str, int], int] = field(default_factory=dict)  # (protocol, the board's) to the host's

    def port(self, port: int, protocol: str = "tcp") -> str:
        return str(self.ports.get((protocol, port), port))

    def url(self, path: str = "/") -> str:
        return f"http://{self.board}:{self.port(80)}{path}"

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": self.folder, **options}
        return subprocess.Popen([*self.enter, *command], env={**os.environ, "HOME": str(self.folder)}, **options)

    @contextmanager
    def running(self, *command: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
        process = self.start(*command, **options)
        try:
            yield process
        finally:
            stop(process)

    def run(self, *command: str, within: float = SECONDS, code: int = 0, stdin: str | None = None) -> str:
        """What it says on stdout; it must end with that code."""
        with self.running(*command, stdin=subprocess.PIPE) as process:
            said, complaint = process.communicate(stdin, timeout=within)
        assert process.returncode == code, (command, process.returncode, said, complaint)
        return said

    @contextmanager
    def serve(self, *arguments: str, board: str = BOARD, **options: Any) -> Iterator[Served]:
        """One board, by its program alone, so that whoever runs it needs nothing of the Python environment."""
        program, file = self.folder / "wizloop-serve", self.folder / f"{board}.toml"
        if not program.exists():
            shutil.copy(programs.find("wizloop-serve"), program)
        file.write_bytes(boards.find(board).read_bytes())
        command = [str(program), "--board", str(file), "--net", self.net, *arguments]
        with self.start(*command, stderr=None, **options) as process:
            try:
                served = Served(process)
                served.wait_until_ready()
                yield served
                if process.poll() is None:
                    served.end()
            finally:
                process.kill()


@contextmanager
def open_folder() -> Iterator[Path]:
    """One that the ordinary user can use; pytest's own are closed to all others."""
    with tempfile.TemporaryDirectory(prefix="wizloop-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield folder


@contextmanager
def ordinary_user() -> Iterator[Place]:
    enter: list[str] = []
    if os.geteuid() == 0:
        need("setpriv")
        enter = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    ports = {("tcp", port): free_port() for port in TCP_PORTS}
    ports |= {("udp", port): free_port(socket.SOCK_DGRAM) for port in UDP_PORTS}
    forwards = ",".join(f"hostfwd={protocol}:{host}:{port}" for (protocol, port), host in ports.items())
    with open_folder() as folder:
        yield Place("slirp", f"slirp:{forwards}", enter, folder, "127.0.0.1", "10.0.2.2", ports)


# What makes an interface of the host out of the board's cable. It ends, and its interfaces with it, when its stdin is
# closed, be it because the test was killed.
LINKS = {
    "veth:board0": "ip link add pc0 type veth peer name board0; ip link set board0 up",
    "tap:pc0": "ip tuntap add dev pc0 mode tap",
}
OWN_NETWORK = """
set -e
ip link set lo up
{link}
ip addr add {host}/24 dev pc0
ip link set pc0 up
echo ready
exec cat
"""


@contextmanager
def own_network(net: str = "veth:board0") -> Iterator[Place]:
    with holding(net, OWN_NETWORK.format(link=LINKS[net], host=HOST_IN_OWN_NETWORK)) as (enter, folder):
        yield Place(net.partition(":")[0], net, enter, folder, "192.168.1.20", HOST_IN_OWN_NETWORK)


# Where a server of the test's own has the names that the host knows.
OWN_RESOLVER = """
set -e
ip link set lo up
mount -t tmpfs none /run
echo nameserver 127.0.0.1 > /run/resolv.conf
mount --bind /run/resolv.conf /etc/resolv.conf
echo ready
exec cat
"""


@contextmanager
def slirp_with_own_resolver() -> Iterator[Place]:
    need("mount")
    with holding("slirp", OWN_RESOLVER) as (enter, folder):
        yield Place("slirp", "slirp", enter, folder, "127.0.0.1", "10.0.2.2")


@contextmanager
def holding(what: str, script: str) -> Iterator[tuple[list[str], Path]]:
    """Namespaces for network and mounts, set up by that script: how to enter them, and a folder to write into."""
    need("unshare", "nsenter", "ip")
    command = ["unshare", "-Urnm", "sh", "-c", script]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, text=True) as holder:
        try:
            assert holder.stdout is not None and holder.stderr is not None
            if holder.stdout.readline() != "ready\n":
                lacking(f"unshare -Urnm, or {what} in it, is forbidden here: {holder.stderr.read()}")
            enter = ["nsenter", f"--target={holder.pid}", "--user", "--net", "--mount", "--preserve-credentials", "--"]
            with tempfile.TemporaryDirectory(prefix="wizloop-") as folder:
                yield enter, Path(folder)
        finally:
            holder.kill()


PLACES = {"slirp": ordinary_user, "veth": own_network}


class Board:
    """The console of a board on its pty, and the verbs of its firmware."""

    def __init__(self, served: Served, place: Place, port: serial.SerialBase) -> None:
        self.served = served
        self.place = place
        self.port = port
        self.number = 0

    def send(self, request: str) -> str:
        self.number += 1
        self.port.write(f"#{self.number} {request}\n".encode())
        return f"#{self.number} "

    def wait_for(self, start: str) -> str:
        return next_that_starts(lambda: self.port.read_until(b"\n").decode(errors="replace").rstrip(), start)

    def wait_for_bytes(self, least: int) -> None:
        """Until a progress event tells of so many."""
        while int(fields(self.wait_for("! progress "))["bytes"]) < least:
            pass

    def ask(self, request: str) -> dict[str, str]:
        """The values of an answer, which is to be an ok."""
        answer = self.wait_for(self.send(request))
        assert answer.split()[1] == "ok", (request, answer)
        return fields(answer)

    @contextmanager
    def doing(self, request: str) -> Iterator[dict[str, str]]:
        """Meanwhile the board does that; then it is cancelled, unless it ends by itself. The values of its answer are
        filled in at the end.
        """
        start = self.send(f"{request} every_ms=50")
        self.wait_for(f"! progress seq={self.number} ")  # now it does
        values: dict[str, str] = {}
        ends_by_itself = "idle_ms=" in request or "conns=" in request
        try:
            yield values
        except BaseException:
            ends_by_itself = False
            raise
        finally:
            if not ends_by_itself:
                self.port.write(CTRL_C)
            values.update(fields(self.wait_for(start)))


@contextmanager
def board_at(place: Place, *arguments: str, **options: Any) -> Iterator[Board]:
    """A board that is served there and has a link. Whatever it goes through, it breaks no rule of the datasheet."""
    link = place.folder / "board"
    with place.serve("--serial", str(link), *arguments, **options) as served, open_serial(str(link)) as port:
        board = Board(served, place, port)
        assert board.ask("link wait_ms=10000")["up"] == "1"
        yield board
        if served.process.poll() is None:
            wrong = [line for line in served.end() if line.startswith(("finding ", "error "))]
            assert all(" announced=1 " in line for line in wrong), wrong
