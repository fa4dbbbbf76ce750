"""What a report says, as plain data: the verdict, its sentences, failures, figures with their course, findings, tests.

The verdict is a traffic light. Red: a test or a run failed or could not be run, or a figure got slower, or changed and
nobody announced it. Yellow: figures could not be judged, or not on a host as noisy as this. Green: something was judged,
and all of it is in order. Grey: nothing was.

A comparison wants boards measured in turn with their base. A nightly run measures its boards once: their trend judges
those, once it is long enough to show a step; until then they are collected, and nothing is wrong with that. What a
noisy host measured is in no trend, and a rack whose host is always noisy is told so as soon as a quiet one were judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from wizloop.bench import lower_is_better
from wizloop.budget import SHORT_NAMES, percentages
from wizloop.changepoints import LEVEL_MIN
from wizloop.compare import gate, noise
from wizloop.compare.comparison import Comparison, Kind, Row, digits, median, said_of
from wizloop.compare.sides import Key, key_of
from wizloop.errors import InfrastructureError, NothingMeasured
from wizloop.history import Moment, Series, Step
from wizloop.report.junit import FAILED, NOT_RUN, PASSED, SKIPPED, Case, Part
from wizloop.results.reading import StoredFigure, StoredRun
from wizloop.results.schema import VIRTUAL
from wizloop.simulator import PATHS

RED, YELLOW, GREEN, GREY = "red", "yellow", "green", "grey"
FRESH_RUNS = 7  # a step of a board is news for so many runs
SLOWEST_TESTS = 10
COMMIT_DIGITS = 9


@dataclass(frozen=True)
class Sentence:
    light: str
    text: str
    place: str  # the part of the page that has the rest


@dataclass(frozen=True)
class Failure:
    """A test or a measurement that failed, or the tests that could not be run on a board."""

    name: str
    where: str
    message: str
    detail: str
    time_s: float | None
    repeat: tuple[str, ...]
    captures: tuple[str, ...]
    not_run: int = 0  # tests; 0: it failed by itself


@dataclass(frozen=True)
class Figure:
    """A figure of the run, beside its base and with its course over the stored runs."""

    name: str
    dut: str
    board: str
    path: str
    unit: str
    clock: str
    value: float | None
    base: float | None
    change_pct: float | None
    state: str  # of the comparison; empty: not compared
    light: str
    why: str
    budget_pct: Mapping[str, float]  # empty where time is real
    captures: tuple[str, ...]
    series: Series | None
    by_trend: bool = False  # it is the trend that judges it
    host_noise_pct: float | None = None  # beside the samples of this run; None: it was not measured


@dataclass(frozen=True)
class Gap:
    """A measurement beside what the model predicts for it."""

    name: str
    board: str
    path: str
    unit: str
    measured: float
    predicted: float
    source: str  # who measured
    basis: str  # "fit": the model was calibrated by it
    before_pct: float | None = None  # the gap of the first run that has one

    @property
    def pct(self) -> float:
        """Of the prediction to the measurement."""
        return 100 * (self.predicted / self.measured - 1)


@dataclass(frozen=True)
class Published:
    value: float
    unit: str
    basis: str


@dataclass(frozen=True)
class Finding:
    rule: str
    severity: str
    count: int
    seen: tuple[str, ...]
    figures: tuple[str, ...]
    announced: str | None


@dataclass(frozen=True)
class Contents:
    light: str
    headline: str
    sentences: tuple[Sentence, ...]
    exit_code: int
    run: StoredRun | None
    base: str
    comparison: Comparison | None
    failures: tuple[Failure, ...]
    figures: tuple[Figure, ...]
    gaps: tuple[Gap, ...]
    findings: tuple[Finding, ...]
    parts: tuple[Part, ...]

    @property
    def tests(self) -> int:
        return sum(len(part.cases) for part in self.parts)

    @property
    def slowest(self) -> list[tuple[float, str, str]]:
        every = [(case.time_s, case.name, part.name) for part in self.parts for case in part.cases]
        return sorted(every, reverse=True)[:SLOWEST_TESTS]

    @property
    def measured(self) -> list[tuple[str, str]]:
        """What tests have measured, in words, and in which part."""
        return [(text, part.name) for part in self.parts for case in part.cases for text in case.measured]

    @property
    def skips(self) -> list[tuple[int, str]]:
        """Each reason once, the most frequent first."""
        counts: dict[str, int] = {}
        for part in self.parts:
            for case in part.cases:
                if case.state == SKIPPED:
                    counts[case.message] = counts.get(case.message, 0) + 1
        return sorted(((count, reason) for reason, count in counts.items()), key=lambda skip: (-skip[0], skip[1]))

    def to_json(self) -> dict[str, Any]:
        moments = {at.run: at for of in self.figures if of.series is not None for at in of.series.runs}
        return {
            "verdict": self.light,
            "headline": self.headline,
            "exit_code": self.exit_code,
            "sentences": [asdict(sentence) for sentence in self.sentences],
            "run": None if self.run is None else _run_json(self.run),
            "base": self.base,
            "failures": [asdict(failure) for failure in self.failures],
            "figures": [_figure_json(figure) for figure in self.figures],
            "predictions": [{**asdict(gap), "gap_pct": gap.pct} for gap in self.gaps],
            "findings": [asdict(finding) for finding in self.findings],
            "comparison": None if self.comparison is None else self.comparison.to_json(),
            "tests": [
                {
                    "part": part.name,
                    **{state: part.count(state) for state in (PASSED, FAILED, SKIPPED)},
                    "not_run": part.count(NOT_RUN),
                    "time_s": round(part.time_s, 3),
                }
                for part in self.parts
            ],
            "skipped": [{"reason": reason, "count": count} for count, reason in self.skips],
            "slowest": [{"time_s": time_s, "name": name, "part": part} for time_s, name, part in self.slowest],
            "measured": [{"figure": text, "part": part} for text, part in self.measured],
            "runs": [_moment_json(moments[run]) for run in sorted(moments)],
        }


def gather(
    run: StoredRun | None,
    measured: Sequence[StoredFigure],
    comparison: Comparison | None,
    series: Sequence[Series],
    parts: Sequence[Part],
    published: Mapping[tuple[str, str], Published],
    repeat: Callable[[StoredFigure], str],
    host_noise_pct_max: float = noise.NOISE_PCT_MAX,
) -> Contents:
    """Of a run that measured these figures, and of test results; either may be missing.

    `published` is by board and figure; `repeat` gives the command that measures a figure of the model again.
    """
    left_out = {case.left_out for part in parts for case in part.cases if case.left_out}
    figures = _figures(measured, comparison, series, left_out, host_noise_pct_max)
    failures = _failed_tests(parts) + _failed_figures(measured, repeat) + _not_run(parts)
    fresh = [
        (of, step)
        for of in figures
        if run is not None and of.series is not None
        for step in _fresh_steps(of.series, run.id)
    ]
    judged = _judged(figures, comparison, failures, fresh)
    code, light = _verdict(parts, judged)
    return Contents(
        light=light,
        headline=_headline(light, parts, judged),
        sentences=tuple(_sentences(parts, judged, run, host_noise_pct_max)),
        exit_code=code,
        run=run,
        base=comparison.base.said if comparison is not None else "",
        comparison=comparison,
        failures=tuple(failures),
        figures=tuple(figures),
        gaps=tuple(_gaps(figures, published)),
        findings=tuple(_findings(measured)),
        parts=tuple(parts),
    )


# --- verdict


@dataclass(frozen=True)
class _Judged:
    """What the verdict rests on: each figure in one of these."""

    failures: Sequence[Failure]
    fresh: Sequence[tuple[Figure, Step]]
    comparison: Comparison | None  # without the figures below
    by_trend: Sequence[Figure]
    noisy: Sequence[Figure]  # no verdict on them, as the host was too noisy
    collected: Sequence[Figure]  # no verdict on them yet
    waits: bool  # something was measured that only later runs can be judged by
    model_alone: bool  # boards were measured, and none of that was judged


def _judged(
    figures: Sequence[Figure],
    comparison: Comparison | None,
    failures: Sequence[Failure],
    fresh: Sequence[tuple[Figure, Step]],
) -> _Judged:
    by_trend = [of for of in figures if of.by_trend]
    noisy = [of for of in figures if of.state == NOISY]
    collected = [of for of in figures if of.state == COLLECTED]
    left_out = [of for of in figures if of.state == LEFT_OUT]
    elsewhere = {(of.dut, of.name, of.path, of.unit) for of in (*by_trend, *noisy, *collected, *left_out)}
    waits = bool(collected) or (comparison is None and any(of.value is not None for of in figures))
    if comparison is not None:
        rows = [row for row in comparison.rows if (row.dut, row.name, row.path, row.unit) not in elsewhere]
        comparison = replace(comparison, rows=tuple(rows))
    rows = comparison.rows if comparison is not None else ()
    of_boards = any(of.clock != VIRTUAL and of.value is not None for of in figures)
    judged = bool(by_trend) or any(row.clock != VIRTUAL and row.kind is not Kind.NEWCOMER for row in rows)
    return _Judged(failures, fresh, comparison, by_trend, noisy, collected, waits, of_boards and not judged)


def _verdict(parts: Sequence[Part], judged: _Judged) -> tuple[int, str]:
    """The exit code of the command line, and its colour."""
    rows = judged.comparison.rows if judged.comparison is not None else ()
    kind = judged.comparison.kind if judged.comparison is not None else Kind.NOT_MEASURED
    if any(not failure.not_run for failure in judged.failures):
        return Kind.FAILED.value, RED
    if judged.fresh:
        return Kind.REGRESSED.value, RED
    if kind in (Kind.REGRESSED, Kind.FAILED):
        return kind.value, RED
    if judged.failures:
        return InfrastructureError.exit_code, RED
    if judged.noisy:
        return Kind.REFUSED.value, YELLOW
    if any(row.kind is not Kind.NEWCOMER for row in rows):
        return kind.value, GREEN if kind is Kind.FINE else YELLOW
    if judged.by_trend or any(part.count(PASSED) for part in parts):
        return 0, GREEN
    return 0 if judged.waits else NothingMeasured.exit_code, GREY


def _headline(light: str, parts: Sequence[Part], judged: _Judged) -> str:
    if light == GREY:
        return "Nothing was judged yet" if judged.waits else "Nothing was judged"
    said = []
    comparison, fresh = judged.comparison, judged.fresh
    unjudged = len(judged.noisy)
    failed = sum(not failure.not_run for failure in judged.failures)
    if failed:
        said.append(counted(failed, "failure"))
    if comparison is not None:
        of_kind = {kind: sum(row.kind is kind for row in comparison.rows) for kind in Kind}
        if of_kind[Kind.REGRESSED]:
            said.append(f"{counted(of_kind[Kind.REGRESSED], 'figure')} slower")
        unannounced = sum(row.state == "better" for row in comparison.rows)
        if unannounced:
            said.append(f"{counted(unannounced, 'figure')} faster, unannounced")
        unjudged += of_kind[Kind.NOT_MEASURED]
    if unjudged:
        said.append(f"{counted(unjudged, 'figure')} not judged")
    if fresh:
        said.append(f"{counted(len({id(of) for of, _ in fresh}), 'figure')} slower of late")
    not_run = sum(failure.not_run for failure in judged.failures)
    if not_run:
        said.append(f"{counted(not_run, 'test')} not run")
    if said:
        return ", ".join(said)
    tests = sum(part.count(PASSED) for part in parts)
    good = [f"{counted(tests, 'test')} passed"] if tests else []
    if comparison is not None:
        compared = sum(row.kind is not Kind.NEWCOMER for row in comparison.rows)
        of, rest = (" of the model", "; none of the boards'") if judged.model_alone else ("", "")
        good += [f"{counted(compared, 'figure')}{of} compared, none slower{rest}"] if compared else []
    if judged.by_trend:
        good.append(f"{counted(len(judged.by_trend), 'figure')} without a step")
    return ", ".join(good)


def _sentences(
    parts: Sequence[Part], judged: _Judged, run: StoredRun | None, host_noise_pct_max: float
) -> list[Sentence]:
    """One for each regression; failures are told one by one as long as they are few."""
    told = []
    failures, comparison = [failure for failure in judged.failures if not failure.not_run], judged.comparison
    if len(failures) <= FAILURES_TOLD:
        told += [Sentence(RED, f"{failure.name} failed: {failure.message}", "failures") for failure in failures]
    else:
        of_place: dict[str, int] = {}
        for failure in failures:
            of_place[failure.where] = of_place.get(failure.where, 0) + 1
        told += [
            Sentence(RED, f"{where}: {counted(count, 'failure')}", "failures") for where, count in of_place.items()
        ]
    told += [
        Sentence(RED, f"{of.where}: {of.name}: {of.message}", "failures") for of in judged.failures if of.not_run
    ]
    if comparison is not None:
        for row in comparison.rows:
            if row.kind in (Kind.REGRESSED, Kind.FAILED) and row.state != "failed":  # that one is a failure above
                told.append(Sentence(RED, said_of(row), "figures"))
        unjudged: dict[str, list[Row]] = {}
        for row in comparison.rows:
            if row.kind is Kind.NOT_MEASURED:
                unjudged.setdefault(f"{row.state}: {row.why}" if row.why else row.state, []).append(row)
        for why, rows in unjudged.items():
            told.append(Sentence(YELLOW, f"{named(rows)} not judged, {why}", "figures"))
        exact = [row for row in comparison.rows if row.clock == VIRTUAL and row.new is not None]
        if exact and all(row.kind is Kind.NEWCOMER for row in exact):
            why = f"{comparison.base.said} has none of them"
            told.append(Sentence(YELLOW, f"{counted(len(exact), 'exact figure')} not compared: {why}", "figures"))
    if judged.noisy:
        why = _noise_said(judged.noisy, host_noise_pct_max)
        told.append(Sentence(YELLOW, f"{named(judged.noisy)} not judged, {why}", "figures"))
    told += [
        Sentence(RED, f"{of.name}, {of.path} on {of.dut}: {step_said(of, step)}{STEPPED[step.moved]}", "figures")
        for of, step in judged.fresh
    ]
    if run is not None:
        collected = _collected_said(judged.collected, run.id, host_noise_pct_max)
        told += [Sentence(GREY, said, "figures") for said in collected]
    if run is not None and run.ended is None:
        told.append(Sentence(YELLOW, f"run {run.id} has not ended: it is going on, or was cut short", "figures"))
    held = dict.fromkeys(case.quarantine for part in parts for case in part.cases if case.quarantine)
    told += [Sentence(YELLOW, said, "tests") for said in held]
    if comparison is None and run is not None:
        told.append(Sentence(GREY, f"run {run.id} has no earlier run to compare with", "figures"))
    return told


FAILURES_TOLD = 5


NAMED = 3


def named(figures: Sequence[Figure | Row]) -> str:
    """udp_rtt, dma on b1; tcp_rtt, dma on b1 and b2; tcp_xmit, dma on b1; 40 more on b1 and b2"""
    duts: dict[tuple[str, str], list[str]] = {}
    for of in figures:
        duts.setdefault((of.name, of.path), []).append(of.dut)
    told = [f"{name}, {path} on {_some(where)}" for (name, path), where in [*duts.items()][:NAMED]]
    rest = [dut for where in [*duts.values()][NAMED:] for dut in where]
    return "; ".join(told + ([f"{len(rest)} more on {_some([*dict.fromkeys(rest)])}"] if rest else []))


def _some(duts: Sequence[str]) -> str:
    """b1; b1 and b2; b1, b2, b3 and 9 more"""
    shown = duts if len(duts) <= NAMED else [*duts[:NAMED], f"{len(duts) - NAMED} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _collected_said(collected: Sequence[Figure], run: int, host_noise_pct_max: float) -> list[str]:
    """tcp_rtt, dma on b1; udp_rtt, dma on b1: 3 of 6 runs measured; judged from the 6th on"""
    alike: dict[tuple[int, bool], list[Figure]] = {}
    for of in collected:
        runs = of.series.runs if of.series is not None else ()
        alike.setdefault((len(runs), bool(runs) and runs[-1].run == run), []).append(of)
    told = []
    for (count, counts), figures in alike.items():
        aside = "" if counts else f", without this one ({_noise_said(figures, host_noise_pct_max)})"
        measured = f"{count} of {TREND_RUNS} runs measured{aside}"
        told.append(f"{named(figures)}: {measured}; judged from the {TREND_RUNS}th on")
    return told


def _noise_said(noisy: Sequence[Figure], host_noise_pct_max: float) -> str:
    """noisy host: its own noise is 31 to 45 %, above 20 %"""
    ends = sorted({f"{of.host_noise_pct:.0f}" for of in noisy if of.host_noise_pct is not None}, key=float)
    span = " to ".join(dict.fromkeys((ends[0], ends[-1])))
    return f"{NOISY}: its own noise is {span} %, above {host_noise_pct_max:g} %"


def _fresh_steps(series: Series, run: int) -> list[Step]:
    """Of a board that this run measured, that made it slower lately and that nobody wanted.

    Exact figures are compared, run by run. A board that is gone would have its last runs for ever.
    """
    if series.clock == VIRTUAL or not series.runs or series.runs[-1].run != run:
        return []
    lately = {moment.run for moment in series.runs[-FRESH_RUNS:]}
    return [step for step in series.steps if step.slower and not step.intended and step.at.run in lately]


def step_said(of: Figure, step: Step) -> str:
    """8.1 % slower since run 31 (3f2a91c04)"""
    commit = f" ({step.at.commit[:COMMIT_DIGITS]})" if step.at.commit else ""
    size = "slower" if step.slower else "faster"
    if step.before and step.after:
        ratio = step.after / step.before if lower_is_better(of.unit) else step.before / step.after
        size = f"{digits(100 * abs(ratio - 1))} % {size}"
    return f"{size} since run {step.at.run}{commit}"


# What it means that a board stepped.
STEPPED = {"code": "; the model stepped with it: code", "rack": "; the model did not step with it: rack", "": ""}


# --- failures


def _failed_tests(parts: Sequence[Part]) -> list[Failure]:
    return [
        Failure(case.name, part.name, case.message, case.detail, case.time_s, case.repeat, case.captures)
        for part in parts
        for case in part.cases
        if case.state == FAILED
    ]


def _not_run(parts: Sequence[Part]) -> list[Failure]:
    """One for each board, however many of its tests it has cost."""
    of_board: dict[str, list[Case]] = {}
    for part in parts:
        for case in part.cases:
            if case.state == NOT_RUN:
                of_board.setdefault(case.board or part.name, []).append(case)
    told = []
    for board, cases in of_board.items():
        reasons = Counter("; ".join(line.strip() for line in case.message.splitlines()) for case in cases)
        (why, _), *others = reasons.most_common()
        why += f"; and {counted(len(others), 'other reason')}" if others else ""
        detail = "\n".join(f"{case.name}: {case.message}" for case in cases)
        name = f"{counted(len(cases), 'test')} could not be run"
        captures = tuple(dict.fromkeys(file for case in cases for file in case.captures))
        told.append(Failure(name, board, why, detail, None, cases[0].repeat[:1], captures, len(cases)))
    return told


def _failed_figures(measured: Sequence[StoredFigure], repeat: Callable[[StoredFigure], str]) -> list[Failure]:
    """Runs of the model that gave no value. A board's void samples are no failure: they are not judged."""
    failures = []
    for figure in measured:
        head = figure.head
        for stored in figure.samples:
            if head.clock == VIRTUAL and stored.sample.void:
                name = f"{head.name}, {head.path} path"
                told = (stored.sample.void, "", None, (repeat(figure),), tuple(head.captures))
                failures.append(Failure(name, head.dut, *told))
    return failures


