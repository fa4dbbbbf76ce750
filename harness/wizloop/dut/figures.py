"""What tests measure, on its way into the results database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

from wizloop.compare import noise
from wizloop.dut.device import Device
from wizloop.results import reading, recording, schema
from wizloop.results.database import Database, location
from wizloop.results.recording import FigureHead, FindingRow, Recorder, Sample

if TYPE_CHECKING:
    import pytest

WORKER_RUN = "wizloop_run"  # what the workers of a session are told by their controller


class Figures:
    """Figures of a session. The stored run begins with the first of them, so that none is empty."""

    def __init__(
        self,
        database: Database | None,
        label: str,
        run: int | None = None,
        host_noise_pct: Callable[[], float] = noise.measure_pct,
    ) -> None:
        self._database = database
        self._label = label
        self._host_noise_pct = host_noise_pct
        self._own = run is None
        self._recorder = None if database is None or run is None else Recorder(database, run)

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        label = config.getoption("run_label")
        if not config.getoption("record_figures"):
            return cls(None, label)
        return cls(
            Database(location(config.getoption("database"))), label, getattr(config, "workerinput", {}).get(WORKER_RUN)
        )

    def begin(self) -> int | None:
        """The number of the stored run, which begins now at the latest; None: nothing is stored."""
        if self._recorder is None and self._database is not None:
            self._recorder = recording.begin(self._database, recording.here(self._label))
        return None if self._recorder is None else self._recorder.run

    def add(
        self,
        dut: Device,
        address: str,
        name: str,
        value: float,
        unit: str,
        *,
        path: str,
        scenario: str = "",
        metric: str = "throughput",
        firmware_count: int | None = None,
        peer_count: int | None = None,
        void: str = "",
        parameters: Mapping[str, object] | None = None,
    ) -> None:
        """Call it as soon as the value is known: where time is real, the noise of this machine is measured beside it."""
        self.begin()
        if self._recorder is None:
            return
        head = FigureHead(
            name=name,
            dut=address,
            board=dut.board,
            path=path,
            unit=unit,
            clock=schema.VIRTUAL if dut.virtual else schema.REAL,
            scenario=scenario or name,
            metric=metric,
            library="agent",
            parameters={key: str(of) for key, of in (parameters or {}).items()},
            predicted=None if dut.virtual else self._predicted(name, dut.board, path, unit),
            fingerprint=dut.chip.fingerprint if dut.chip is not None else "",
        )
        disturbed = None if dut.virtual else self._host_noise_pct()
        sample = Sample(value, firmware_count, peer_count, void, disturbed)
        self._recorder.whole(head, sample, _findings(dut))

    def _predicted(self, name: str, board: str, path: str, unit: str) -> float | None:
        """The model's figure for the board file of the name that the firmware gives."""
        return None if self._database is None else reading.latest_on_model(self._database, name, board, path, unit)

    def end(self) -> None:
        """The controller's, or that of the only process."""
        if self._recorder is not None and self._own:
            self._recorder.end()
        if self._database is not None:
            self._database.close()


def _findings(dut: Device) -> list[FindingRow]:
    if dut.chip is None:
        return []
    return [FindingRow(f.rule, f.severity, f.seen, f.count, f.announced) for f in dut.chip.findings]
