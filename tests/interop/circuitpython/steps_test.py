"""The steps of drivers/shims/circuitpython/README.md, as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

if not os.environ.get("CI"):
    pytest.importorskip("wizloop._sim", reason="the simulator module is not built: ci/setup builds it")
    pytest.importorskip("adafruit_wiznet5k", reason="a package of the test extra is missing: ci/setup installs it")

pytestmark = [pytest.mark.interop, pytest.mark.simulator]

README = Path(__file__).parents[3] / "drivers" / "shims" / "circuitpython" / "README.md"


def test_the_readmes_first_test_passes_and_leaves_a_capture(tmp_path):
    text = README.read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "first_test.py").write_text(program)
    (command,) = re.findall(r"^    (PYTHONPATH=\S+ \.venv/bin/python .*)$", text, re.MULTILINE)
    arguments = command.split(".venv/bin/python ")[1].split()
    run = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout
    (reading,) = re.findall(r"^    (tshark .*)$", text, re.MULTILINE)
    if shutil.which("tshark") or os.environ.get("CI"):
        listing = subprocess.run(reading.split(), cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert listing.returncode == 0, listing.stderr
        assert "DHCP ACK" in listing.stdout
        assert "[SYN, ACK]" in listing.stdout
