"""`wizloop doctor`, on machines that lack one thing or another."""

import json
import os
import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import REPOSITORY
from serial.tools import list_ports
from wizloop import doctor, simulator
from wizloop.dut import inventory
from wizloop.errors import InfrastructureError
from wizloop.results.database import Database, location


def program(folder: Path, name: str, says: str = "version 99.1", code: int = 0) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{says}'\necho '{says}' >&2\nexit {code}\n")
    file.chmod(0o755)


@pytest.fixture
def machine(fake, tmp_path, monkeypatch):
    """One that has all programs, an inventory without boards, and nothing configured."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, _, _ in doctor.PROGRAMS:
        program(folder, name)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(doctor, "ASIDE", ())
    monkeypatch.setattr(doctor, "_program", lambda name: name)
    monkeypatch.setattr(doctor, "_tun", lambda: doctor.Check("rights", "tun", "TAP", False))
    monkeypatch.setattr(list_ports, "comports", lambda: [])
    monkeypatch.setattr(doctor, "SERIAL_GROUPS", ())
    monkeypatch.setenv(inventory.VARIABLE, str(tmp_path / "boards.toml"))
    (tmp_path / "boards.toml").write_text("")
    monkeypatch.setenv("WIZLOOP_DATABASE", str(tmp_path / "runs.db"))
    monkeypatch.setenv("WIZLOOP_LOCK_DIRECTORY", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv(doctor.COORDINATOR, raising=False)
    monkeypatch.setattr(simulator.module(), "__file__", "_sim.so", raising=False)
    return folder


def checks(**options) -> dict[str, doctor.Check]:
    return {check.name: check for check in doctor.examine(**options)}


def bad(**options) -> list[str]:
    return [name for name, check in checks(**options).items() if not check.ok]


def test_a_machine_that_has_everything_is_well(machine, wizloop):
    code, text, _ = wizloop("doctor")
    assert code == 0
    assert text.splitlines()[-1].endswith("are well")
    assert "missing" not in text and "wrong" not in text


def test_a_missing_program_is_named_with_its_use_and_its_cure(machine, wizloop, tmp_path):
    (machine / "iperf3").unlink()
    (machine / "dnsmasq").unlink()
    code, text, _ = wizloop("doctor", "--json", tmp_path / "doctor.json")
    assert code == 0  # it is optional
    lines = [line.strip() for line in text.splitlines()]
    place = next(number for number, line in enumerate(lines) if line.split()[:2] == ["missing", "iperf3"])
    assert lines[place + 1].split() == "needed for throughput of boards".split()
    assert lines[place + 2].endswith("apt-get install --no-install-recommends iperf3")
    assert lines[-2].endswith("are missing or wrong: 2 optional")
    assert lines[-1].endswith("apt-get install --no-install-recommends dnsmasq-base iperf3")
    document = json.loads((tmp_path / "doctor.json").read_text())
    assert (document["exit_code"], document["bad"]) == (0, 2)
    assert [check["name"] for check in document["checks"] if not check["ok"]] == ["iperf3", "dnsmasq"]
    assert set(document["checks"][0]) == set("group name needed_for required state said cure package ok".split())


def test_what_is_optional_fails_in_ci_and_where_it_is_asked_for(machine, wizloop, monkeypatch):
    (machine / "curl").unlink()
    assert wizloop("doctor")[0] == 0
    assert wizloop("doctor", "--strict")[0] == 5
    monkeypatch.setenv("CI", "true")
    assert wizloop("doctor")[0] == 5


def test_a_program_that_is_too_old_is_wrong(machine, wizloop):
    program(machine, "verilator", "Verilator 4.038 2020-07-11")
    code, text, _ = wizloop("doctor")
    assert code == 5
    assert "version 4.038, expected version 5.6 or newer" in text
    program(machine, "verilator", "none of your business")
    assert "does not say its version" in checks()["verilator"].said


def test_a_module_that_was_not_built_is_required(machine, wizloop, monkeypatch):
    def not_built():
        raise InfrastructureError("it is not built")

    monkeypatch.setattr(simulator, "module", not_built)
    code, text, _ = wizloop("doctor")
    assert code == 5
    assert "it is not built" in text and "ci/setup module" in text and "2 required" in text  # and board files


def test_python_packages_are_held_against_what_the_project_asks_for():
    wanted = ["pytest>=1", "numpy<1", "no-such-thing~=1.0; extra == 'test'", "unwanted; python_version < '3'"]
    pytest_there, numpy_wrong, missing = doctor._packages(wanted)
    assert pytest_there.ok
    assert numpy_wrong.state == doctor.WRONG and numpy_wrong.required and "expected <1" in numpy_wrong.said
    assert missing.state == doctor.MISSING and not missing.required and "tests" in missing.needed_for
    assert doctor.exit_code([pytest_there, missing], strict=False) == 0
    assert doctor.exit_code([pytest_there, numpy_wrong], strict=False) == 5


def test_it_works_where_a_package_is_missing_that_it_would_look_with(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "serial.tools", None)
    names = checks()
    assert "serial ports" not in names and "database" in names


def test_in_a_clone_the_packages_of_the_build_are_looked_for(machine):
    program(machine, "dpkg-query", "ii  cmake\nii  ninja-build")
    found = checks()["build packages"]
    assert found.state == doctor.MISSING
    lacking = found.package.split()
    assert "libslirp-dev" in lacking and "cmake" not in lacking
    assert not {"iperf3", "tshark", "simavr"} & set(lacking)  # which have a line of their own


def test_forbidden_namespaces_come_with_the_setting_that_allows_them(machine, monkeypatch, tmp_path):
    program(machine, "unshare", "unshare: Operation not permitted", code=1)
    assert "seccomp" in checks()["user namespaces"].cure
    (tmp_path / "limit").write_text("0\n")
    monkeypatch.setattr(doctor, "FORBIDDING", [(str(tmp_path / "limit"), "0", "user.max=15000")])
    found = checks()["user namespaces"]
    assert (found.state, found.said) == (doctor.MISSING, "Operation not permitted")
    assert found.cure == "sudo sysctl -w user.max=15000"


def test_a_missing_tun_device_comes_with_its_module(tmp_path, monkeypatch):
    assert doctor._tun(tmp_path / "tun").cure == "sudo modprobe tun"
    (tmp_path / "tun").write_text("")
    assert doctor._tun(tmp_path / "tun").ok
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert doctor._tun(tmp_path / "tun").cure == f"sudo chmod a+rw {tmp_path / 'tun'}"


def test_no_pseudo_terminal_left_is_wrong(machine, monkeypatch):
    def none_left():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "openpty", none_left)
    assert "No space left" in checks()["pseudo-terminals"].said


def test_ports_that_cannot_be_opened_come_with_their_group(machine, monkeypatch, tmp_path):
    port = tmp_path / "ttyUSB0"
    port.write_text("")
    monkeypatch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device=str(port))])
    assert checks()["serial ports"].ok
    monkeypatch.setattr(os, "access", lambda path, *_: str(path) != str(port))
    found = checks()["serial ports"]
    assert found.state == doctor.WRONG and str(port) in found.said
    assert found.cure.startswith("sudo usermod -aG ") and found.cure.endswith(", then log in again")


def test_who_is_not_in_the_group_of_serial_ports_is_told_before_there_is_one(machine, monkeypatch):
    monkeypatch.setattr(doctor, "SERIAL_GROUPS", ("dialout",))
    monkeypatch.setattr(doctor, "_group_id", lambda name: 20)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getgroups", lambda: [1000])
    assert "usermod -aG dialout" in checks()["serial ports"].cure
    monkeypatch.setattr(os, "getgroups", lambda: [1000, 20])
    assert checks()["serial ports"].ok


def test_no_place_for_lock_files_is_wrong(machine, monkeypatch, tmp_path):
    monkeypatch.setenv("WIZLOOP_LOCK_DIRECTORY", str(tmp_path / "nowhere"))
    assert bad() == ["lock files"]


def test_an_inventory_that_nobody_could_use_is_wrong(machine, tmp_path, wizloop):
    file = tmp_path / "boards.toml"
    file.write_text('[[board]]\nname = "b1"\naddress = "serial:/dev/ttyUSB0"\nprofile = "w55rp20"\n')
    assert checks()["inventory"].said.startswith("1 boards in ") is False  # the fake has no such board
    file.write_text(file.read_text().replace("w55rp20", "fast"))
    assert checks()["inventory"].said.startswith("1 boards in ")
    file.write_text("[[board]]\nname = 'b1'\n")
    code, text, _ = wizloop("doctor")
    assert code == 5
    assert "board b1: address = None, expected" in text and f"edit {file}" in text


def test_a_quarantine_that_nobody_can_read_is_wrong(machine, tmp_path):
    (tmp_path / "quarantine.toml").write_text("[[quarantine]]\nboard = 'b1'\n")
    assert bad() == ["quarantine"]


def test_a_database_is_tried_and_stays_as_it_is(machine, memory):
    file = memory / "runs.db"
    assert checks(database=str(file))["database"].said == f"none yet; {file} can be made"
    assert not file.exists()
    Database(location(str(file))).close()
    before = file.read_bytes()
    assert checks(database=str(file))["database"].said == f"{file} can be written"
    assert file.read_bytes() == before


def test_a_database_that_takes_no_runs_is_wrong(machine, memory, monkeypatch):
    file = memory / "runs.db"
    file.write_text("these are words, and no database at all; they have to be of some length for SQLite to notice it")
    assert "no SQLite database" in checks(database=str(file))["database"].said
    assert "is no known kind" in checks(database="mysql://here")["database"].said
    Database(location(str(memory / "held.db"))).close()
    monkeypatch.setattr(os, "access", lambda path, *_: path != memory)
    assert "no right to write" in checks(database=str(memory / "held.db"))["database"].said


def test_a_coordinator_counts_only_where_one_is_configured(machine, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setenv(doctor.COORDINATOR, f"127.0.0.1:{listening.getsockname()[1]}")
        assert checks()["labgrid coordinator"].ok
    found = checks()["labgrid coordinator"]
    assert found.state == doctor.WRONG and "does not answer" in found.said


def test_every_program_that_a_test_is_skipped_without_is_looked_for():
    alongside = {"setpriv", "nsenter", "setsid", "mount", "ss"}  # of the packages of unshare and ip, or always there
    known = {name for name, _, _ in doctor.PROGRAMS} | alongside
    asked = set()
    for file in (REPOSITORY / "tests").rglob("*_test.py"):
        for words in re.findall(r"\bneed\(([^()]*)\)", file.read_text()):
            asked |= set(re.findall(r'"([^"]+)"', words))
    assert {"curl", "iperf3", "tshark"} <= asked
    assert asked <= known, f"wizloop/doctor.py does not know {asked - known}"
