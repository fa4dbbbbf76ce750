"""A virtual rack board in a process of its own, and the commands that harness/README.md shows for it."""

import json
import os
import shlex
import socket
import subprocess
import sys

import pytest
from conftest import REPOSITORY, commands_of
from wizloop.dut import inventory, locks

pytestmark = [pytest.mark.simulator, pytest.mark.racks]

WIZLOOP = [sys.executable, "-m", "wizloop"]
SECONDS = 60.0
SHOWN_BELOW = (
    "cables: shell commands, a relay board with a web server, or the control port of `wizloop serve`, which is a rack "
    "by itself:"
)
SHOWN_PORT = "17070"
MORE = """
control = "127.0.0.1:{port}"
host_ip = "192.168.1.2"
"""


@pytest.fixture
def surroundings(tmp_path, monkeypatch):
    monkeypatch.setenv(inventory.VARIABLE, str(tmp_path / "boards.toml"))
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv(locks.VARIABLE, str(tmp_path / "locks"))
    return tmp_path


def run(words, where):
    return subprocess.run([*WIZLOOP, *words], capture_output=True, text=True, timeout=4 * SECONDS, cwd=where)


def test_the_commands_of_the_readme_set_up_a_rack_and_test_it(simulator, surroundings):
    (_, *serve), *commands = commands_of(REPOSITORY / "harness" / "README.md", SHOWN_BELOW)
    assert serve.pop() == "&"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    serve = [word.replace(SHOWN_PORT, port) for word in serve]
    file = surroundings / "boards.toml"
    file.write_text("")
    with subprocess.Popen([*WIZLOOP, *serve], cwd=surroundings, stdout=subprocess.PIPE, text=True) as process:
        try:
            while "serving" not in process.stdout.readline():
                assert process.poll() is None
            for program, *words in commands:
                assert program == "wizloop"
                done = run(words, surroundings)
                assert done.returncode == 0, done.stdout + done.stderr
            file.write_text(file.read_text() + MORE.format(port=port))
            chosen = "every_path_carries or reset_button or a_pulled_cable_is_noticed or echo_comes_back or power_cycle"
            done = run(["test", "--dut", "b1", "--why", "--", "-q", "-k", chosen], surroundings)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "skipped" not in done.stdout
            flash = f"{shlex.join(WIZLOOP)} control 127.0.0.1:{port} reset b1"  # the firmware that it has, from its start
            sides = ["--path-a", "dma", "--flash-a", f"{flash} #a", "--path-b", "byte", "--flash-b", f"{flash} #b"]
            told = ["--max-noise", "1000", "--database", "runs.db", "--json", "ab.json"]
            done = run(["ab", "b1", *sides, "--figure", "tcp_xmit", "--rounds", "2", *told], surroundings)
            assert done.returncode == 4, done.stdout + done.stderr  # two rounds are no measurement
            (row,) = json.loads((surroundings / "ab.json").read_text())["figures"]
            assert (row["state"], row["clock"], row["path"]) == ("too few samples", "real", "dma -> byte"), row
            assert row["base"] > 1.5 * row["new"]
            assert row["prediction"]["base"] == pytest.approx(row["base"], rel=0.3)
        finally:
            process.terminate()
            process.wait(SECONDS)
    assert os.listdir(surroundings / "locks") == []
