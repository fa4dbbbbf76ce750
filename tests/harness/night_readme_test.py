"""The rack of two virtual boards that README.md shows, and a short night on it."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys

import pytest
from bounded import read_line
from conftest import REPOSITORY
from wizloop.dut import inventory, locks

pytestmark = pytest.mark.simulator

WIZLOOP = [sys.executable, "-m", "wizloop"]
SECONDS = 120.0


def shown():
    """The file of boards and the commands, with ports that are free."""
    _, _, below = (REPOSITORY / "README.md").read_text().partition("\n## A rack and its night\n")
    text = below.split("```")[1]
    for port in ("7000", "7001", "7002"):
        with socket.create_server(("127.0.0.1", 0)) as free:
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{free.getsockname()[1]}")
    found = re.fullmatch(r"\ncat >rack.toml <<'END'\n(.*?)END\n(.*)", text, re.S)
    lines = found[2].replace("\\\n", " ").splitlines()
    return found[1], [shlex.split(line, comments=True) for line in lines]


def test_two_boards_have_a_night_and_a_page(simulator, tmp_path, monkeypatch):
    rack, (serve, night, end) = shown()
    (tmp_path / "rack.toml").write_text(rack)
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv(locks.VARIABLE, str(tmp_path / "locks"))
    assert [board.name for board in inventory.load(tmp_path / "rack.toml").boards] == ["a", "b"]
    assert (serve[0], serve.pop(), night[0], end) == ("wizloop", "&", "ci/nightly", ["kill", "%1"])
    environment = {**os.environ, "WIZLOOP_DATABASE": str(tmp_path / "runs.db")}
    where = {"cwd": tmp_path, "env": environment, "text": True}
    with subprocess.Popen([*WIZLOOP, *serve[1:]], stdout=subprocess.PIPE, **where) as process:
        try:
            while not read_line(process).startswith("serving boards=2"):
                assert process.poll() is None
            words = ["nightly", *night[1:], "-k", "says_who or udp_round_trip"]
            words.insert(1, "--no-host-figures")
            done = subprocess.run([*WIZLOOP, *words], capture_output=True, timeout=SECONDS, **where)
        finally:
            process.terminate()
            process.wait(SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "build" / "nightly" / "report.json").read_text())
    assert report["headline"] == "6 tests passed"  # two checks, two tests on each board
    of = {(figure["dut"], figure["name"]): figure for figure in report["figures"]}
    assert {("a", "udp_rtt"), ("b", "udp_rtt"), ("model:w55rp20", "udp_rtt")} <= of.keys()
    assert (tmp_path / "build" / "nightly" / "index.html").exists()
