"""Runs on the model, as figures of a results database: exact, one sample each."""

from __future__ import annotations

from wizloop.results.recording import FigureHead, FindingRow, Recorder, Sample
from wizloop.results.schema import VIRTUAL
from wizloop.simulator import Request, Run, Scenario


def record(
    recorder: Recorder, name: str, request: Request, run: Run, scenario: Scenario, unit: str | None = None
) -> None:
    """The figures of a run, or only that in one unit; a run that failed is recorded as void, with the reason."""
    found = [
        FindingRow(f.rule, f.severity, f.seen, f.count, f.announced.reason if f.announced else None)
        for f in run.findings
    ]
    left = (request.pcap_file, request.trace_file, request.transcript_file, request.wave_file)
    captures = tuple(str(file.absolute()) for file in left if file is not None)
    measured: list[tuple[str, str, float | None]]
    measured = [(f.unit, f.name, f.value) for f in run.figures if unit in (None, f.unit)]
    for of_unit, metric, value in measured or [(unit or scenario.unit, scenario.figure, None)]:
        head = FigureHead(
            name=name,
            dut=f"{'rtl' if request.front == 'rtl' else 'model'}:{run.board}",
            board=run.board,
            path=run.path,
            unit=of_unit,
            clock=VIRTUAL,
            scenario=run.scenario,
            metric=metric,
            library=run.library,
            parameters=request.parameters,
            seed=run.seed,
            fingerprint=run.fingerprint,
            budget_ps=run.budget_ps,
            captures=captures,
        )
        recorder.whole(head, Sample(value, void=run.failure), found)
