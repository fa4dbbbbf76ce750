"""Opening a results database: SQLite by default, PostgreSQL by URL, and every way in which that fails.

SQLite runs in WAL mode, so that readers and a writer do not stop each other; writers take turns, each for at most
BUSY_DEADLINE_S. A commit is on the disk when it returns.
"""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from wizloop.errors import InfrastructureError, UsageError, WizloopError
from wizloop.results import schema

BUSY_DEADLINE_S = 30.0
CONNECT_DEADLINE_S = 10

_SCHEMES = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


def location(given: str | None) -> URL:
    """Of a file, a sqlite: or postgresql: URL; without one, of the user's own file."""
    if given is None:
        try:
            data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        except RuntimeError as error:
            raise InfrastructureError("this user has no home folder: say with --database where runs are") from error
        return URL.create("sqlite", database=str(Path(data) / "wizloop" / "results.db"))
    if not given:
        raise UsageError("--database is empty, expected a file or a URL")
    scheme, colon, _ = given.partition("://")
    if not colon:
        return URL.create("sqlite", database=given)
    if scheme not in _SCHEMES:
        raise UsageError(
            f"--database: '{scheme}' is no known kind of database, expected a file, sqlite:///FILE or "
            "postgresql://USER@HOST/NAME"
        )
    try:
        url = make_url(given).set(drivername=_SCHEMES[scheme])
    except (ArgumentError, ValueError) as error:
        raise UsageError(f"--database: not a URL: {_first_line(error)}") from None  # with no word of its password
    if url.drivername == "sqlite" and not url.database:
        raise UsageError("--database names no file, expected sqlite:///FILE")
    return url


class NotUpToDate(UsageError):
    """It holds no runs, or those of an older wizloop; the next that records brings it up to date."""


class Database:
    """A results database of one process. `writable` makes it where there is none, and brings an older one up to date."""

    def __init__(self, url: URL, writable: bool = True, busy_deadline_s: float = BUSY_DEADLINE_S) -> None:
        self.url = url
        self._busy_deadline_s = busy_deadline_s
        sqlite = url.drivername == "sqlite"
        if sqlite:
            _check_file(self.place, writable)
        with self._named():
            self._engine = self._sqlite(writable) if sqlite else self._postgresql()
        try:
            with self.writing() if writable else self.reading() as connection:
                if writable:
                    schema.bring_up_to_date(connection)
                else:
                    _refuse_older(schema.present_version(connection))
        except UsageError as error:
            self.close()
            raise type(error)(f"{self.name}: {error}") from None
        except BaseException:
            self.close()
            raise

    @property
    def place(self) -> Path:
        return Path(self.url.database or "")

    @property
    def name(self) -> str:
        """For people: the file, or the URL without its password."""
        return str(self.place) if self.url.drivername == "sqlite" else self.url.render_as_string(hide_password=True)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that holds the right to write from its start, and is committed at its end."""
        with self._named(), self._engine.connect() as connection:
            connection = connection.execution_options(wizloop_begin="BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._named(), self._engine.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sqlite(self, writable: bool) -> Engine:
        changeable = os.access(self.place.parent, os.W_OK) and (writable or os.access(self.place, os.W_OK))
        uri = f"file:{quote(str(self.place.absolute()))}?mode={'rwc' if writable else 'rw' if changeable else 'ro'}"
        waiting = self.place.with_name(self.place.name + "-wal")
        if not changeable and not (waiting.exists() and waiting.stat().st_size):
            uri += "&immutable=1"  # where nothing can be written WAL has no place for its index, and needs none

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(
                uri, uri=True, timeout=self._busy_deadline_s, isolation_level=None, check_same_thread=False
            )
            try:
                if writable:
                    _use_wal(connection, self._busy_deadline_s)
                    connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA foreign_keys = ON")
            except BaseException:
                connection.close()
                raise
            return connection

        engine = create_engine("sqlite://", creator=connect, pool_size=1, max_overflow=4, poolclass=QueuePool)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:  # the driver itself would begin at the first write
            connection.exec_driver_sql(connection.get_execution_options().get("wizloop_begin", "BEGIN"))

        return engine

    def _postgresql(self) -> Engine:
        if importlib.util.find_spec("psycopg") is None:
            raise InfrastructureError("PostgreSQL needs the Python package psycopg: pip install 'wizloop[postgresql]'")
        return create_engine(self.url, connect_args={"connect_timeout": CONNECT_DEADLINE_S}, pool_size=1)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """What goes wrong inside says of which database, in one line, and whose fault it is."""
        try:
            yield
        except WizloopError:
            raise
        except (SQLAlchemyError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            raise self._explained(cause) from error

    def _explained(self, cause: BaseException) -> WizloopError:
        said = _first_line(cause)
        if self.url.drivername != "sqlite":
            return InfrastructureError(f"database {self.name}: {said}")
        if "file is not a database" in said:
            return UsageError(f"{self.name} is no SQLite database")
        what = {
            "locked": f"another process has held it for {self._busy_deadline_s:g} s",
            "readonly": "it is read-only",
            "full": "the disk is full",
            "disk I/O error": "the disk fails or takes no more",
            "malformed": "the file is damaged; `sqlite3 FILE .recover` saves what can be saved",
        }
        found = next((f"{meaning} ({said})" for word, meaning in what.items() if word in said), said)
        return InfrastructureError(f"database {self.name}: {found}")


def _use_wal(connection: sqlite3.Connection, deadline_s: float) -> None:
    """Only one process can bring a new file into this mode, and SQLite sends the others away at once, whatever their
    timeout: they would wait for each other. So they come again."""
    deadline = time.monotonic() + deadline_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
        time.sleep(0.01)


def _refuse_older(version: int | None) -> None:
    if version is None:
        raise NotUpToDate("it holds no runs: record some with --record")
    if version < schema.VERSION:
        raise NotUpToDate(
            f"its schema has version {version}, this wizloop reads {schema.VERSION}: recording a run brings it up to date"
        )


def _check_file(file: Path, writable: bool) -> None:
    """SQLite says the same of all of these: unable to open database file."""
    try:
        found = file.stat() if file.exists() else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise UsageError(f"database {file}: not a regular file")
        if found is None and not writable:
            raise UsageError(f"there is no database {file}: record a run with --record first")
        if found is None:
            file.parent.mkdir(parents=True, exist_ok=True)
        needed = [("read", os.R_OK, file), ("write", os.W_OK, file)] if found else []
        for word, right, of in [*needed, ("write", os.W_OK, file.parent)]:
            if (word == "read" or writable) and not os.access(of, right):
                raise InfrastructureError(f"database {file}: no right to {word} {of}")
    except OSError as error:
        raise InfrastructureError(f"database {file}: {error.strerror}: {error.filename}") from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
