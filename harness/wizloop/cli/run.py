"""`wizloop run`: one scenario, once, in full detail."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from wizloop import boards
from wizloop.bench import findings_json
from wizloop.budget import percentages
from wizloop.cli import output, recording
from wizloop.errors import UsageError
from wizloop.repeat import command, name_of
from wizloop.simulator import (
    ANNOUNCERS,
    FRONTS,
    SEVERITIES,
    TRUSTS,
    Assumption,
    Request,
    Run,
    catalogue,
    check,
    check_front,
    load_board,
)
from wizloop.workers import run_all

KINDS_SHOWN = 3  # of one broken rule; the rest says little more
LATENCY, NANOSECONDS = "chip.latency.", "_ns"  # before and behind its name


def run(
    scenario: Annotated[str, typer.Argument(help="Its name, of `wizloop list`.")],
    board: Annotated[str, typer.Option(help="A board's name or the path of its .toml file.")],
    path: Annotated[str, typer.Option(help="How bytes move: byte, burst or dma.")] = "byte",
    library: Annotated[str, typer.Option(help="Access pattern; default: the board's; wizloop: our driver.")] = "",
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="Of all random streams.")] = 1,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A parameter, or board.KEY, chip.KEY, link.partner, fault.NAME, finding.ID, suppress.ID; repeatable.",
        ),
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result as JSON too.")] = None,
    pcap: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the frames on the wire (pcapng).")] = None,
    trace: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the events as text.")] = None,
    spi: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the SPI transcript for `replay`.")] = None,
    vcd: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the chip's pins as a waveform: VCD, or FILE.fst.")] = None,
    vcd_window: Annotated[
        str, typer.Option(metavar="FROM..TO", help="Only that part of the run, such as 2ms..3500us or ..1s.")
    ] = "",
    front: Annotated[str, typer.Option(help="The chip's SPI front: cpp, rtl, or both in lock-step.")] = FRONTS[0],
    record: recording.RecordOption = False,
    label: recording.LabelOption = None,
    database: recording.DatabaseOption = None,
) -> None:
    """Run one scenario and show its figures, time budget, findings and fingerprint.

    With --front both, the first mismatch of the two fronts ends it, and SCENARIO-BOARD-PATH-SEED-mismatch.fst shows the
    pins around it.

    If it fails, the last line is the command that repeats it. A run that is interrupted leaves behind what it has
    written to --pcap, --trace, --spi and --vcd up to then. A waveform ends after 10 million changes, about 400,000 SPI
    bytes or 150 MB, and the run says where: --vcd-window picks another part.
    """
    output.refuse_one_file_for_two(pcap=pcap, trace=trace, spi=spi, vcd=vcd, json=json)
    if vcd_window and vcd is None:
        raise UsageError("--vcd-window picks a part of a waveform: add --vcd FILE")
    loaded = load_board(boards.find(board))
    settings = parse_settings(set_ or [])
    request = Request(scenario, loaded.file, path, library, seed, settings, pcap, trace, spi, vcd, vcd_window, front)
    check(request, loaded)
    check_front(front)
    with recording.store(record, label, database) as store:
        (result,) = run_all([request])
        store.host_figures(name_of(request), request, result, catalogue()[scenario])
        console = output.console(output.PIPE_WIDTH)
        sclk_hz = int(request.parameters.get("board.sclk_hz", loaded.sclk_hz))
        for line in report(result, sclk_hz):
            console.print(line)
        if front != FRONTS[0] and not result.failure:
            console.print("SPI front rtl" if front == "rtl" else "SPI fronts cpp and rtl: no difference")
        store.end()
    if json is not None:
        output.write_json(json, to_json(result, sclk_hz))
    if result.failure:
        console.print(Text(f"failed: {result.failure}", style="red"))
        console.print(command(request))
        raise typer.Exit(1)


def parse_settings(settings: list[str]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise UsageError(f"--set wants KEY=VALUE, got '{setting}'")
        if key in parsed:
            raise UsageError(f"--set gives {key} twice: {parsed[key]} and {value}")
        parsed[key] = value
    return parsed


def spi_efficiency_pct(run: Run) -> float | None:
    """Payload of a stream to all bytes that crossed SPI for it; None: it is no stream."""
    payload = run.parameters.get("total_bytes")
    return 100 * int(payload) / run.spi_bytes if payload and run.spi_bytes else None


def bytes_per_send(run: Run) -> float | None:
    """None: nothing was sent by a socket."""
    return run.send_bytes / run.sends if run.sends else None


def rx_bytes_unused(run: Run) -> int:
    """The library kept them to itself: headers of datagrams or frames, and what it skipped by reading it."""
    return run.rx_bytes_read - run.rx_bytes_taken


def report(run: Run, sclk_hz: int) -> list[Text]:
    efficiency = spi_efficiency_pct(run)
    lines = [
        Text.assemble((run.scenario, "bold"), f" on {run.board}, {run.path} path, {run.library}, seed {run.seed}"),
        Text("  " + " ".join(f"{key}={value}" for key, value in run.parameters.items()), style="dim"),
        *(Text(f"{figure.name:<18} {figure.value:>14.6g} {figure.unit}") for figure in run.figures),
        Text(f"{'virtual time':<18} {run.virtual_ps / 1e12:>14.6f} s, {run.measured_ps / 1e12:.6f} s of it measured"),
        Text(f"{'SCLK':<18} {sclk_hz / 1e6:>14.6g} MHz"),
        Text(
            f"{'SPI bytes':<18} {run.spi_bytes:>14}" + (f", {efficiency:.1f} % of them payload" if efficiency else "")
        ),
        *_buffers(run),
        Text(f"{'frames on wire':<18} {run.frames_on_wire:>14}"),
        Text(f"{'supply current':<18} {run.supply_current_ma:>14.4g} mA"),
        Text("budget"),
    ]
    for account, share in percentages(run.budget_ps).items():
        lines.append(Text(f"  {account:<16} {run.budget_ps[account] / 1e6:>14.3f} us {share:>6.1f} %"))
    lines.append(Text(f"  {'sum':<16} {sum(run.budget_ps.values()) / 1e6:>14.3f} us"))

    lines += _findings(run)
    lines += _faults(run)
    lines += _assumptions(run)
    if run.wave_cut_ps is not None:
        said = f"waveform cut off at {run.wave_cut_ps / 1e12:.9f} s by its limit: --vcd-window picks another part"
        lines.append(Text(said, style="yellow"))
    lines.append(Text(f"fingerprint {run.fingerprint}"))
    return lines


def _findings(run: Run) -> list[Text]:
    """By rule, what fails the run first, then by severity; each with what a person needs to find the line of code."""
    order = list(SEVERITIES)
    by_rule: dict[str, list[dict[str, Any]]] = {}
    suppressed: Counter[str] = Counter()
    for finding in findings_json(run):
        if finding["suppressed"] and finding["rule"] not in run.unannounced:
            suppressed[finding["rule"]] += finding["count"]
        else:
            by_rule.setdefault(finding["rule"], []).append(finding)
    counts = Counter(of_rule[0]["severity"] for of_rule in by_rule.values())
    shown = ", ".join(_count(counts[severity], severity) for severity in order if counts[severity])
    hidden = "".join(f"; {rule} suppressed, {_count(count, 'time')}" for rule, count in suppressed.items())
    lines = [Text(f"findings: {shown or 'none'}{hidden}")]
    for of_rule in sorted(
        by_rule.values(), key=lambda f: (f[0]["rule"] not in run.unannounced, order.index(f[0]["severity"]))
    ):
        lines += _finding(of_rule, fails=of_rule[0]["rule"] in run.unannounced)
    return lines


def _finding(of_rule: list[dict[str, Any]], fails: bool) -> list[Text]:
    first = of_rule[0]
    section = "" if first["section"] == "-" else f" (W5500 datasheet {first['section']})"
    lines = [Text.assemble((f"  {first['severity']} {first['rule']}", "bold red" if fails else "bold"), section)]
    rows = [("rule", first["what"])]
    for finding in of_rule[:KINDS_SHOWN]:
        times = "once, at" if finding["count"] == 1 else f"{finding['count']} times, first at"
        rows.append(("seen", f"{finding['seen']}; {times} {finding['at_s']:.9f} s"))
        rows += [("SPI bytes", finding["spi"]), ("state", finding["socket_state"])]
    if len(of_rule) > KINDS_SHOWN:
        rows.append(("", f"and {len(of_rule) - KINDS_SHOWN} more kinds, all in --json"))
    if first["announced"] is not None:
        rows.append(("announced", f"{first['announced']} ({ANNOUNCERS[first['announced_by']]})"))
    else:
        rows += [("cause", first["cause"]), ("cure", first["cure"])]
    for row, text in rows:
        if text:
            lines += output.wrapped(text, output.width(), f"    {row:<11}", indent=15)
    return lines


def _buffers(run: Run) -> list[Text]:
    """What the chip's memories saw, of a run that used them."""
    lines = []
    if (each := bytes_per_send(run)) is not None:
        lines.append(Text(f"{'bytes per SEND':<18} {each:>14.6g}, {_count(run.sends, 'SEND')}"))
    if run.rx_bytes_read:
        unused = f"{rx_bytes_unused(run)} of them not handed to the program"
        lines.append(Text(f"{'RX bytes read':<18} {run.rx_bytes_read:>14}, {unused}"))
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _faults(run: Run) -> list[Text]:
    if not run.faults:
        return []
    lines = [Text("faults")]
    for fault in run.faults:
        asked = run.parameters.get(f"fault.{fault.name}", "")
        struck = (
            f"struck {_count(fault.struck, 'time')}"
            if fault.struck
            else "never struck, so this run says nothing about it"
        )
        lines.append(Text(f"  {fault.name} {asked}: {struck}", style="" if fault.struck else "yellow"))
    return lines


