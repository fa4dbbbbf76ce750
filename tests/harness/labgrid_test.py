"""Boards that a labgrid coordinator gives out, on a rack of processes: leased, probed, given back whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
from bounded import SECONDS, read_line
from conftest import REPOSITORY
from labgrid_rack import BOARDS, Rack, eventually
from places import lacking, need

pytest.importorskip("labgrid") if os.environ.get("CI") != "true" else None
pytestmark = [pytest.mark.simulator, pytest.mark.racks]

FREED_WITHIN_S = 5.0
SBIN = f"{os.environ['PATH']}:/usr/sbin"  # where exporters look as well
HOLD = """
import sys, time
from wizloop.dut.address import parse_address
from wizloop.dut.lease import Lease
lease = Lease(parse_address(sys.argv[1]), wait_s=float(sys.argv[2]))
print(lease.place, lease.line.telnet, flush=True)
sys.stdin.read()
print(lease.lost(), flush=True)
lease.release()
"""
BODY = """
import os, time
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_it(dut, number):
    begin = time.time()
    assert dut.ask("hello")["chip"] == "W5500"
    time.sleep({seconds})
    with open({notes!r}, "a") as notes:
        notes.write(f"{{number}} {{dut.name}} {{os.getpid()}} {{begin}} {{time.time()}}\\n")