# --- figures

NOISY, COLLECTED, LEFT_OUT = "noisy host", "collected", "left out"
_LIGHTS = {Kind.REGRESSED: RED, Kind.FAILED: RED, Kind.REFUSED: YELLOW, Kind.NOT_MEASURED: YELLOW}


def _figures(
    measured: Sequence[StoredFigure],
    comparison: Comparison | None,
    series: Sequence[Series],
    left_out: Collection[str],
    host_noise_pct_max: float,
) -> list[Figure]:
    """Of the run, of its base and of earlier runs, by device and name: they were recorded as they ended."""
    heads = {key_of(figure.head): figure for figure in measured}
    rows = {(row.dut, row.name, row.path, row.unit): row for row in comparison.rows} if comparison is not None else {}
    courses: dict[Key, Series] = {(of.dut, of.name, of.path, of.unit): of for of in series}
    keys = {*heads, *rows, *courses}
    held = _held(rows, left_out)
    return [
        _figure(heads.get(k), rows.get(k), courses.get(k), k in held, host_noise_pct_max)
        for k in sorted(keys, key=_place)
    ]


def _held(rows: Mapping[Key, Row], left_out: Collection[str]) -> set[Key]:
    """Figures that are missing as their boards were left out, and the model's, which is asked about boards that measure."""

    def measured(row: Row) -> tuple[str, str, str, str]:
        return row.board, row.name, row.path, row.unit

    missing = {key: row for key, row in rows.items() if row.state == "missing"}
    of_boards = {measured(row) for row in missing.values() if row.dut in left_out}
    return {
        key
        for key, row in missing.items()
        if row.dut in left_out or (row.clock == VIRTUAL and measured(row) in of_boards)
    }