def _assumptions(run: Run) -> list[Text]:
    """What the figures rest on where the datasheet is silent, the weakest last.

    Each on a line of its own, but for latencies: a run touches most of them, so those that it was not given share one.
    """
    if not run.assumptions:
        return [Text("assumptions: none")]
    of_trust: dict[str, list[Assumption]] = {trust: [] for trust in TRUSTS}
    for assumption in run.assumptions:
        of_trust[assumption.trust].append(assumption)
    counts = {trust: len(touched) for trust, touched in of_trust.items() if touched}
    lines = [Text("assumptions: " + ", ".join(f"{count} {trust}" for trust, count in counts.items()))]
    alone = [a for a in run.assumptions if not a.name.startswith(LATENCY) or a.name in run.parameters]
    longest = max((len(f"{a.name}={a.choice}") for a in alone), default=0)
    for trust, touched in of_trust.items():
        lines += [Text(f"  {f'{a.name}={a.choice}':<{longest}}  {trust}") for a in touched if a in alone]
        latencies = ", ".join(
            f"{a.name.removeprefix(LATENCY).removesuffix(NANOSECONDS)}={a.choice}" for a in touched if a not in alone
        )
        if latencies:
            lines += output.wrapped(latencies, output.width(), f"  {LATENCY}*{NANOSECONDS}, {trust}: ", indent=4)
    return lines