"""


@pytest.fixture(scope="module")
def rack(simulator, tmp_path_factory):
    with Rack.started(tmp_path_factory.mktemp("rack")) as rack:
        yield rack


@pytest.fixture(autouse=True)
def nothing_is_left_locked(rack):
    yield
    eventually(lambda: rack.held() == [], FREED_WITHIN_S)


@pytest.fixture
def body(tmp_path):
    """Tests that note which board they had, and when."""

    class Body:
        file = tmp_path / "body_test.py"
        notes = tmp_path / "notes"
        junit = tmp_path / "junit.xml"
        json = tmp_path / "out.json"

        def write(self, count, seconds=0.0):
            self.file.write_text(BODY.format(count=count, seconds=seconds, notes=str(self.notes)))

        def noted(self):
            if not self.notes.exists():
                return []
            return [line.split() for line in self.notes.read_text().splitlines()]

        def outcomes(self):
            by_test = defaultdict(list)
            for test in json.loads(self.json.read_text())["tests"]:
                by_test[test["id"]].append(test)
            return by_test

    return Body()


def holder(rack, address, wait_s=20, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, address, str(wait_s)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**rack.environment, **environment},
    )  # fmt: skip


def let_go(process):
    said, complaint = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, complaint
    return said.strip()


def refused(rack, address, wait_s=0.5, **environment):
    _, complaint = holder(rack, address, wait_s, **environment).communicate(timeout=SECONDS)
    return complaint.strip().splitlines()[-1]


def test_places_are_leased_by_name_by_tag_or_any_and_never_twice(rack):
    with holder(rack, "labgrid:b1") as first, holder(rack, "labgrid:profile=stm32f405-arduino,agent=wizloop") as second:
        assert read_line(first) == "b1 False\n"
        assert read_line(second) == "b4 True\n"  # behind a console server
        rest = [holder(rack, "labgrid:any") for _ in range(2)]
        assert {read_line(each).split()[0] for each in rest} == {"b2", "b3"}
        said = refused(rack, "labgrid:any")
        assert "LeaseRefused: labgrid:any: no place was free within 0.5 s" in said
        assert all(f"{board} is held by " in said for board in BOARDS) and ".wizloop-" in said
        waiting = holder(rack, "labgrid:any")
        assert let_go(rest.pop()) == ""
        assert read_line(waiting).split()[0] in ("b2", "b3")
        for each in (first, second, waiting, *rest):
            assert let_go(each) == ""


def test_what_is_not_there_is_told_with_what_is(rack):
    assert "NothingMeasured: labgrid:b9: no place b9 at 127.0.0.1:" in (said := refused(rack, "labgrid:b9"))
    assert "which has b1 (agent=wizloop,profile=w55rp20), b2" in said
    assert "no place with the tags color=red" in refused(rack, "labgrid:color=red")
    said = refused(rack, "labgrid:any", LG_COORDINATOR="127.0.0.1:1")
    assert "LeaseRefused: labgrid:any: no coordinator at 127.0.0.1:1 (LG_COORDINATOR): " in said
    assert "Connection refused" in said


def test_the_exit_code_says_whether_there_is_no_board_or_no_rack(rack, body):
    body.write(1)
    code, said = rack.run("test", "--dut", "labgrid:b9", "--", "-q", body.file)
    assert (code, "wizloop: labgrid:b9: no place b9" in said) == (4, True), said
    code, said = rack.run("test", "--dut", "labgrid:b1", "--", "-q", body.file, LG_COORDINATOR="127.0.0.1:1")
    assert (code, "labgrid:b1: no coordinator at 127.0.0.1:1" in said) == (5, True), said
    code, said = rack.run("board", "check", "b1", LG_COORDINATOR="127.0.0.1:1")
    assert (code, "b1  NOT WELL  labgrid:b1: no coordinator at" in said) == (5, True), said


def test_without_labgrid_it_is_said_how_to_install_it(rack, tmp_path):
    (tmp_path / "labgrid.py").write_text("raise ImportError('No module named labgrid')")
    assert "pip install 'wizloop[labgrid]'" in refused(rack, "labgrid:any", PYTHONPATH=str(tmp_path))


def test_a_place_is_free_within_seconds_of_its_owners_death(rack, figure):
    with holder(rack, "labgrid:b1") as process:
        assert read_line(process) == "b1 False\n"
        assert rack.held() == ["b1"]
        process.kill()
        took = eventually(lambda: rack.held() == [], FREED_WITHIN_S)
    figure(f"after kill -9 of its owner a place is free in {took:.2f} s")


def test_a_place_whose_keeper_died_too_is_freed_by_the_next_who_waits(rack, figure):
    with holder(rack, "labgrid:b1", LG_HOSTNAME="elsewhere") as process:
        assert read_line(process) == "b1 False\n"
        (keeper,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(keeper), signal.SIGKILL)
        process.kill()
        began = time.monotonic()
        with holder(rack, "labgrid:b1") as next_one:
            assert read_line(next_one) == "b1 False\n"
            figure(f"a place whose owner's machine died is the next one's in {time.monotonic() - began:.2f} s")
            assert let_go(next_one) == ""


def test_a_lease_that_is_taken_away_is_told(rack):
    with holder(rack, "labgrid:b1") as process:
        assert read_line(process) == "b1 False\n"
        rack.client(("-p", "b1", "release", "--kick"))
        time.sleep(1.5)  # it looks each second
        assert "the place b1 was taken away" in let_go(process)


def test_boards_of_an_inventory_are_places(rack, body):
    file = rack.folder / "boards.toml"
    before = file.read_text()
    switched = 'address = "labgrid:b1"\npower = "labgrid"\ncable = "labgrid"\nreset = "labgrid"\n'
    file.write_text(before.replace('address = "labgrid:b1"\n', switched))
    body.file.write_text(
        "def test_it(dut):\n"
        "    assert dut.name == 'b1'\n"
        "    dut.unplug(); dut.replug()\n"
        "    assert dut.press_reset()['board'] == 'w55rp20'\n"
        "    assert dut.cycle_power(0.1)['board'] == 'w55rp20'\n"
    )
    try:
        code, said = rack.run("test", "--dut", "b1", "--", "-q", body.file)
        assert code == 0, said
    finally:
        file.write_text(before)


def test_a_board_that_is_not_well_is_told_or_replaced(rack, body):
    body.write(1)
    others = {board: holder(rack, f"labgrid:{board}") for board in ("b2", "b3", "b4")}
    assert {read_line(process).split()[0] for process in others.values()} == others.keys()
    assert rack.served.command("off b1").startswith("ok")
    try:
        code, said = rack.run("test", "--dut", "labgrid:b1", "--", "-q", "--infrastructure-retries=0", body.file)
        assert (code, "b1 is lost" in said) == (5, True), said
        assert "b1 is lost" in (quarantine := rack.folder / "quarantine.toml").read_text()
        quarantine.unlink()
        with rack.started_program("test", "--dut", "labgrid:any", "--", "-q", body.file) as process:
            eventually(lambda: "b1" in rack.held())
            assert let_go(others.pop("b2")) == ""
            said, _ = process.communicate(timeout=3 * SECONDS)
        assert process.returncode == 0, said
        assert "another in place of b1: b1 is lost" in said
        assert {name for _, name, *_ in body.noted()} == {"b2"}
        assert "b1 is lost" in quarantine.read_text()
        quarantine.unlink()
    finally:
        rack.served.command("on b1")
        for process in others.values():
            let_go(process)


def test_an_exporters_console_server_is_no_matter(rack, body):
    """b5 is a serial port that its exporter puts behind ser2net."""
    if shutil.which("ser2net", path=SBIN) is None:
        lacking("no ser2net on this machine: ci/setup installs it")
    body.write(1)
    code, said = rack.run("test", "--dut", "labgrid:console=ser2net", "--", "-q", body.file)
    assert code == 0, said
    assert [name for _, name, *_ in body.noted()] == ["labgrid:b5"]


SET_UP = """
set -e
trap 'kill $(jobs -p); wait' EXIT
ip link set lo up
{serve}
{coordinator}
until labgrid-client places; do sleep 0.2; done
"""


def test_the_commands_of_the_readme_set_up_a_rack(simulator, tmp_path):
    need("unshare", "ip")  # in a network of its own all ports are free
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode != 0:
        lacking("unshare -Urn is forbidden here")
    text = (REPOSITORY / "harness" / "README.md").read_text()
    _, _, section = text.partition("\n## A rack that several share\n")
    _, commands, _, exported = section.split("```")[:4]
    serve, coordinator, *rest = commands.strip().splitlines()
    (tmp_path / "rack1.yaml").write_text(exported.removeprefix("yaml\n"))
    script = "\n".join([SET_UP.format(serve=serve, coordinator=coordinator), *rest])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment = {key: value for key, value in environment.items() if not key.startswith(("LG_", "WIZLOOP_"))}
    with subprocess.Popen(
        ["unshare", "-Urn", "bash", "-c", script], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={**environment, "XDG_CONFIG_HOME": str(tmp_path)},
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=6 * SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert " passed" in said


def test_workers_never_share_a_board_and_a_dead_worker_loses_nothing(rack, body, figure):
    body.write(16, seconds=0.3)
    with rack.started_program("test", "--dut", "labgrid:any", "--json", body.json, "--", "-n4", body.file) as process:
        eventually(lambda: len(body.noted()) >= 4)
        os.kill(int(body.noted()[0][2]), signal.SIGKILL)
        said, _ = process.communicate(timeout=6 * SECONDS)
    assert process.returncode == 0, said
    assert ": its worker died" in said and "1 retried" in said
    assert {test: [each["outcome"] for each in of] for test, of in body.outcomes().items()} == dict.fromkeys(
        body.outcomes(), ["passed"]
    )
    assert len(body.outcomes()) == 16
    by_board = defaultdict(list)
    for _, name, worker, begin, end in body.noted():
        by_board[name].append((float(begin), float(end), worker))
    assert by_board.keys() == BOARDS.keys()
    for spans in by_board.values():
        spans.sort()
        assert all(one[1] <= two[0] for one, two in zip(spans, spans[1:], strict=False))


def test_an_exporter_and_a_coordinator_that_die_are_infrastructure_and_nothing_is_lost(rack, body):
    body.write(16, seconds=0.5)
    words = ["test", "--dut", "labgrid:any", "--json", body.json, "--", "-n2", "--infrastructure-retries=0", body.file]
    with rack.started_program(*words) as process:
        try:
            eventually(lambda: len(body.noted()) >= 2)
            for exporter in rack.exporters.values():
                exporter.kill()
            time.sleep(2.0)
            for exporter in rack.exporters.values():
                exporter.start()
            noted = len(body.noted())
            eventually(lambda: len(body.noted()) >= noted + 2)
            rack.coordinator.kill()
            time.sleep(2.0)
        finally:
            rack.coordinator.start()
            for exporter in rack.exporters.values():  # as what supervises them does
                exporter.kill()
                exporter.start()
        said, _ = process.communicate(timeout=6 * SECONDS)
    assert process.returncode == 5, said
    outcomes = body.outcomes()
    assert len(outcomes) == 16
    assert all(any(each["outcome"] == "passed" for each in of) for of in outcomes.values()), said
    assert "went away, and with it its console" in said
    assert f"the coordinator at {rack.address} went away" in said