def _place(key: Key) -> tuple[str, str, int, str, str]:
    dut, name, path, unit = key
    return dut, name, PATHS.index(path) if path in PATHS else len(PATHS), path, unit


def _figure(
    figure: StoredFigure | None,
    row: Row | None,
    course: Series | None,
    left_out: bool,
    host_noise_pct_max: float,
) -> Figure:
    head: Any = figure.head if figure is not None else row if row is not None else course
    noise_pct = row.host_noise_pct if row is not None else None
    state = row.state if row is not None else "" if figure is not None else "not in this run"
    light = _LIGHTS.get(row.kind, GREEN) if row is not None else GREY
    why = row.why if row is not None else ""
    by_trend = False
    if left_out:
        state, light, why = LEFT_OUT, GREY, "its board is in quarantine"
    if figure is not None and course is not None and _not_beside_its_base(figure, state):
        noise_pct = noise.typical_pct(stored.sample.host_noise_pct for stored in figure.samples)
        noisy = noise.too_much(noise_pct, host_noise_pct_max)
        if noisy and len(course.values) + course.noisy >= TREND_RUNS:  # this one is among them
            state, light, why = NOISY, YELLOW, noisy
        elif len(course.values) >= TREND_RUNS:
            state, light, why, by_trend = "by trend", GREEN, "", True
        elif state != "not in turn":
            state, light, why = COLLECTED, GREY, noisy
    if figure is not None and course is not None and _fresh_steps(course, figure.run) and light != RED:
        state, light = "slower of late", RED
    return Figure(
        name=head.name,
        dut=head.dut,
        board=head.board,
        path=head.path,
        unit=head.unit,
        clock=head.clock,
        value=row.new if row is not None else median(figure),
        base=row.base if row is not None else None,
        change_pct=row.change_pct if row is not None else None,
        state=state,
        light=light,
        why=why,
        budget_pct=_budget(figure) if figure is not None else {},
        captures=tuple(figure.head.captures) if figure is not None else (),
        series=course,
        by_trend=by_trend,
        host_noise_pct=noise_pct,
    )


