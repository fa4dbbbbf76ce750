"""What becomes of a virtual board, and of the programs that talk to it, when the network, the disk or a process fails in
mid-transfer: the side that can say it says it, the other one goes on, and nothing is left behind.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from places import (
    PLACES,
    TCP_PORTS,
    UDP_PORTS,
    Place,
    board_at,
    free_port,
    lacking,
    need,
    open_folder,
    own_network,
    wait_until,
)
from serve_test import BOARD, SECONDS, ask, fields, open_serial
from wizloop import boards, programs

pytestmark = pytest.mark.simulator  # its program comes with the compiled module

Figure = Callable[[str], None]


def processes() -> Iterator[Path]:
    yield from (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())


def children() -> set[str]:
    """Of this process, with theirs, apart from those that have ended."""
    of: dict[str, list[str]] = {}
    for entry in processes():
        try:
            _, _, stat = (entry / "stat").read_text().rpartition(") ")
        except OSError:
            continue
        state, parent = stat.split()[:2]
        if state != "Z":
            of.setdefault(parent, []).append(entry.name)
    found: set[str] = set()
    to_see = [str(os.getpid())]
    while to_see:
        below = of.get(to_see.pop(), [])
        found.update(below)
        to_see += below
    return found


def networks() -> dict[str, str]:
    """Those that somebody is in, and one of them."""
    found: dict[str, str] = {}
    for entry in processes():
        try:
            found[os.readlink(entry / "ns" / "net")] = entry.name
        except OSError:
            continue
    return found


def ports_of(place: Place) -> list[tuple[socket.SocketKind, int]]:
    """Those of the host's own that lead to the board."""
    tcp = [(socket.SOCK_STREAM, int(place.port(port))) for port in TCP_PORTS]
    udp = [(socket.SOCK_DGRAM, int(place.port(port, "udp"))) for port in UDP_PORTS]
    return tcp + udp if place.name == "slirp" else []


