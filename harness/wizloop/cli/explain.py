"""`wizloop explain`: what stands behind a name that a run prints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from wizloop.cli import output
from wizloop.errors import UsageError
from wizloop.simulator import (
    FAULT_WORDS,
    SEVERITIES,
    TRUSTS,
    ChipOption,
    FaultKind,
    Preset,
    Rule,
    bare,
    chip_options,
    fault_kinds,
    near,
    presets,
    rules,
)


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[ID]", help="A finding, an open question, a fault or chip.preset; without it, all of them."
        ),
    ] = "",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the explanation as JSON too.")] = None,
) -> None:
    """Explain a finding, an open question of the datasheet or a fault, by the name that `wizloop run` prints."""
    known = entries()
    if not name:
        lines = _names(known)
        document: dict[str, Any] = {"names": {kind: list(of_kind) for kind, of_kind in known.items()}}
    else:
        kind, entry = find(name, known)
        lines = EXPLAINERS[kind](entry)
        document = {"kind": kind, **asdict(entry)}
    console = output.console(output.PIPE_WIDTH)
    for line in lines:
        console.print(line)
    if json is not None:
        output.write_json(json, document)


def entries() -> dict[str, dict[str, Any]]:
    """Everything that can be explained: kind to name to entry."""
    return {"findings": rules(), "open questions": chip_options(), "presets": presets(), "faults": fault_kinds()}


def find(name: str, known: dict[str, dict[str, Any]]) -> tuple[str, Any]:
    """An entry by its name, or by the part of it that a person remembers: without prefix, with _ or - between words."""
    for same in (str.__eq__, lambda one, other: bare(one) == bare(other)):  # a rule and a question may share the rest
        for kind, of_kind in known.items():
            for full, entry in of_kind.items():
                if same(name, full):
                    return kind, entry
    every = [full for of_kind in known.values() for full in of_kind]
    raise UsageError(f"nothing is called '{name}'{near(name, every)}: `wizloop explain` lists all names")


def _names(known: dict[str, dict[str, Any]]) -> list[Text]:
    lines = []
    for kind, of_kind in known.items():
        lines.append(Text(f"{kind} ({len(of_kind)})", style="bold"))
        lines += [Text(f"  {name}") for name in of_kind]
    lines.append(Text("wizloop explain ID says what stands behind a name.", style="dim"))
    return lines


def _titled(title: str, aside: str, fields: dict[str, str]) -> list[Text]:
    lines = [Text.assemble((title, "bold"), f"  {aside}")]
    widest = max(len(field) for field in fields) + 4
    for field, text in fields.items():
        lines += output.wrapped(text, output.width(), f"  {field}".ljust(widest), indent=widest)
    return lines


def _rule(rule: Rule) -> list[Text]:
    section = "no section of the datasheet" if rule.section == "-" else f"W5500 datasheet {rule.section}"
    announcement = (
        f"wizloop run ... --set finding.{rule.id}=WHY, or suppress.{rule.id}=WHY to leave it out of the report too; "
        f'for all runs on a board [[announce]] with rule = "{rule.id}" and a reason, in its file; of a driver test '
        f'ANNOUNCE "{rule.id}=WHY", or announce() of its testbed'
    )
    return _titled(
        rule.id,
        f"{rule.severity}, {section}",
        {
            "what": rule.what,
            "cause": rule.cause,
            "cure": rule.cure,
            rule.severity: SEVERITIES[rule.severity],
            "accept it": announcement,
        },
    )


def _option(option: ChipOption) -> list[Text]:
    if option.kind == "latency":
        other, values = option.default + "0", f"{option.default} ns by default"
    else:
        other = next((choice for choice in option.choices if choice != option.default), option.default)
        values = ", ".join(f"{c} (default)" if c == option.default else c for c in option.choices)
    return _titled(
        option.name,
        "an assumption about the chip",
        {
            "question": option.question,
            "answers": values,
            "trust": f"{option.trust}: {TRUSTS[option.trust]}",
            "source": option.source,
            "change it": f"wizloop run ... --set {option.name}={other}",
        },
    )


def _preset(preset: Preset) -> list[Text]:
    default, other = list(preset.choices)[:2]
    fields = {f"{name}{' (default)' if name == default else ''}": text for name, text in preset.choices.items()}
    fields["change it"] = f"wizloop run ... --set {preset.name}={other}"
    return _titled(preset.name, "how strictly a run is judged", fields)


def _fault(kind: FaultKind) -> list[Text]:
    fields = {
        "what": kind.meaning,
        "strikes": kind.occasion or "once, from from= until until=",
        "when": "; ".join(f"{word} {meaning}" for word, meaning in FAULT_WORDS.items()),
    }
    for p in kind.parameters:
        fields[f"{p.name}="] = f"{p.meaning}: {p.form}; {p.default} by default"
    example = "nth=3" if kind.occasion else "from=100ms"
    fields["try it"] = f"wizloop run ... --set fault.{kind.name}={example}"
    return _titled(f"fault.{kind.name}", f"a fault of the layer {kind.layer}", fields)


EXPLAINERS = {"findings": _rule, "open questions": _option, "presets": _preset, "faults": _fault}