TREND_RUNS = 2 * LEVEL_MIN  # below, a trend can show no step


def _not_beside_its_base(figure: StoredFigure, state: str) -> bool:
    """Whether only its course can judge it: too few samples to compare, whatever the noise, or not measured in turn."""
    if figure.head.clock == VIRTUAL or median(figure) is None:
        return False
    few = len(figure.samples) < gate.Limits().pairs_min
    return state in ("not in turn", "too few samples") or (few and state in (NOISY, "new", ""))


def _budget(figure: StoredFigure) -> dict[str, float]:
    """Every account, though the run may be older than some."""
    budget_ps = figure.head.budget_ps
    return percentages({account: budget_ps.get(account, 0) for account in SHORT_NAMES}) if budget_ps else {}


def _gaps(figures: Sequence[Figure], published: Mapping[tuple[str, str], Published]) -> list[Gap]:
    """Of boards, whose prediction stands in their series, and of the measurements that somebody published."""
    found = []
    for figure in figures:
        if figure.value is None:
            continue
        said = published.get((figure.board, figure.name))
        of = (figure.name, figure.board, figure.path, figure.unit)
        if figure.clock != VIRTUAL and figure.series is not None and figure.series.predicted:
            predicted = figure.series.predicted[-1]
            if predicted and figure.value > 0:
                pairs = zip(figure.series.values, figure.series.predicted, strict=True)
                gaps = [100 * (model / value - 1) for value, model in pairs if model and value > 0]
                before = gaps[0] if len(gaps) > 1 else None
                found.append(Gap(*of, figure.value, predicted, figure.dut, "predicted", before))
        elif figure.clock == VIRTUAL and said is not None and said.unit == figure.unit and said.value > 0:
            found.append(Gap(*of, said.value, figure.value, "published", said.basis))
    return found


