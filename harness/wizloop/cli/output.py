"""Where output goes: a console of the right width, a JSON file, a progress bar."""

from __future__ import annotations

import errno
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from wizloop.errors import InfrastructureError, UsageError

# What stops a file from being written that is no mistake in its name.
MACHINE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)

# In a pipe nothing needs to fit: a person scrolls, a program splits on spaces.
PIPE_WIDTH = 10_000
WIDTH_MIN = 40  # some pseudo-terminals say 0
SENTENCE_WIDTH_MAX = 120  # readable however wide the terminal is


def width() -> int:
    """Columns at hand: COLUMNS if set, else the terminal's, else as many as wanted."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit():
        return max(WIDTH_MIN, int(columns))
    if sys.stdout.isatty():
        return max(WIDTH_MIN, os.get_terminal_size(sys.stdout.fileno()).columns)
    return PIPE_WIDTH


def console(columns: int) -> Console:
    """Prints text as it is: no guessing of markup, emoji or numbers to colour; lines up to `columns` stay whole."""
    return Console(width=columns, highlight=False, markup=False, emoji=False)


def wrapped(sentence: str, columns: int, first: str = "", indent: int = 0) -> list[Text]:
    """A sentence in lines of at most `columns`: `first` before it, the following lines indented."""
    columns = min(columns, SENTENCE_WIDTH_MAX) if columns != PIPE_WIDTH else columns
    lines = textwrap.wrap(
        sentence, columns, initial_indent=first, subsequent_indent=" " * indent, break_on_hyphens=False
    )
    return [Text(line) for line in lines or [first.rstrip()]]


def refuse_one_file_for_two(**files: Path | None) -> None:
    """Two outputs in one file would be neither. The names are those of the options."""
    taken: dict[str, str] = {}
    for option, file in files.items():
        if file is None or (file.exists() and not file.is_file()):  # a device takes both
            continue
        place = os.path.realpath(file)
        if place in taken:
            raise UsageError(f"--{taken[place]} and --{option} name the same file {file}, expected one for each")
        taken[place] = option


def write_json(file: Path, document: Any) -> None:
    """The whole document, or an error and the file as it was."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        if file.exists() and not file.is_file():  # a pipe or a device: it has nothing to lose, and keeps its place
            file.write_text(text, encoding="utf-8", errors="replace")
        else:
            _replace(file.resolve(), text)
    except OSError as error:
        kind = InfrastructureError if error.errno in MACHINE_ERRORS else UsageError
        raise kind(f"--json: cannot write {file}: {error.strerror}") from error


def check_json(file: Path) -> None:
    """Before hours of work for a file whose folder is not there, or takes none."""
    folder = file.resolve().parent
    if file.is_dir():
        why = errno.EISDIR
    elif file.exists() and not file.is_file():  # a pipe or a device
        return
    elif not folder.is_dir():
        why = errno.ENOTDIR if folder.exists() else errno.ENOENT
    elif not os.access(folder, os.W_OK | os.X_OK):
        why = errno.EACCES
    else:
        return
    raise UsageError(f"--json: cannot write {file}: {os.strerror(why)}")


def _replace(file: Path, text: str) -> None:
    """By way of a file beside it, which takes its place once all is written."""
    beside = file.with_name(f".wizloop-{os.getpid()}.json")
    try:
        beside.write_text(text, encoding="utf-8", errors="replace")
        if file.exists():
            beside.chmod(file.stat().st_mode)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def progress(what: str) -> Iterator[tuple[Callable[[int], None], Callable[[], None]]]:
    """A bar on stderr if that is a terminal: (start with a total, one is done). The total may be unknown."""
    err = Console(stderr=True)
    # Drawn only between runs: a drawing thread could hold a lock at the moment that a run forks.
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        auto_refresh=False,
        disable=not err.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=None)

        def start(total: int) -> None:
            bar.update(task, total=total, refresh=True)

        def done() -> None:
            bar.update(task, advance=1, refresh=True)

        yield start, done
