"""The compiled programs that come with the package, beside its module: where they are, and how a verb becomes one.

    programs.become("wizloop-peer", ["sink", "--tcp", "5001"])  # does not return
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from wizloop.errors import InfrastructureError
from wizloop.simulator import module


def find(name: str) -> Path:
    program = Path(str(module().__file__)).parent / "bin" / name
    if not os.access(program, os.X_OK):
        raise InfrastructureError(f"no program {program}: run ci/setup, or pip install wizloop again")
    return program


def become(name: str, arguments: Sequence[str]) -> NoReturn:
    """Replaces this process, so that signals and the exit code are the program's own."""
    program = find(name)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [name, *arguments])
