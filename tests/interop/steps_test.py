"""The steps of the READMEs for drivers in C and Arduino C++, as they stand there: files and commands, in a home folder in
which libraries of the tests' own lie where the checkouts would.

    python3 steps_test.py REPOSITORY BUILD_FOLDER

A file is the code block behind `<!-- file: ~/folder/name -->`; a command is an indented line.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY, BUILD = (Path(argument).resolve() for argument in sys.argv[1:3])
# Not below the build folder, whose path may hold a space: a user's home does not, and `$(pkg-config ...)` would part it.
HOME = Path(tempfile.mkdtemp(prefix="wizloop-home-"))
INTEROP = REPOSITORY / "tests" / "interop"
SHIMS, ARDUINO, CAPI = (REPOSITORY / name / "README.md" for name in ("drivers/shims", "drivers/shims/arduino", "sim/capi"))

FILE = re.compile(r"^<!-- file: ~/(\S+) -->\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INSTALL = "cmake --install build/release "


def command(readme, begins):
    """The indented line that begins so; each README says it once, or always in the same words."""
    (line,) = set(re.findall(rf"^    ({re.escape(begins)}.*)$", readme.read_text(), re.MULTILINE))
    return line


def run(line, folder):
    """As a user would who logs in with that home; returns what was printed."""
    environment = {**os.environ, "HOME": str(HOME), "CMAKE_GENERATOR": "Ninja"}
    for name in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH"):
        environment.pop(name, None)
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    if done.returncode != 0:
        raise AssertionError(f"{line}\n{done.stdout}")
    return done.stdout


def write_files(readme):
    written = FILE.findall(readme.read_text())
    for name, text in written:
        file = HOME / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [name for name, _ in written]


def setUpModule():
    unittest.addModuleCleanup(shutil.rmtree, HOME)
    # The build folder of the tests may have another name than the one that ci/setup makes.
    run(command(SHIMS, INSTALL).replace("build/release", f"'{BUILD}'"), REPOSITORY)


class ForIoLibrary(unittest.TestCase):
    def test_a_test_in_c_passes_and_leaves_a_capture(self):
        (HOME / "ioLibrary_Driver").mkdir()
        (HOME / "ioLibrary_Driver" / "Ethernet").symlink_to(INTEROP / "iolibrary_like")
        self.assertLessEqual({"echo_test/CMakeLists.txt", "echo_test/echo_test.c"}, set(write_files(SHIMS)))
        self.assertIn("100% tests passed, 0 tests failed out of 1", run(command(SHIMS, "cmake -B"), HOME / "echo_test"))
        self.assertTrue((HOME / "echo_test" / "build" / "echo.pcapng").stat().st_size > 1000)


class ForArduino(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        library = HOME / "Arduino" / "libraries" / "Ethernet" / "src"
        shutil.copytree(INTEROP / "arduino" / "PlainEthernet" / "src", library)
        (library / "Ethernet.h").write_text('#include "PlainEthernet.h"\n')

    def test_a_sketch_passes_and_leaves_a_capture(self):
        self.assertLessEqual({"EchoSketch/CMakeLists.txt", "EchoSketch/EchoSketch.ino"}, set(write_files(SHIMS)))
        self.assertIn("100% tests passed, 0 tests failed out of 1", run(command(SHIMS, "cmake -B"), HOME / "EchoSketch"))
        self.assertTrue((HOME / "EchoSketch" / "build" / "echo.pcapng").stat().st_size > 65536)

    def test_the_arduino_readmes_own_lines_do_the_same(self):
        write_files(SHIMS)
        self.assertEqual(write_files(ARDUINO), ["CMakeLists.txt"])
        self.assertIn("100% tests passed, 0 tests failed out of 1", run(command(SHIMS, "cmake -B"), HOME))


class ForTheCAbi(unittest.TestCase):
    def setUp(self):
        self.folder = HOME / "my_test"
        write_files(CAPI)
        shutil.copy(REPOSITORY / "sim" / "capi" / "example.c", self.folder / "my_test.c")
        (self.folder / "my_driver.c").write_text("int my_driver;\n")

    def test_one_line_of_cc_builds_a_program_that_runs(self):
        self.assertEqual(command(CAPI, INSTALL), command(SHIMS, INSTALL))
        run(command(CAPI, "cc ") + " && ./a.out", self.folder)

    def test_the_cmake_lines_build_it_too(self):
        output = run(command(SHIMS, "cmake -B"), self.folder)
        self.assertIn("100% tests passed, 0 tests failed out of 1", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
