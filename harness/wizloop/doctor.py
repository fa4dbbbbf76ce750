"""What this machine lacks for what wizloop can do: each thing with its use, and the command that cures it.

    for check in examine(): print(check.state, check.name, check.needed_for, check.cure)

Nothing is changed, no board is spoken to (`wizloop board check` does that), and it takes a second.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import grp
import importlib.metadata
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wizloop.errors import InfrastructureError, WizloopError
from wizloop.host_port import split_host_port

OK, MISSING, WRONG = "ok", "missing", "wrong"
DEADLINE_S = 10.0  # of a program that is asked for something
CONNECT_DEADLINE_S = 3.0
COORDINATOR, COORDINATOR_PORT = "LG_COORDINATOR", 20408  # as labgrid has them


@dataclass(frozen=True)
class Check:
    group: str
    name: str
    needed_for: str
    required: bool  # without it the command line itself does not work as it should
    state: str = OK
    said: str = ""  # what was found, or what is wrong
    cure: str = ""  # a command, or what else helps
    package: str = ""  # the Debian packages that bring it

    @property
    def ok(self) -> bool:
        return self.state == OK


def examine(inventory: Path | None = None, database: str | None = None) -> list[Check]:
    """Everything, in the order in which it should be cured."""
    looks: list[Callable[[], Iterable[Check]]] = [
        *(_python, _simulator, _programs, _build_packages),
        *(_alone(look) for look in (_namespaces, _tun, _ptys, _serial, _lock_files)),
        *(_alone(look, inventory) for look in (_inventory, _quarantine)),
        *(_alone(_coordinator), _alone(_database, database)),
    ]
    checks: list[Check] = []
    for look in looks:
        with contextlib.suppress(ImportError):  # which _python() has named
            checks += look()
    return checks


def _alone(look: Callable[..., Check], *arguments: object) -> Callable[[], Iterable[Check]]:
    return lambda: [look(*arguments)]


def exit_code(checks: Iterable[Check], strict: bool) -> int:
    """Infrastructure, if something is wrong or required; with `strict`, as in CI, what is optional counts as well."""
    bad = [check for check in checks if not check.ok]
    failing = any(strict or check.required or check.state == WRONG for check in bad)
    return InfrastructureError.exit_code if failing else 0


def to_install(checks: Iterable[Check]) -> str:
    """One command for all Debian packages that are missing; empty: none is."""
    names = sorted({name for check in checks if not check.ok for name in check.package.split()})
    return apt(" ".join(names)) if names else ""


def apt(packages: str) -> str:
    return ("" if os.geteuid() == 0 else "sudo ") + f"apt-get install --no-install-recommends {packages}"


def _clone() -> Path | None:
    """The repository that this package runs from; None: it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "ci" / "setup").is_file() else None


def _reinstall(what: str = "module", extra: str = "") -> str:
    return f"ci/setup {what}" if _clone() else f"pip install --force-reinstall 'wizloop{extra}'"


# --- Python

PYTHON_LEAST = (3, 11)
EXTRAS = {
    "postgresql": "stored runs on a PostgreSQL server",
    "test": "the tests of this project; tests on several boards at once",
    "labgrid": "boards of a labgrid coordinator",
}


def _python() -> Iterator[Check]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    enough = sys.version_info >= PYTHON_LEAST
    needed = f"at least {'.'.join(map(str, PYTHON_LEAST))}, for everything"
    cure = "" if enough else apt("python3 python3-venv")
    yield Check("python", "Python", needed, True, OK if enough else WRONG, f"{version}, {sys.executable}", cure)
    try:
        wanted = importlib.metadata.requires("wizloop") or []
    except importlib.metadata.PackageNotFoundError:
        yield Check("python", "wizloop", "everything", True, WRONG, "it is not installed", _reinstall())
        return
    yield from _packages(wanted)


def _packages(wanted: Iterable[str]) -> Iterator[Check]:
    from packaging.requirements import Requirement

    seen: set[str] = set()
    for text in wanted:
        requirement = Requirement(text)
        found = re.search(r"extra == ['\"]([^'\"]+)", text)
        extra = found[1] if found else ""
        if requirement.name in seen or not (extra or requirement.marker is None or requirement.marker.evaluate()):
            continue
        seen.add(requirement.name)
        needed = EXTRAS.get(extra, f"the extra {extra}") if extra else "everything"
        cure = _reinstall(extra=f"[{extra}]" if extra else "")
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            yield Check("python", requirement.name, needed, not extra, MISSING, "not installed", cure)
            continue
        fits = requirement.specifier.contains(version, prereleases=True)
        said = version if fits else f"{version}, expected {requirement.specifier}"
        yield Check("python", requirement.name, needed, not extra, OK if fits else WRONG, said, "" if fits else cure)