def can_be_taken(kind: socket.SocketKind, port: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A place that is clean when the test is over, and gone when it is."""
    before, others = children(), networks()
    with PLACES[request.param]() as made:
        holders = children() - before
        yield made
        assert children() - before == holders, "a process is left"
        assert not (made.folder / "board").is_symlink(), "a link to a pty is left"
        for kind, port in ports_of(made):
            assert can_be_taken(kind, port), f"{kind.name} port {port} is left open"
        network = os.readlink(f"/proc/{next(iter(holders))}/ns/net") if holders else ""
    assert children() <= before
    assert network in others or network not in networks()


def listening(place: Place, port: int) -> None:
    wait_until(f"something listens at {port}", lambda: f":{port} " in place.run("ss", "-Hnlt"))


def test_interface_that_goes_down_in_mid_transfer_and_comes_up_again(figure: Figure) -> None:
    need("nc", "ss")
    with own_network() as place, board_at(place) as board:
        for end in ("pc0", "board0"):  # the host's side of the cable, and the board's
            port = free_port()
            taken = place.folder / "taken"
            with taken.open("wb") as file, place.running("nc", "-n", "-d", "-l", "-p", str(port), stdout=file) as listener:
                listening(place, port)
                start = board.send(f"tcp-send ip={place.host} port={port} bytes=1000000 every_ms=20")
                board.wait_for("! progress")
                place.run("ip", "link", "set", end, "down")
                time.sleep(0.3)  # some of its retries
                place.run("ip", "link", "set", end, "up")
                answer = board.wait_for(start)
                assert answer.split()[1] == "ok", answer
                assert fields(answer)["bytes"] == "1000000"
                assert listener.wait(SECONDS) == 0
            assert taken.read_bytes() == (bytes(range(256)) * 3907)[:1_000_000]
            figure(f"{end} down for 0.3 s: all 1000000 bytes in {int(fields(answer)['us']) / 1e6:.2f} s")
        place.run("ip", "link", "set", "pc0", "down")
        answer = board.wait_for(board.send(f"ping-stats ip={place.host} count=1 wait_ms=100"))
        assert fields(answer)["lost"] == "1"
        place.run("ip", "link", "set", "pc0", "up")
        assert board.ask(f"ping-stats ip={place.host} count=1")["received"] == "1"
        said = board.served.end()
    for news in ("the interface is down", "the interface is up again"):
        assert [line for line in said if line.startswith("note ") and news in line], said


def test_full_disk_ends_the_capture_and_not_the_board() -> None:
    command = ["unshare", "-Urnm", "sh", "-c", 'mount -t tmpfs -o size=64k none "$0" && exec "$@"']
    with open_folder() as folder:
        if subprocess.run([*command, str(folder), "true"], capture_output=True, timeout=SECONDS).returncode != 0:
            lacking("unshare -Urnm, or a tmpfs in it, is forbidden here")
        two = [word for name in "ab" for word in ("--board", str(boards.find(BOARD)), "--name", name)]
        arguments = ["--pcap", f"{folder}/full.pcapng", *two]
        enter = [*command, str(folder), str(programs.find("wizloop-serve"))]
        with subprocess.Popen([*enter, *arguments], stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                a, b = (fields(process.stdout.readline()) for _ in "ab")
                with open_serial(a["pty"]) as first, open_serial(b["pty"]) as second:
                    for console in (first, second):
                        assert " up=1 " in ask(console, "link wait_ms=10000", 1)
                    second.write(b"#2 tcp-server port=9 mode=sink\n")
                    for number in range(3, 6):
                        sent = ask(first, f"tcp-send ip={b['ip']} port=9 bytes=50000 tries=20", number)
                        assert sent.startswith(f"#{number} ok"), sent
                process.send_signal(signal.SIGTERM)
                said, _ = process.communicate(timeout=SECONDS)
            finally:
                process.kill()
        assert process.returncode == 0
        (error,) = [line for line in said.splitlines() if line.startswith("error ")]
        assert "full.pcapng: cannot write: No space left on device" in error


def busy(place: Place) -> AbstractContextManager[subprocess.Popen[str]]:
    return place.running("iperf", "-c", place.board, "-p", place.port(5001), "-t", "60")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_board_that_is_ended_in_mid_transfer_can_be_served_again_at_once(
    place: Place, how: signal.Signals, figure: Figure
) -> None:
    need("iperf")
    link = place.folder / "board"
    with board_at(place) as board:
        board.send("tcp-server mode=iperf every_ms=50")
        board.wait_for("! progress ")
        with busy(place) as client:
            board.wait_for_bytes(100_000)
            asked = time.monotonic()
            if how == signal.SIGTERM:
                board.served.end(how)
            else:
                board.served.process.kill()
                assert board.served.process.wait(SECONDS) == -signal.SIGKILL
            took = time.monotonic() - asked
            if place.name == "slirp":
                client.wait(SECONDS)  # its peer was in the process
    figure(f"{how.name}: ended in {1000 * took:.0f} ms")
    with place.serve("--serial", str(link)), open_serial(str(link)) as port:
        assert ask(port, "hello").startswith("#1 ok")


def test_client_that_is_ended_in_mid_transfer_leaves_the_board_free_for_the_next(place: Place) -> None:
    need("iperf", "nc", "ss")
    with board_at(place) as board:
        for how in (signal.SIGTERM, signal.SIGKILL):
            with board.doing("tcp-server mode=iperf socks=1"):
                with busy(place) as client:
                    board.wait_for_bytes(100_000)
                    client.send_signal(how)
                    client.communicate(timeout=SECONDS)
                assert " closed=" in board.wait_for("! conn ")
                place.run("iperf", "-c", place.board, "-p", place.port(5001), "-n", "100K")
            # The other way round: the peer of a board that sends.
            port = free_port()
            with place.running("nc", "-n", "-d", "-l", "-p", str(port), stdout=subprocess.DEVNULL) as listener:
                listening(place, port)
                start = board.send(f"tcp-send ip={place.host} port={port} bytes=100000000 every_ms=50")
                board.wait_for_bytes(100_000)
                listener.send_signal(how)
                listener.wait(SECONDS)
                answer = board.wait_for(start)
            assert answer.split()[1:3] == ["err", "closed-by-peer"], answer
            assert board.ask("hello")["chip"] == "W5500"


def test_flooded_console_costs_no_byte_on_the_network(place: Place, figure: Figure) -> None:
    """By a program that writes as fast as the pty takes it, 1 Mbaud being what the UART then takes."""
    need("iperf", "socat")
    noise = place.folder / "noise"
    noise.write_bytes((b"#1 reg block=common offset=0 junk \x80\xff" * 8 + b"\n") * 500)
    size = noise.stat().st_size
    with board_at(place) as board:
        with board.doing("tcp-server mode=iperf") as served:
            started = time.monotonic()
            with place.running("socat", "-u", str(noise), f"FILE:{place.folder}/board,raw,echo=0") as socat:
                place.run("iperf", "-c", place.board, "-p", place.port(5001), "-n", "1M")
                socat.communicate(timeout=SECONDS)
                took = time.monotonic() - started
                assert socat.returncode == 0
        assert (served["bytes_in"], served["bad"]) == (str(1 << 20), "0")
        assert board.ask("hello")["chip"] == "W5500"
        stats = board.ask("stats")
        lines = f"{stats['bad_lines']} bad lines, {stats['overruns']} overruns"
        figure(f"{size} bytes of noise in {took:.2f} s beside 1 MiB of iperf: {lines}")
