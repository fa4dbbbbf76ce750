"""`wizloop control`: power, reset and cable of a board that `wizloop serve` serves."""

from __future__ import annotations

import json as json_text
import os
import socket
from pathlib import Path
from typing import Annotated

import typer

from wizloop.cli import output
from wizloop.errors import InfrastructureError, NothingMeasured, UsageError
from wizloop.host_port import split_host_port

PATIENCE_S = 10.0
# What the port answers, `err WORD ...`, in this program's exit codes; any other word means that it could not be done.
EXIT_CODES = {
    "ok": 0,
    **dict.fromkeys(("unknown", "syntax", "too-long"), UsageError.exit_code),
    "no-board": NothingMeasured.exit_code,
}


def control(
    where: Annotated[str, typer.Argument(help="HOST:PORT of its control port, or the file that `serve --json` wrote.")],
    command: Annotated[list[str], typer.Argument(help="off, on, reset, unplug, replug, release, status, list or help.")],
    token_file: Annotated[Path | None, typer.Option(help="The token; or set WIZLOOP_TOKEN.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answer as JSON too.")] = None,
) -> None:
    """Switch a served board: `wizloop control 127.0.0.1:7000 off [BOARD]`. Prints the answer.

    Exit code 2: it does not know this command; 4: it has no such board; 5: it could not be done.
    """
    asked = " ".join(command)
    answer = ask(*address(where), asked, token(token_file))
    print(answer)
    code = exit_code(answer)
    if json is not None:
        fields = dict(word.split("=", 1) for word in answer.split() if code == 0 and "=" in word)
        output.write_json(json, {"command": asked, "answer": answer, "fields": fields, "exit_code": code})
    raise typer.Exit(code)


def exit_code(answer: str) -> int:
    word = answer.removeprefix("err ").partition(" ")[0]
    return EXIT_CODES.get(word, InfrastructureError.exit_code)


def address(where: str) -> tuple[str, int]:
    if Path(where).is_file():
        try:
            where = json_text.loads(Path(where).read_text())["control"]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{where} names no control port: was `wizloop serve` given --control?") from error
    host, port = split_host_port(where) or ("", 0)
    if port == 0:
        raise UsageError(f"'{where}' is no control port, expected HOST:PORT or the file that `wizloop serve --json` wrote")
    return host or "127.0.0.1", port


def token(file: Path | None) -> str | None:
    """Never from the command line, which every user of the machine can see."""
    return os.environ.get("WIZLOOP_TOKEN") if file is None else file.read_text().strip()


def ask(host: str, port: int, line: str, secret: str | None) -> str:
    try:
        with socket.create_connection((host, port), timeout=PATIENCE_S) as connection:
            if secret is not None:
                connection.sendall(f"token {secret}\n".encode())
            connection.sendall(f"{line}\n".encode())
            with connection.makefile("r", encoding="utf-8", errors="replace") as answers:
                answer = answers.readline()
    except OSError as error:
        raise InfrastructureError(f"control port {host}:{port}: {error.strerror or error}") from error
    if not answer.endswith("\n"):
        raise InfrastructureError(f"control port {host}:{port} hung up without an answer")
    return answer.strip()