def _findings(measured: Sequence[StoredFigure]) -> list[Finding]:
    """By rule and reason, errors first, what nobody announced before the rest."""
    order = {"error": 0, "warning": 1, "note": 2}
    found: dict[tuple[str, str, str | None], dict[str, Any]] = {}
    for figure in measured:
        for row in figure.findings:
            of = found.setdefault((row.rule, row.severity, row.announced), {"count": 0, "seen": {}, "figures": {}})
            of["count"] += row.count
            of["seen"].setdefault(row.seen)
            of["figures"].setdefault(figure.head.name)
    findings = [
        Finding(rule, severity, of["count"], tuple(of["seen"]), tuple(of["figures"]), announced)
        for (rule, severity, announced), of in found.items()
    ]
    return sorted(findings, key=lambda f: (f.announced is not None, order.get(f.severity, 3), f.rule))


def _run_json(run: StoredRun) -> dict[str, Any]:
    ended = None if run.ended is None else run.ended.isoformat()
    return {"id": run.id, **asdict(run.head), "started": run.started.isoformat(), "ended": ended}


def _moment_json(at: Moment) -> dict[str, Any]:
    return {**vars(at), "started": at.started.isoformat()}


def _figure_json(figure: Figure) -> dict[str, Any]:
    document = {name: value for name, value in vars(figure).items() if name != "series"}
    document["budget_pct"] = dict(figure.budget_pct)
    document["series"] = None if figure.series is None else _series_json(figure.series)
    return document


def _series_json(series: Series) -> dict[str, Any]:
    """Runs by their number: what is known of them stands once, beside the figures."""
    return {
        "runs": [at.run for at in series.runs],
        "values": list(series.values),
        "predicted": list(series.predicted) if any(value is not None for value in series.predicted) else [],
        "void": series.void,
        "noisy": series.noisy,
        "steps": [{**vars(step), "at": step.at.run} for step in series.steps],
        "trend": None if series.trend is None else asdict(series.trend),
    }


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
