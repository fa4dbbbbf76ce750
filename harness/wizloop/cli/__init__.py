"""The program `wizloop`. Exit codes: 0 pass, 1 a scenario failed, 2 usage, 3 performance regressed, 4 nothing measured,
5 infrastructure, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.

An error that nobody expected is infrastructure, in one line; WIZLOOP_DEBUG=1 adds its traceback.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from wizloop.cli import surroundings

with surroundings.quiet_while_loading():
    import typer

    from wizloop.cli import (
        ab,
        bench,
        board,
        compare,
        control,
        doctor,
        explain,
        fit,
        history,
        listing,
        nightly,
        output,
        peer,
        replay,
        report,
        run,
        serve,
        test,
    )
    from wizloop.errors import InfrastructureError, WizloopError, unexpected

app = typer.Typer(
    help="Host-simulated hardware-in-the-loop tests for W5500 firmware.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("bench")(bench.bench)
app.command("list")(listing.list_all)
app.command("run")(run.run)
app.command("explain")(explain.explain)
app.command("compare")(compare.compare)
app.command("ab")(ab.ab)
app.command("history")(history.history)
app.command("nightly", context_settings=nightly.CONTEXT)(nightly.nightly)
app.command("report")(report.report)
app.command("doctor")(doctor.doctor)
app.command("fit")(fit.fit)
app.command("replay")(replay.replay)
app.command("serve", context_settings=serve.CONTEXT)(serve.serve)
app.command("control")(control.control)
app.add_typer(board.app, name="board")
app.command("test", context_settings=test.CONTEXT)(test.test)
app.command("peer", context_settings=peer.CONTEXT)(peer.peer)


def _checking_json(command: Any) -> Any:
    """With --json of it and all below it looked at before any work."""
    for below in getattr(command, "commands", {}).values():
        _checking_json(below)
    for parameter in command.params:
        if "--json" in parameter.opts:
            parameter.callback = _checked
    return command


def _checked(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
    if value is not None:
        output.check_json(Path(value))
    return value


def main(arguments: list[str] | None = None) -> None:
    """Runs the program and exits; arguments are the process's own unless given."""
    if arguments is None:
        surroundings.prepare()
    try:
        _checking_json(typer.main.get_command(app))(args=arguments, prog_name="wizloop")
    except WizloopError as error:
        surroundings.drop_what_stdout_cannot_take()
        surroundings.complain(str(error))
        sys.exit(error.exit_code)
    except Exception as error:
        surroundings.drop_what_stdout_cannot_take()
        surroundings.complain(unexpected(error))
        sys.exit(InfrastructureError.exit_code)
