"""The tables of a results database, their version, and the way from an older version to this one.

A run is one measuring session of one commit. It holds figures (what was measured: device, board, path, load, unit); a
figure holds samples, one where time is virtual and many where it is real; findings belong to the run and to a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    insert,
    inspect,
    select,
    text,
    update,
)

from wizloop.errors import UsageError

VERSION = 3

VIRTUAL, REAL = "virtual", "real"  # clocks: exact values, and samples


class Moment(TypeDecorator[datetime]):
    """UTC in both directions; SQLite itself keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData()

version_table = Table("wizloop_schema", metadata, Column("version", Integer, nullable=False))

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("label", Text, nullable=False),
    Column("commit", Text, nullable=False),  # empty: outside of any repository
    Column("modified", Boolean, nullable=False),  # the tree held changes that the commit does not
    Column("host", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("started", Moment, nullable=False),
    Column("ended", Moment),  # null: still going on, or cut short
    Index("runs_by_label", "label"),
    Index("runs_by_commit", "commit"),
)

figures = Table(
    "figures",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("name", Text, nullable=False),  # with dut, path and unit the same in all runs
    Column("dut", Text, nullable=False),
    Column("board", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("clock", Text, nullable=False),
    Column("scenario", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("library", Text, nullable=False),
    Column("parameters", Text, nullable=False),  # JSON, sorted
    Column("seed", Text, nullable=False),  # 64 bits without a sign do not fit an integer of SQL
    Column("fingerprint", Text, nullable=False),  # empty where time is real
    Column("predicted", Float),  # by the model, for a figure in real time
    Column("budget_ps", Text, nullable=False, server_default="{}"),  # JSON, by account; empty where time is real
    Column("captures", Text, nullable=False, server_default="[]"),  # JSON, the files that the run left, whole paths
    UniqueConstraint("run_id", "name", "dut", "path", "unit"),
    Index("figures_by_name", "name"),
)

samples = Table(
    "samples",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("figure_id", ForeignKey("figures.id"), nullable=False),
    Column("taken", Moment, nullable=False),
    Column("value", Float),  # null only where void
    Column("firmware_count", BigInteger),  # what each end counted
    Column("peer_count", BigInteger),
    Column("host_noise_pct", Float),  # while it was taken; null where time is virtual
    Column("void", Text, nullable=False),  # why this is no measurement; empty: it is one
    Index("samples_by_figure", "figure_id"),
)

findings = Table(
    "findings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("figure_id", ForeignKey("figures.id"), nullable=False),
    Column("rule", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("announced", Text),  # the reason; null: nobody announced it
    Index("findings_by_figure", "figure_id"),
)


def _add_host_noise(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE samples ADD COLUMN host_noise_pct DOUBLE PRECISION"))


def _add_budget_and_captures(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE figures ADD COLUMN budget_ps TEXT NOT NULL DEFAULT '{}'"))
    connection.execute(text("ALTER TABLE figures ADD COLUMN captures TEXT NOT NULL DEFAULT '[]'"))


# From each version to the next. The statements are spelled out: the tables above are those of today.
MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {1: _add_host_noise, 2: _add_budget_and_captures}

_ONE_AT_A_TIME = 0x77697A6C6F6F70  # "wizloop", the key of PostgreSQL's advisory lock


def bring_up_to_date(connection: Connection) -> None:
    """Within a transaction that writes: creates the tables, or takes older ones to this version."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ONE_AT_A_TIME})
    version = present_version(connection)
    if version is None:
        metadata.create_all(connection)
        connection.execute(insert(version_table).values(version=VERSION))
        return
    for older in range(version, VERSION):
        MIGRATIONS[older](connection)
    if version < VERSION:
        connection.execute(update(version_table).values(version=VERSION))


def present_version(connection: Connection) -> int | None:
    """None: an empty database. Refuses what is not ours, and what is newer than this program."""
    tables = inspect(connection).get_table_names()
    if version_table.name not in tables:
        if tables:
            some = ", ".join(sorted(tables)[:3])
            raise UsageError(f"it holds tables of something else ({some}), expected an empty one")
        return None
    version: int = connection.execute(select(version_table.c.version)).scalar_one()
    if version < min(MIGRATIONS):
        raise UsageError(f"its schema has version {version}, which no wizloop has written: {min(MIGRATIONS)} was the first")
    if version > VERSION:
        raise UsageError(
            f"its schema has version {version}, and this wizloop knows up to {VERSION}: use a newer wizloop"
        )
    return version