# --- the simulator


def _simulator() -> Iterator[Check]:
    from wizloop import boards, simulator

    def module() -> str:
        return str(simulator.module().__file__)

    def board_files() -> str:
        return f"{len(boards.load(None))} in {boards.folder()}"

    yield _tried("simulator", "simulator module", "every simulated run", True, module, _reinstall())
    for name, use in (("wizloop-serve", "virtual rack boards"), ("wizloop-peer", "the far end of real boards' cables")):
        yield _tried("simulator", name, use, True, functools.partial(_program, name), _reinstall())
    yield _tried("simulator", "board files", "every simulated run", True, board_files, f"edit {boards.folder()}/*.toml")


def _program(name: str) -> str:
    from wizloop import programs

    return str(programs.find(name))


def _tried(group: str, name: str, needed: str, required: bool, look: Callable[[], str], cure: str) -> Check:
    """What `look` says, or why it cannot."""
    try:
        return Check(group, name, needed, required, OK, look())
    except (WizloopError, OSError) as error:
        return Check(group, name, needed, required, WRONG, str(error), cure)


# --- programs

# Name, Debian packages, what it is needed for.
PROGRAMS = (
    ("git", "git", "the commit of stored runs"),
    ("unshare", "util-linux", "networks without root: virtual boards on veth, ci/rack"),
    ("ip", "iproute2", "networks without root: virtual boards on veth, ci/rack"),
    ("ethtool", "ethtool", "veth and TAP with their offloads off"),
    ("ping", "iputils-ping", "tests of virtual boards with programs that are not ours"),
    ("arping", "iputils-arping", "tests of virtual boards with programs that are not ours"),
    ("iperf", "iperf", "throughput of boards, as most published figures have it"),
    ("iperf3", "iperf3", "throughput of boards"),
    ("curl", "curl", "tests of virtual boards with programs that are not ours"),
    ("dnsmasq", "dnsmasq-base", "addresses and names for boards from a server that is not ours"),
    ("socat", "socat", "tests of virtual boards with programs that are not ours"),
    ("nc", "netcat-openbsd", "tests of virtual boards; typing to a board over TCP"),
    ("ser2net", "ser2net", "serial ports of a labgrid exporter"),
    ("tshark", "tshark", "looking into captures; tests that do"),
    ("sigrok-cli", "sigrok-cli", "decoding the SPI of a run with a decoder that is not ours"),
    ("verilator", "verilator", "the SPI front as RTL"),
    ("avr-gcc", "gcc-avr avr-libc", "agent and driver for AVR boards"),
    ("simavr", "simavr", "AVR firmware without a board"),
    ("arm-none-eabi-gcc", "gcc-arm-none-eabi libnewlib-arm-none-eabi", "agent and driver for STM32 boards"),
    ("clang++-14", "clang-14 libclang-rt-14-dev", "the fuzzers"),
    ("chromium", "chromium", "the test that opens reports in a browser"),
    ("chromedriver", "chromium-driver", "the test that opens reports in a browser"),
    ("cargo", "cargo-web rustc-web", "drivers in Rust on the chip model"),
    ("systemd-analyze", "systemd", "the test of the units for nightly runs"),
    ("postgres", "postgresql", "tests of stored runs on a server"),
)
# Where programs are that are in no ordinary user's PATH.
ASIDE = ("/usr/sbin", "/sbin", *(str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"))))
LEAST = {"verilator": (5, 6), "cargo": (1, 91)}  # the RTL front needs --timing; a crate of the tests of Rust drivers


def _programs() -> Iterator[Check]:
    places = os.pathsep.join([os.environ.get("PATH", ""), *ASIDE])
    for name, packages, needed in PROGRAMS:
        place = shutil.which(name, path=places)
        if place is None:
            yield Check("programs", name, needed, False, MISSING, "not found", apt(packages), packages)
            continue
        wrong = _too_old(place, LEAST[name]) if name in LEAST else ""
        if wrong:
            yield Check("programs", name, needed, False, WRONG, f"{place}: {wrong}", apt(packages), packages)
        else:
            yield Check("programs", name, needed, False, OK, place, package=packages)


def _too_old(program: str, least: tuple[int, ...]) -> str:
    """What is wrong with its version; empty: nothing."""
    wanted = f"expected version {'.'.join(map(str, least))} or newer"
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=DEADLINE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it does not say its version ({error}), {wanted}"
    found = re.search(r"(\d+(?:\.\d+)+)", done.stdout)
    if found is None:
        return f"it does not say its version, {wanted}"
    return "" if tuple(int(part) for part in found[1].split(".")) >= least else f"version {found[1]}, {wanted}"


def _build_packages() -> Iterator[Check]:
    """In a clone, what else ci/setup installs: headers, libraries, compilers."""
    root = _clone()
    if root is None or shutil.which("dpkg-query") is None:
        return
    listed = re.search(r"^packages=\((.*?)^\)", (root / "ci" / "setup").read_text(encoding="utf-8"), re.M | re.S)
    names = [name for line in (listed[1] if listed else "").splitlines() for name in line.partition("#")[0].split()]
    names = [name for name in names if not any(name in packages.split() for _, packages, _ in PROGRAMS)]
    form = "--showformat=${db:Status-Abbrev} ${Package}\n"
    asked = ["dpkg-query", "--show", form, *names]
    said = subprocess.run(asked, capture_output=True, text=True, timeout=DEADLINE_S).stdout.splitlines()
    lacking = [name for name in names if f"ii  {name}" not in said]
    needed = "building wizloop and its tests from this clone"
    if lacking:
        packages = " ".join(lacking)
        yield Check("programs", "build packages", needed, False, MISSING, packages, apt(packages), packages)
    else:
        yield Check("programs", "build packages", needed, False, OK, f"all {len(names)} of ci/setup")


# --- what the user may do


# A file below /proc/sys, the value with which it forbids namespaces, and the setting that allows them.
FORBIDDING = (
    ("user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
)


def _namespaces() -> Check:
    needed = "networks without root: virtual boards on veth, ci/rack (else slirp takes its place)"
    said = ""
    try:
        done = subprocess.run(["unshare", "-Urn", "true"], capture_output=True, text=True, timeout=DEADLINE_S)
        if done.returncode != 0:
            said = done.stderr.strip().removeprefix("unshare: ") or f"exit code {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if not said:
        return Check("rights", "user namespaces", needed, False, OK, "unshare -Urn works")
    cure = "in a container: start it with --security-opt seccomp=unconfined"
    for file, value, setting in FORBIDDING:
        place = Path("/proc/sys") / file
        if place.exists() and place.read_text().strip() == value:
            cure = f"sudo sysctl -w {setting}"
    return Check("rights", "user namespaces", needed, False, MISSING, said, cure)


def _tun(device: Path = Path("/dev/net/tun")) -> Check:
    needed = "virtual boards on a TAP interface (serve --net tap:IF)"
    if not device.exists():
        return Check("rights", str(device), needed, False, MISSING, "there is none", "sudo modprobe tun")
    if not os.access(device, os.R_OK | os.W_OK):
        said = "this user may not open it"
        return Check("rights", str(device), needed, False, MISSING, said, f"sudo chmod a+rw {device}")
    return Check("rights", str(device), needed, False, OK, "it can be opened")


def _ptys() -> Check:
    def look() -> str:
        ours, theirs = os.openpty()
        try:
            return f"{os.ttyname(theirs)} was free"
        finally:
            os.close(ours)
            os.close(theirs)

    needed = "consoles of virtual rack boards"
    return _tried("rights", "pseudo-terminals", needed, True, look, "sudo sysctl -w kernel.pty.max=4096")


SERIAL_GROUPS = ("dialout", "uucp")  # of Debian, of others


def _serial() -> Check:
    from serial.tools import list_ports

    needed = "boards on serial ports"
    ports = [Path(port.device) for port in list_ports.comports()]
    closed = [port for port in ports if not os.access(port, os.R_OK | os.W_OK)]
    if closed:
        said = f"this user may not open {', '.join(map(str, closed))}"
        group = _group_name(closed[0].stat().st_gid)
        return Check("rights", "serial ports", needed, False, WRONG, said, _join(group))
    if ports or os.geteuid() == 0:
        return Check("rights", "serial ports", needed, False, OK, f"{len(ports)}, all of them can be opened")
    groups = [group for group in SERIAL_GROUPS if _group_id(group) is not None]
    if not groups or any(_group_id(group) in os.getgroups() for group in groups):
        return Check("rights", "serial ports", needed, False, OK, "there is none")
    said = f"there is none, and this user is not in the group {groups[0]}"
    return Check("rights", "serial ports", needed, False, MISSING, said, _join(groups[0]))


def _group_name(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _group_id(name: str) -> int | None:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def _join(group: str) -> str:
    """Somebody who is in it by now has to log in again."""
    try:
        user = getpass.getuser()
        joined = user in grp.getgrnam(group).gr_mem
    except (KeyError, OSError):
        user, joined = str(os.geteuid()), False
    return f"log in again, or newgrp {group}" if joined else f"sudo usermod -aG {group} {user}, then log in again"


def _lock_files() -> Check:
    from wizloop.dut import locks

    needed = "keeping off serial ports that another program has locked by a file"
    folder = locks.lock_folder()
    if folder is None:
        said = f"no place that this user may write to: {', '.join(map(str, locks.PLACES))}"
        cure = f"export {locks.VARIABLE}=FOLDER, the same for all who share the ports"
        return Check("rights", "lock files", needed, False, WRONG, said, cure)
    return Check("rights", "lock files", needed, False, OK, str(folder))


# --- boards and stored runs


def _inventory(file: Path | None) -> Check:
    from wizloop.dut import inventory as inventories

    place = file or inventories.default_file()

    def look() -> str:
        loaded = inventories.load(file)
        if not loaded.boards:
            return f"no boards in {place} (`wizloop board add NAME` writes one)"
        return f"{len(loaded.boards)} boards in {place} (`wizloop board check` asks them)"

    return _tried("boards", "inventory", "boards by their names, their power and cables", False, look, f"edit {place}")


def _quarantine(file: Path | None) -> Check:
    from wizloop.dut import inventory as inventories
    from wizloop.dut import quarantine

    place = (file or inventories.default_file()).with_name(quarantine.NAME)

    def look() -> str:
        held = quarantine.load(place).entries
        return f"{len(held)} in {place}" if held else "nothing is in it"

    return _tried("boards", "quarantine", "leaving out what is known to be bad", False, look, f"edit {place}")


def _database(given: str | None) -> Check:
    from wizloop.results.database import Database, NotUpToDate, location

    def look() -> str:
        url = location(given)
        place = Path(url.database or "")
        if url.drivername == "sqlite" and not place.exists():
            parent = next(folder for folder in place.absolute().parents if folder.exists())
            if not os.access(parent, os.W_OK):
                raise InfrastructureError(f"{place} cannot be made: no right to write {parent}")
            return f"none yet; {place} can be made"
        if url.drivername == "sqlite":
            for needed in (place, place.parent):
                if not os.access(needed, os.W_OK):
                    raise InfrastructureError(f"database {place}: no right to write {needed}")
        try:
            with Database(url, writable=False, busy_deadline_s=CONNECT_DEADLINE_S) as opened:
                with opened.writing():
                    pass
                return f"{opened.name} can be written"
        except NotUpToDate as error:
            return str(error)

    cure = "--database or WIZLOOP_DATABASE: a place that can be written"
    return _tried("results", "database", "stored runs: compare, history, report", False, look, cure)


def _coordinator() -> Check:
    needed = "boards of a labgrid coordinator (labgrid:PLACE)"
    configured = os.environ.get(COORDINATOR, "")
    if not configured:
        return Check("boards", "labgrid coordinator", needed, False, OK, f"none is configured ({COORDINATOR})")

    def look() -> str:
        where = split_host_port(configured) or (configured, COORDINATOR_PORT)
        try:
            socket.create_connection(where, timeout=CONNECT_DEADLINE_S).close()
        except OSError as error:
            said = getattr(error, "strerror", None) or error
            raise InfrastructureError(f"{configured} does not answer: {said}") from error
        return f"{configured} answers"

    cure = f"start labgrid-coordinator there, or unset {COORDINATOR}"
    return _tried("boards", "labgrid coordinator", needed, False, look, cure)
