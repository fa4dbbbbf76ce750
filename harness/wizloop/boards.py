"""Where board files are: by name in boards/, or anywhere by their path."""

from __future__ import annotations

from pathlib import Path

from wizloop.errors import NothingMeasured, UsageError
from wizloop.simulator import Board, load_board, near


def folder() -> Path:
    """The folder of the board files: inside an installed package, or beside the sources it runs from."""
    package = Path(__file__).resolve().parent
    installed = package / "board_files"
    return installed if installed.is_dir() else package.parents[1] / "boards"


def names() -> list[str]:
    return sorted(file.stem for file in folder().glob("*.toml"))


def find(board: str) -> Path:
    """The file of a board given by name or by the path of its .toml file."""
    if not board:
        raise UsageError("the board's name is empty, expected one of " + ", ".join(names()))
    if board.endswith(".toml"):
        if not Path(board).is_file():
            raise UsageError(f"no board file {board}")
        return Path(board)
    if board not in names():
        raise NothingMeasured(
            f"unknown board '{board}'{near(board, names())}: the boards are {', '.join(names())}, "
            "or give the path of a .toml file"
        )
    return folder() / f"{board}.toml"


def load(board: str | None) -> list[Board]:
    """That board, or all boards in the order of their names."""
    return [load_board(find(name)) for name in (names() if board is None else [board])]
