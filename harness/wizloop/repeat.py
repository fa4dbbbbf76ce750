"""The command line that repeats a run, and the name of what it measures."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from wizloop import boards
from wizloop.simulator import FRONTS, Request


def command(request: Request) -> str:
    """For a shell, in the folder that the first command ran in."""
    words = [_program(), "run", request.scenario, "--board", _board(request.board_file), "--path", request.path]
    if request.library:
        words += ["--library", request.library]
    words += ["--seed", str(request.seed)]
    for key, value in request.parameters.items():
        words += ["--set", f"{key}={value}"]
    if request.pcap_file is not None:
        words += ["--pcap", str(request.pcap_file)]
    if request.trace_file is not None:
        words += ["--trace", str(request.trace_file)]
    if request.transcript_file is not None:
        words += ["--spi", str(request.transcript_file)]
    if request.wave_file is not None:
        words += ["--vcd", str(request.wave_file)]
    if request.wave_window:
        words += ["--vcd-window", request.wave_window]
    if request.front != FRONTS[0]:
        words += ["--front", request.front]
    return shlex.join(words)


def name_of(request: Request) -> str:
    """Of a single run among stored ones: its scenario, and all that it was given beyond the defaults."""
    words = [request.scenario, *([request.library] if request.library else [])]
    words += [f"{key}={value}" for key, value in sorted(request.parameters.items())]
    return " ".join(words + ([f"seed={request.seed}"] if request.seed != 1 else []))


def _board(file: Path) -> str:
    return file.stem if file.parent == boards.folder() else str(file)


def _program() -> str:
    """The program as the user can type it: its name if the shell finds it by that, else its path from here."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # deleted meanwhile
        return sys.argv[0]
    called = here / sys.argv[0]
    if called.name != "wizloop" or shutil.which("wizloop") == str(called):
        return "wizloop"
    return str(called.relative_to(here) if called.is_relative_to(here) else called)