def to_json(run: Run, sclk_hz: int) -> dict[str, Any]:
    return {
        "scenario": run.scenario,
        "board": run.board,
        "path": run.path,
        "library": run.library,
        "seed": run.seed,
        "parameters": run.parameters,
        "figures": [{"name": f.name, "value": f.value, "unit": f.unit} for f in run.figures],
        "budget_ns": {account: share / 1000 for account, share in run.budget_ps.items()},  # exact: three decimals
        "measured_ns": run.measured_ps / 1000,
        "findings": findings_json(run),
        "unannounced": list(run.unannounced),
        "assumptions": [asdict(assumption) for assumption in run.assumptions],
        "faults": [asdict(fault) for fault in run.faults],
        "fingerprint": run.fingerprint,
        "virtual_s": run.virtual_ps / 1e12,
        "wall_s": run.wall_s,
        "sclk_hz": sclk_hz,
        "spi_bytes": run.spi_bytes,
        "spi_efficiency_pct": spi_efficiency_pct(run),
        "frames_on_wire": run.frames_on_wire,
        "sends": run.sends,
        "bytes_per_send": bytes_per_send(run),
        "rx_bytes_read": run.rx_bytes_read,
        "rx_bytes_unused": rx_bytes_unused(run),
        "supply_current_ma": run.supply_current_ma,
        "wave_cut_s": None if run.wave_cut_ps is None else run.wave_cut_ps / 1e12,
        "failure": run.failure,
    }
