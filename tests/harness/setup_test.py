"""ci/setup in a small clone whose tools are stubs: they log how they were called, and fail or wait where a test says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import REPOSITORY

PYTHON = r"""#!/bin/bash
[[ $* == "-c " || $* == - || $* == --version ]] || echo "python $* utf8=$PYTHONUTF8" >>"$LOG"
case $* in
  "-m venv --clear .venv")
    rm -rf .venv && mkdir -p .venv/bin .venv/lib/python3.11/site-packages/wizloop && cp "$0" .venv/bin/python ;;
  "-m pip "*--editable*) cp build/release/harness/binding/_sim.so.so .venv/lib/python3.11/site-packages/wizloop ;;
  "-m pip "*) [[ ! -e $LOG.pip-fails ]] ;;
  --version) echo Python 3.11.0 ;;
esac
"""

CMAKE = r"""#!/bin/bash
case $* in
  "--preset "*)
    echo "cmake $*" >>"$LOG"
    mkdir -p build/$2 && printf 'rule cc\n\nbuild build.ninja: RERUN_CMAKE\n  pool = console\n\n' >build/$2/build.ninja
    echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/$2/CMakeCache.txt ;;
  "--build "*)
    echo "cmake --build begins" >>"$LOG"
    readlink /proc/$$/fd/* >>"$LOG.descriptors"
    if [[ -p $LOG.wait ]]; then echo building >"$LOG.wait"; read -r <"$LOG.go"; fi
    [[ ! -e $LOG.build-fails ]] || exit 1
    mkdir -p build/release/harness/binding && cp source build/release/harness/binding/_sim.so.so
    echo "cmake --build ends" >>"$LOG" ;;
  "--install "*) cp build/release/harness/binding/_sim.so.so "$6/wizloop/" ;;
esac
"""

# As the real one, it wants to look at its rules first, if they say how they are made.
NINJA = r"""#!/bin/bash
[[ $* == "-C build/release -n -f /dev/stdin python_package" ]] || exit 2
if grep -q '^build build.ninja:'; then echo "[1/2] Re-running CMake..."; exit; fi
cmp -s source build/release/harness/binding/_sim.so.so && echo "ninja: no work to do."
"""

DPKG_QUERY = r"""#!/bin/bash
for package; do echo "ii  $package"; done
"""


APT_GET = """#!/bin/bash
echo "apt-get $*" >>"$LOG"
exit 1
"""

CARGO = r"""#!/bin/bash
echo "cargo $1" >>"$LOG"
[[ ! -e $LOG.no-cargo ]]
"""


class Clone:
    def __init__(self, place: Path) -> None:
        self.root = place / "clone é"
        self.log = place / "log"
        tools = place / "tools"
        sources = (self.root / "harness" / "wizloop", self.root / "drivers" / "shims" / "circuitpython")
        for folder in (self.root / "ci", *sources, tools):
            folder.mkdir(parents=True)
        shutil.copy(REPOSITORY / "ci" / "setup", self.root / "ci")
        (self.root / "pyproject.toml").touch()
        (self.root / "source").write_text("one\n")
        self.log.touch()
        stubs = {"python3": PYTHON, "cmake": CMAKE, "ninja": NINJA, "dpkg-query": DPKG_QUERY, "apt-get": APT_GET}
        for name, text in stubs.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        cargo = self.root / "ci" / "cargo"
        cargo.write_text(CARGO)
        cargo.chmod(0o755)
        self.environment = {"PATH": f"{tools}:{os.environ['PATH']}", "LOG": str(self.log), "LC_ALL": "C"}

    def mark(self, what: str) -> Path:
        return self.log.with_name(f"log.{what}")

    def start(self, *parts: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*prefix, str(self.root / "ci" / "setup"), *parts],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def setup(self, *parts: str, prefix: tuple[str, ...] = ()) -> tuple[int, str, str]:
        """Exit code, stdout, stderr; the log then holds this call alone."""
        self.log.write_text("")
        process = self.start(*parts, prefix=prefix)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def logged(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def clone():
    with tempfile.TemporaryDirectory(prefix="wizloop-setup-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        yield Clone(place)
        subprocess.run(["chmod", "-R", "u+w", place], check=True)


def test_it_sets_up_once_and_then_only_builds(clone):
    code, _, err = clone.setup("module")
    assert (code, err) == (0, "")
    first = clone.logged()
    assert first[0] == "python -m venv --clear .venv utf8=1"
    assert "cmake --preset release --fresh" in first
    code, _, err = clone.setup("module")
    assert (code, err) == (0, "")
    assert clone.logged() == ["cmake --build begins", "cmake --build ends"]


def test_a_second_one_waits_for_the_first(clone):
    clone.setup("module")
    for pipe in ("wait", "go"):
        os.mkfifo(clone.mark(pipe))
    clone.log.write_text("")
    first = clone.start("module")
    assert clone.mark("wait").read_text() == "building\n"
    second = clone.start("module")
    assert second.stdout.readline() == "setup: another ci/setup is at work in this clone; waiting for its end\n"
    assert clone.logged() == ["cmake --build begins"]
    clone.mark("wait").unlink()
    clone.mark("go").write_text("go\n")
    for process in (first, second):
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert clone.logged() == ["cmake --build begins", "cmake --build ends"] * 2


def test_the_lock_ends_with_it_whatever_it_left_running(clone):
    clone.setup("module")
    assert (clone.root / "build" / ".setup-lock").exists()
    assert ".setup-lock" not in clone.mark("descriptors").read_text()


def test_a_build_that_fails_says_so_with_the_code_of_the_machine(clone):
    clone.setup("module")
    clone.mark("build-fails").touch()
    code, _, err = clone.setup("module")
    assert (code, err) == (5, "setup: build/release could not be built\n")


def test_an_environment_that_works_is_kept_when_pip_fails(clone):
    clone.mark("pip-fails").touch()
    code, _, err = clone.setup("module")
    assert code == 5
    assert "is there a network?" in err
    clone.mark("pip-fails").unlink()
    code, _, err = clone.setup("module")
    assert (code, err) == (0, "")
    assert not any("venv" in line for line in clone.logged())


def test_an_environment_of_another_place_is_made_anew(clone):
    clone.setup("module")
    clone.root = clone.root.rename(clone.root.with_name("moved"))
    code, _, err = clone.setup("module")
    assert (code, err) == (0, "")
    assert "python -m venv --clear .venv utf8=1" in clone.logged()


@pytest.fixture
def rust_crate(clone):
    crate = clone.root / "drivers" / "shims" / "embedded_hal"
    crate.mkdir(parents=True)
    (crate / "Cargo.lock").write_text("one\n")
    return crate


def test_crates_are_fetched_again_only_when_others_are_locked(clone, rust_crate):
    assert clone.setup("release")[0] == 0
    assert "cargo fetch" in clone.logged()
    assert clone.setup("release")[0] == 0
    assert not any(line.startswith("cargo") for line in clone.logged())
    (rust_crate / "Cargo.lock").write_text("two\n")
    assert clone.setup("release")[0] == 0
    assert "cargo fetch" in clone.logged()


def test_the_command_wizloop_needs_no_crates(clone, rust_crate):
    assert clone.setup("module")[0] == 0
    assert not any(line.startswith("cargo") for line in clone.logged())


@pytest.mark.parametrize("ci, code", [("", 0), ("true", 5)])
def test_crates_that_cannot_be_fetched_are_an_error_in_ci_alone(clone, rust_crate, ci, code):
    clone.mark("no-cargo").touch()
    clone.environment["CI"] = ci
    got, out, err = clone.setup("release")
    assert got == code
    if code == 0:
        assert "the tests of Rust drivers are skipped" in out
    else:
        assert err.endswith("could not be fetched: is there a network?\n")


@pytest.fixture
def read_only(clone):
    """Makes the clone read-only; the words that start a program for which it is. Root may write whatever the mode says,
    so for root it takes a mount."""

    def take() -> tuple[str, ...]:
        if os.geteuid() != 0:
            subprocess.run(["chmod", "-R", "a-w", clone.root], check=True)
            return ()
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
            pytest.skip("root may not mount anything here, so nothing is read-only")
        mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
        return ("unshare", "--mount", "sh", "-c", mount, str(clone.root))

    return take


def test_a_read_only_clone_that_is_current_is_ready(clone, read_only):
    clone.setup("module")
    code, out, err = clone.setup("module", prefix=read_only())
    assert (code, out, err) == (0, "setup: this clone is read-only, and up to date\n", "")
    assert clone.logged() == []


@pytest.mark.parametrize("change", ["source", "installed", "python file", "shim", "CMake", "nothing"])
def test_a_read_only_clone_that_is_not_current_says_so(clone, read_only, change):
    if change != "nothing":
        clone.setup("module")
    if change == "source":
        (clone.root / "source").write_text("two\n")
    if change == "CMake":
        (clone.root / "harness" / "CMakeLists.txt").touch()
        os.utime(clone.root / "build" / "release" / "build.ninja", (0, 0))
    if change == "installed":
        (clone.root / ".venv/lib/python3.11/site-packages/wizloop/_sim.so.so").write_text("old\n")
    if change == "python file":
        (clone.root / "harness" / "wizloop" / "new.py").touch()
    if change == "shim":
        (clone.root / "drivers" / "shims" / "circuitpython" / "new.py").touch()
    code, out, err = clone.setup("module", prefix=read_only())
    assert (code, out) == (5, "")
    assert err == f"setup: this clone is read-only, and wizloop is not up to date in it: {clone.root}\n"


def test_a_read_only_clone_cannot_be_built_whole(clone, read_only):
    clone.setup("module")
    assert clone.setup("release", prefix=read_only())[0] == 5


@pytest.mark.parametrize("script", ["bench", "coverage", "readme-table", "setup", "test"])
def test_every_script_that_runs_python_lets_it_take_any_path(script):
    assert "\nexport PYTHONUTF8=1" in (REPOSITORY / "ci" / script).read_text()
