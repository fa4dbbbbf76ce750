"""`wizloop peer` as a person starts it, and against real clients."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bounded import SECONDS, read_line
from places import need

pytestmark = pytest.mark.simulator  # its programs come with the compiled module

WIZLOOP = [sys.executable, "-m", "wizloop", "peer"]


@contextmanager
def peer(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A peer that listens, and the port that it was given."""
    with subprocess.Popen([*WIZLOOP, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            listening = re.fullmatch(r"listening \w+=127\.0\.0\.1:(\d+)\n", read_line(process))
            assert listening is not None
            yield process, int(listening[1])
        finally:
            process.kill()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*WIZLOOP, *arguments], capture_output=True, text=True, timeout=SECONDS)


def figures(line: str) -> dict[str, str]:
    return dict(field.split("=", 1) for field in line.split()[1:])


def test_transfer_measures_each_round_and_their_average(tmp_path: Path) -> None:
    with peer("transfer", "receive", "0", "--rounds", "2") as (receiver, port):
        sent = run("transfer", "send", str(port), "-B", "2048", "-M", "1", "--rounds", "2")
        received, _ = receiver.communicate(timeout=SECONDS)
    assert sent.returncode == receiver.returncode == 0
    for side, text in (("send", sent.stdout), ("receive", received)):
        *rounds, average = text.splitlines()
        assert [figures(line)["bytes"] for line in rounds] == ["1048576"] * 2
        assert average.startswith(f"transfer-{side}-average rounds=2 bytes=2097152 us=")


@pytest.mark.parametrize("option", ["", "-r", "-d", "-R"])
def test_iperf_client_is_served(option: str) -> None:
    need("iperf")
    back = {"-r": "iperf-tcp-back", "-d": "iperf-tcp-back", "-R": "iperf-tcp-reverse"}.get(option)
    with peer("--transfers", "1", "iperf", "--tcp", "0") as (server, port):
        command = ["iperf", "-c", "127.0.0.1", "-p", str(port), "-n", "1M", *option.split(), "-L", str(port + 1)]
        client = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        said, _ = server.communicate(timeout=SECONDS)
    assert client.returncode == 0
    lines = {line.split()[0]: figures(line) for line in said.splitlines()}
    assert back is None or int(lines[back]["bytes"]) >= 1 << 20
    assert option == "-R" or int(lines["iperf-tcp"]["bytes"]) >= 1 << 20


def test_iperf_udp_client_gets_a_report_without_loss() -> None:
    need("iperf")
    with peer("--transfers", "1", "iperf", "--udp", "0") as (server, port):
        command = ["iperf", "-u", "-c", "127.0.0.1", "-p", str(port), "-n", "147000", "-b", "10M"]
        client = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        said, _ = server.communicate(timeout=SECONDS)
    assert "Server Report" in client.stdout
    assert figures(said.splitlines()[-1])["lost"] == "0"


def test_what_cannot_be_says_so() -> None:
    assert run("sink").returncode == 2
    assert "expected HOST:PORT" in run("sink", "--tcp", "65536").stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run("sink", "--tcp", str(port))
    assert refused.returncode == 5
    assert f"127.0.0.1:{port}: Address already in use" in refused.stderr
