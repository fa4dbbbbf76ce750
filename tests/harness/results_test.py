"""The results database, on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

import json
import multiprocessing
import os
import pwd
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import postgresql_server
import pytest
from sqlalchemy import create_engine, text, update
from wizloop.budget import percentages
from wizloop.errors import InfrastructureError, UsageError, WizloopError
from wizloop.results import reading, schema
from wizloop.results.database import Database, location
from wizloop.results.recording import FigureHead, FindingRow, Recorder, RunHead, Sample, begin, here

HEAD = RunHead("nightly", "c0ffee" * 6, False, "rack1", "wizloop test")
BOARD = FigureHead(
    "SEED008", "serial:/dev/board", "fast", "dma", "Mbit/s", "real", "tcp_recv", "throughput", "ethernet2"
)

forked = multiprocessing.get_context("fork")


@pytest.fixture(scope="session")
def postgresql():
    found = postgresql_server.binaries()
    if found is None:
        if os.environ.get("CI"):
            raise RuntimeError("PostgreSQL is missing: apt-get install postgresql")
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with postgresql_server.running(found) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, memory):
    """Of an empty database."""
    if request.param == "sqlite":
        yield location(str(memory / "it's results?.db"))
        return
    place = location(request.getfixturevalue("postgresql"))
    yield place
    raw(place, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")


def raw(url, *statements):
    """What another program does to the database."""
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


@pytest.fixture
def database(url):
    with Database(url) as opened:
        yield opened


@pytest.fixture
def file(memory):
    return memory / "results.db"


def values(database):
    """Of each figure, in the order of recording."""
    ids = [run.id for run in reading.runs(database)]
    return [[s.sample.value for s in figure.samples] for figure in reading.figures(database, ids)]


def test_a_run_comes_back_as_it_was_recorded(database):
    recorder = begin(database, HEAD)
    head = FigureHead(
        "SEED008", "model:fast", "fast", "dma", "Mbit/s", "virtual", "tcp_recv", "throughput", "ethernet2",
        {"read_bytes": "2048", "board.title": "Plätine 'q'"}, seed=2**64 - 1, fingerprint="0123456789abcdef", predicted=17.5,
        budget_ps={"spi_clock": 2**53 + 1, "idle": 0}, captures=("/tmp/Plätine 'q'.pcapng",),
    )  # fmt: skip
    finding = FindingRow("sclk-above-rating", "warning", "SCLK 42 MHz", 3, None)
    recorder.whole(head, Sample(19.868953421), [finding])
    (before,) = reading.runs(database)
    assert before.ended is None
    recorder.end()
    (run,) = reading.runs(database)
    assert (run.id, run.head) == (recorder.run, HEAD)
    assert run.ended is not None and run.ended >= run.started and run.started.utcoffset().total_seconds() == 0
    (figure,) = reading.figures(database, [run.id])
    assert (figure.run, figure.head, figure.findings) == (run.id, head, (finding,))
    assert [stored.sample for stored in figure.samples] == [Sample(19.868953421)]


def test_samples_of_one_figure_gather_under_it_in_their_order(database):
    recorder = begin(database, HEAD)
    figure = recorder.figure(BOARD)
    for value in (17.5, 17.25, 18.0):
        recorder.sample(figure, Sample(value, 1000, 1000))
    assert recorder.figure(BOARD) == figure
    assert Recorder(database, recorder.run).figure(BOARD) == figure
    assert values(database) == [[17.5, 17.25, 18.0]]


@pytest.mark.parametrize(
    ("sample", "void"),
    [
        (Sample(17.5, 1000, 999), "the firmware counts 1000, the peer 999"),
        (Sample(17.5, 1000, None), "only one end counted"),
        (Sample(None), "no value"),
        (Sample(float("nan")), "no value"),
        (Sample(float("inf"), 5, 5), "no value"),
        (Sample(None, void="the link went down"), "the link went down"),
        (Sample(17.5, 2**40, 2**40), ""),
    ],
)
def test_a_sample_is_void_unless_both_ends_agree(database, sample, void):
    recorder = begin(database, HEAD)
    recorder.sample(recorder.figure(BOARD), sample)
    (figure,) = reading.figures(database, [recorder.run])
    assert figure.samples[0].sample.void == void


def record_until_killed(url, counted):
    with Database(url) as database:
        recorder = begin(database, HEAD)
        figure = recorder.figure(BOARD)
        for number in range(10_000):
            recorder.sample(figure, Sample(float(number)))
            counted.send(number)


def test_a_run_that_is_killed_keeps_every_sample_that_was_recorded(url):
    Database(url).close()
    receiver, sender = forked.Pipe(duplex=False)
    process = forked.Process(target=record_until_killed, args=(url, sender))
    process.start()
    sender.close()
    last = -1
    while last < 20:
        assert receiver.poll(30)
        last = receiver.recv()
    process.kill()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    while receiver.poll():
        try:
            last = receiver.recv()
        except EOFError:
            break
    with Database(url) as database:
        (stored,) = values(database)
        assert stored[: last + 1] == [float(number) for number in range(last + 1)]
        assert len(stored) <= last + 2  # one may have been committed and not told
        assert reading.runs(database)[0].ended is None
        begin(database, HEAD).end()  # nothing is left locked


def record_some(url, run, writer, start):
    start.wait(30)
    with Database(url) as database:
        recorder = Recorder(database, run)
        figure = recorder.figure(BOARD)
        for number in range(20):
            recorder.sample(figure, Sample(100.0 * writer + number))


def test_many_workers_write_into_one_run_at_once(url):
    with Database(url) as database:
        run = begin(database, HEAD).run
    start = forked.Event()
    workers = [forked.Process(target=record_some, args=(url, run, writer, start)) for writer in range(6)]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 6
    with Database(url) as database:
        (stored,) = values(database)
    assert sorted(stored) == [100.0 * writer + number for writer in range(6) for number in range(20)]
    for writer in range(6):
        of_writer = [value for value in stored if value // 100 == writer]
        assert of_writer == sorted(of_writer)


def open_and_close(url, start, answers):
    start.wait(30)
    try:
        Database(url).close()
        answers.send("")
    except Exception as error:
        answers.send(repr(error))


def test_many_processes_may_create_the_same_database(url):
    start = forked.Event()
    receiver, sender = forked.Pipe(duplex=False)
    workers = [forked.Process(target=open_and_close, args=(url, start, sender)) for _ in range(6)]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join(60)
    assert [receiver.recv() for _ in workers if receiver.poll(30)] == [""] * 6


def test_a_reader_sees_what_is_committed_while_a_writer_is_at_work(url):
    with Database(url) as writer, Database(url, writable=False) as reader:
        recorder = begin(writer, HEAD)
        recorder.whole(BOARD, Sample(1.0))
        with writer.writing() as connection:
            connection.execute(update(schema.runs).values(label="not yet"))
            assert [run.head.label for run in reading.runs(reader)] == ["nightly"]
        assert [run.head.label for run in reading.runs(reader)] == ["not yet"]


def test_a_newer_schema_is_refused_with_both_versions(url):
    with Database(url) as database, database.writing() as connection:
        connection.execute(update(schema.version_table).values(version=schema.VERSION + 1))
    for writable in (True, False):
        with pytest.raises(
            UsageError, match=rf"version {schema.VERSION + 1}.* up to {schema.VERSION}: use a newer wizloop"
        ):
            Database(url, writable)


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_never_was_is_refused(url, version):
    with Database(url) as database, database.writing() as connection:
        connection.execute(update(schema.version_table).values(version=version))
    for writable in (True, False):
        with pytest.raises(UsageError, match=rf"version {version}, which no wizloop has written: 1 was the first"):
            Database(url, writable)


# The tables of version 1, as that version made them on PostgreSQL; SQLite takes the same words.
VERSION_1 = """
CREATE TABLE wizloop_schema (version INTEGER NOT NULL);
CREATE TABLE runs (id SERIAL PRIMARY KEY, label TEXT NOT NULL, "commit" TEXT NOT NULL, modified BOOLEAN NOT NULL, host TEXT NOT NULL,
  command TEXT NOT NULL, started TIMESTAMP WITH TIME ZONE NOT NULL, ended TIMESTAMP WITH TIME ZONE);
CREATE TABLE figures (id SERIAL PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs (id), name TEXT NOT NULL, dut TEXT NOT NULL,
  board TEXT NOT NULL, path TEXT NOT NULL, unit TEXT NOT NULL, clock TEXT NOT NULL, scenario TEXT NOT NULL, metric TEXT NOT NULL,
  library TEXT NOT NULL, parameters TEXT NOT NULL, seed TEXT NOT NULL, fingerprint TEXT NOT NULL, predicted DOUBLE PRECISION,
  UNIQUE (run_id, name, dut, path, unit));
CREATE TABLE samples (id SERIAL PRIMARY KEY, figure_id INTEGER NOT NULL REFERENCES figures (id),
  taken TIMESTAMP WITH TIME ZONE NOT NULL, value DOUBLE PRECISION, firmware_count BIGINT, peer_count BIGINT, void TEXT NOT NULL);
CREATE TABLE findings (id SERIAL PRIMARY KEY, figure_id INTEGER NOT NULL REFERENCES figures (id), rule TEXT NOT NULL,
  severity TEXT NOT NULL, seen TEXT NOT NULL, "count" BIGINT NOT NULL, announced TEXT);
INSERT INTO wizloop_schema VALUES (1);
INSERT INTO runs VALUES (1, 'old', '', false, 'rack1', '', '2026-11-01 02:00:00.000000', NULL);
INSERT INTO figures VALUES (1, 1, 'SEED008', 'serial:/dev/board', 'fast', 'dma', 'Mbit/s', 'real', '', '', '', '{}', '1', '', NULL);
INSERT INTO samples VALUES (1, 1, '2026-11-01 02:00:01.000000', 17.5, NULL, NULL, '');
"""


def test_a_database_of_the_first_version_is_brought_up_to_date(url):
    first = VERSION_1 if url.drivername != "sqlite" else VERSION_1.replace("SERIAL", "INTEGER")
    raw(url, *first.strip().rstrip(";").split(";\n"))
    with Database(url) as database:
        (figure,) = reading.figures(database, [1])
        assert figure.samples[0].sample == Sample(17.5)
        other = FigureHead(**{**vars(BOARD), "name": "other"})
        if url.drivername != "sqlite":
            raw(url, *(f"SELECT setval('{table}_id_seq', 10)" for table in ("runs", "figures", "samples")))
        Recorder(database, 1).whole(other, Sample(1.0, host_noise_pct=2.5))
        assert [f.samples[0].sample.host_noise_pct for f in reading.figures(database, [1])] == [None, 2.5]
        assert (figure.head.budget_ps, figure.head.captures) == ({}, ())


def test_an_older_schema_is_brought_up_to_date_and_keeps_its_runs(url, monkeypatch):
    with Database(url) as database:
        begin(database, HEAD).whole(BOARD, Sample(17.5))
    newer = schema.VERSION + 1
    monkeypatch.setattr(schema, "VERSION", newer)
    add = text("ALTER TABLE runs ADD COLUMN weather TEXT")
    monkeypatch.setattr(
        schema, "MIGRATIONS", {**schema.MIGRATIONS, newer - 1: lambda connection: connection.execute(add)}
    )
    with pytest.raises(UsageError, match=f"version {newer - 1}, this wizloop reads {newer}"):
        Database(url, writable=False)
    for _ in range(2):  # the second time there is nothing to do
        with Database(url) as database, database.reading() as connection:
            assert values(database) == [[17.5]]
            assert connection.execute(text("SELECT weather FROM runs")).scalar_one() is None


def test_a_migration_that_fails_leaves_the_older_schema(url, monkeypatch):
    Database(url).close()
    newer = schema.VERSION + 1

    def broken(connection):
        connection.execute(text("ALTER TABLE runs ADD COLUMN weather TEXT"))
        connection.execute(text("SELECT id FROM nowhere"))

    with monkeypatch.context() as patched:
        patched.setattr(schema, "VERSION", newer)
        patched.setattr(schema, "MIGRATIONS", {**schema.MIGRATIONS, newer - 1: broken})
        with pytest.raises(InfrastructureError, match="nowhere"):
            Database(url)
    with Database(url) as database, database.reading() as connection:
        assert schema.present_version(connection) == schema.VERSION
        with pytest.raises(InfrastructureError, match="weather"), database.reading() as again:
            again.execute(text("SELECT weather FROM runs"))


def test_tables_of_something_else_are_left_alone(url):
    raw(url, "CREATE TABLE recipes (name TEXT)")
    with pytest.raises(UsageError, match="tables of something else .recipes."):
        Database(url)


def test_runs_that_are_not_asked_for_are_not_read(database):
    for _ in range(3):
        begin(database, HEAD).whole(BOARD, Sample(1.0))
    ids = [run.id for run in reading.runs(database)]
    assert [figure.run for figure in reading.figures(database, [ids[2], ids[0]])] == [ids[2], ids[0]]
    assert reading.figures(database, []) == []


# --- where a database is


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "is empty"),
        ("mysql://root@host/db", "'mysql' is no known kind of database"),
        ("postgresql://host:port/db", "not a URL"),
        ("sqlite://", "names no file"),
    ],
)
def test_a_wrong_url_says_what_was_expected(given, message):
    with pytest.raises(UsageError, match=message):
        location(given)


def test_a_password_never_reaches_a_message(tmp_path):
    with pytest.raises(UsageError) as error:
        location("postgresql://me:secret@host:port/db")
    assert "secret" not in str(error.value)
    with pytest.raises(InfrastructureError, match=r"postgresql\+psycopg://me:\*\*\*@/db") as failed:
        Database(location(f"postgresql://me:secret@/db?host={tmp_path}"))
    assert "secret" not in str(failed.value)


def test_the_file_of_the_user_is_the_default(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert location(None).database == str(tmp_path / "wizloop" / "results.db")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert location(None).database == "/home/ada/.local/share/wizloop/results.db"


def test_a_file_may_be_given_in_three_ways(tmp_path):
    file = tmp_path / "a.db"
    for given in (str(file), f"sqlite:///{file}", os.path.relpath(file)):
        Database(location(given)).close()
        assert file.exists()
        file.unlink()


def test_a_missing_database_is_made_for_writing_alone(tmp_path):
    place = location(str(tmp_path / "new" / "results.db"))
    with pytest.raises(UsageError, match="there is no database .*results.db: record a run"):
        Database(place, writable=False)
    Database(place).close()
    assert (tmp_path / "new" / "results.db").exists()


# --- what can be wrong with a file


def test_another_kind_of_file_is_refused_and_not_changed(file):
    file.write_text("no database, but long enough to be taken for one if nobody looked at its first bytes\n" * 20)
    before = file.read_bytes()
    with pytest.raises(UsageError, match="is no SQLite database"):
        Database(location(str(file)))
    assert file.read_bytes() == before


def test_a_folder_or_a_device_is_no_database(tmp_path):
    for place in (tmp_path, "/dev/null"):
        with pytest.raises(UsageError, match="not a regular file"):
            Database(location(str(place)))


def test_a_damaged_file_is_the_machines_fault(file):
    with Database(location(str(file))) as database:
        recorder = begin(database, HEAD)
        for number in range(100):
            recorder.whole(FigureHead(**{**vars(BOARD), "name": f"F{number}"}), Sample(1.0))
    whole = bytearray(file.read_bytes())
    whole[4096:-4096] = b"\xa5" * (len(whole) - 8192)
    file.write_bytes(whole)
    with pytest.raises(InfrastructureError, match="damaged|malformed"), Database(location(str(file))) as database:
        values(database)


def test_a_locked_database_is_named_after_the_deadline(file):
    place = location(str(file))
    Database(place).close()
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(InfrastructureError, match="another process has held it for 0.02 s"):
        Database(place, busy_deadline_s=0.02)
    with Database(place, writable=False, busy_deadline_s=0.02) as database:  # readers go on
        assert reading.runs(database) == []
    holder.close()


@pytest.fixture
def shared():
    """A folder of a user who is subject to rights, as root is not; that user's numbers."""
    user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    with tempfile.TemporaryDirectory(prefix="wizloop-results-") as name:
        folder = Path(name)
        os.chown(folder, user.pw_uid, user.pw_gid)
        yield folder, user
        folder.chmod(0o755)


def as_user(user, what, *arguments):
    """What a function of this user answers: its error, if it raises one."""
    receiver, sender = forked.Pipe(duplex=False)

    def call():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        try:
            sender.send(what(*arguments))
        except WizloopError as error:
            sender.send((type(error).__name__, str(error)))

    process = forked.Process(target=call)
    process.start()
    process.join(30)
    assert receiver.poll(), "no answer"
    return receiver.recv()


def record_one(file):
    with Database(location(str(file))) as database:
        recorder = begin(database, HEAD)
        recorder.whole(BOARD, Sample(17.5))
        recorder.end()


def read_all(file):
    with Database(location(str(file)), writable=False) as database:
        return values(database)


def test_what_is_read_only_can_be_read_and_says_so_to_a_writer(shared):
    folder, user = shared
    file = folder / "results.db"
    assert as_user(user, record_one, file) is None
    file.chmod(0o444)
    assert as_user(user, read_all, file) == [[17.5]]
    kind, message = as_user(user, record_one, file)
    assert (kind, message) == ("InfrastructureError", f"database {file}: no right to write {file}")
    file.chmod(0o644)
    folder.chmod(0o555)
    assert as_user(user, read_all, file) == [[17.5]]
    kind, message = as_user(user, record_one, file)
    assert (kind, message) == ("InfrastructureError", f"database {file}: no right to write {folder}")
    kind, message = as_user(user, record_one, folder / "new" / "results.db")
    assert (kind, message) == (
        "InfrastructureError",
        f"database {folder / 'new' / 'results.db'}: Permission denied: {folder / 'new'}",
    )
    folder.chmod(0o755)
    file.chmod(0o200)
    assert as_user(user, read_all, file) == ("InfrastructureError", f"database {file}: no right to read {file}")


def record_with_room_for(size, file):
    with Database(location(str(file))) as database:
        figure = begin(database, HEAD).figure(BOARD)
        recorder = Recorder(database, 1)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        for number in range(100_000):
            recorder.sample(figure, Sample(float(number)))
    return "there was room"


def test_a_quota_is_the_machines_fault_and_keeps_what_was_recorded(shared):
    folder, user = shared
    file = folder / "results.db"
    kind, message = as_user(user, record_with_room_for, 200_000, file)
    assert (kind, message) == (
        "InfrastructureError",
        f"database {file}: the disk fails or takes no more (disk I/O error)",
    )
    (stored,) = read_all(file)
    assert len(stored) > 10
    assert stored == [float(number) for number in range(len(stored))]


def test_a_full_disk_is_the_machines_fault_and_keeps_what_was_recorded(file):
    with Database(location(str(file))) as database:
        recorder = begin(database, HEAD)
        figure = recorder.figure(BOARD)
        with database.writing() as connection:
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
            connection.execute(text(f"PRAGMA max_page_count = {pages + 1}"))
        with pytest.raises(InfrastructureError, match="results.db: the disk is full"):
            for number in range(10_000):
                recorder.sample(figure, Sample(float(number)))
        (stored,) = values(database)
    assert len(stored) > 10
    assert stored == [float(number) for number in range(len(stored))]


# --- what can be wrong with a server


def test_a_server_that_is_not_there_is_the_machines_fault(tmp_path):
    if postgresql_server.binaries() is None and not os.environ.get("CI"):
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with pytest.raises(InfrastructureError, match="database postgresql.*No such file or directory"):
        Database(location(f"postgresql://wizloop@/postgres?host={tmp_path}"))


def test_a_database_that_the_server_does_not_have_is_named(postgresql):
    with pytest.raises(InfrastructureError, match='database "nowhere" does not exist'):
        Database(location(postgresql.replace("/postgres?", "/nowhere?")))


def test_without_its_driver_a_server_cannot_be_reached(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InfrastructureError, match=r"pip install 'wizloop\[postgresql\]'"):
        Database(location("postgresql://wizloop@host/db"))


def test_a_connection_that_breaks_off_in_mid_run_is_one_line(postgresql):
    place = location(postgresql)
    with Database(place) as database:
        recorder = begin(database, HEAD)
        recorder.whole(BOARD, Sample(1.0))
        raw(
            place,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname <> ''",
        )
        with pytest.raises(InfrastructureError, match="terminating connection|closed") as error:
            recorder.whole(BOARD, Sample(2.0))
        assert "\n" not in str(error.value)
        recorder.whole(BOARD, Sample(3.0))  # the next one finds a new connection
        assert values(database) == [[1.0, 3.0]]
    raw(place, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")


# --- where a run comes from


@pytest.fixture
def repository(tmp_path, monkeypatch):
    def git(*words):
        who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"]
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    monkeypatch.chdir(tmp_path)
    git("init")
    (tmp_path / "firmware.c").write_text("int main;\n")
    git("add", ".")
    git("commit", "-m", "first")
    return git


def test_a_run_bears_the_commit_of_the_current_folder(repository, tmp_path):
    head = here("nightly")
    assert (head.label, head.commit, head.modified) == ("nightly", repository("rev-parse", "HEAD").strip(), False)
    (tmp_path / "out.json").write_text("not part of the commit")
    assert not here().modified
    (tmp_path / "firmware.c").write_text("int changed;\n")
    assert here().modified


def test_outside_of_a_repository_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert (here().commit, here().modified) == ("", False)
    monkeypatch.setenv("PATH", "")
    assert here().commit == ""


def test_a_label_is_text():
    with pytest.raises(UsageError, match="--label .* is not text"):
        here("a\nb")


# --- from the command line


def test_bench_records_each_figure_under_its_id(fake, wizloop, file):
    code, out, _ = wizloop("bench", "--record", "--label", "first", "--database", file)
    assert code == 0
    assert out.splitlines()[-1] == f"recorded: run 1 (first) in {file}"
    with Database(location(str(file)), writable=False) as database:
        (run,) = reading.runs(database)
        stored = {(f.head.name, f.head.path): f for f in reading.figures(database, [run.id])}
    assert run.ended is not None
    assert stored.keys() == {
        ("F1", "byte"), ("F2", "burst"), ("F3", "byte"), ("S1", "byte"),
        ("F2/wizloop", "byte"), ("F2/wizloop", "burst"), ("F3/wizloop", "byte"), ("F3/wizloop", "burst"),
        ("S1/wizloop", "byte"),
    }  # fmt: skip
    figure = stored["F1", "byte"]
    assert (figure.head.dut, figure.head.unit, figure.head.clock) == ("model:fast", "Mbit/s", "virtual")
    assert [f.announced for f in figure.findings] == ["the source ran it so"]


def test_what_is_recorded_is_what_json_says(fake, wizloop, file, tmp_path):
    out = tmp_path / "bench.json"
    wizloop("bench", "--record", "--database", file, "--json", out)
    document = json.loads(out.read_text())
    with Database(location(str(file)), writable=False) as database:
        stored = {(f.head.name, f.head.path): f for f in reading.figures(database, [1])}
    for row in document["figures"]:
        figure = stored[row["id"], row["path"]]
        assert figure.samples[0].sample.value == row["simulated"]
        assert figure.head.fingerprint == row["fingerprint"]
        assert percentages(figure.head.budget_ps) == row["budget_pct"]
    for row in document["same_board"]:
        for path, value in row["by_path"].items():
            assert stored[f"{row['figure']}/wizloop", path].samples[0].sample.value == value


def test_a_figure_names_the_files_that_its_run_left(fake, wizloop, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wizloop("run", "tcp_recv", "--board", "fast", "--pcap", "a.pcapng", "--record", "--database", file)
    with Database(location(str(file)), writable=False) as database:
        assert reading.figures(database, [1])[0].head.captures == (str(tmp_path / "a.pcapng"),)


def test_a_process_joins_the_run_that_it_is_told_and_does_not_end_it(fake, wizloop, file, monkeypatch):
    with Database(location(str(file))) as database:
        of_the_night = begin(database, HEAD)
        monkeypatch.setenv("WIZLOOP_RUN", str(of_the_night.run))
        for seed in ("1", "2"):
            wizloop("run", "tcp_recv", "--board", "fast", "--seed", seed, "--record", "--database", file)
        (run,) = reading.runs(database)
        assert (len(reading.figures(database, [run.id])), run.ended) == (2, None)
        of_the_night.end()
        assert reading.runs(database)[0].ended is not None


@pytest.mark.parametrize(("number", "said"), [("7", "there is no run 7"), ("last", "'last', expected the number")])
def test_a_run_to_join_that_is_not_there_is_refused(fake, wizloop, file, monkeypatch, number, said):
    monkeypatch.setenv("WIZLOOP_RUN", number)
    status, _, err = wizloop("run", "tcp_recv", "--board", "fast", "--record", "--database", file)
    assert (status, said in err) == (2, True)


def test_recording_changes_nothing_of_json(fake, wizloop, file, tmp_path):
    for name, extra in (("without", []), ("with", ["--record", "--database", file])):
        wizloop("run", "tcp_recv", "--board", "fast", "--json", tmp_path / name, *extra)
    with_, without = (json.loads((tmp_path / name).read_text()) for name in ("with", "without"))
    assert {**with_, "wall_s": 0} == {**without, "wall_s": 0}


def test_a_run_is_named_after_what_it_was_given(fake, wizloop, file):
    common = ["run", "tcp_recv", "--board", "fast", "--record", "--database", file]
    wizloop(*common)
    wizloop(*common, "--library", "wizloop", "--seed", "7", "--set", "read_bytes=100")
    with Database(location(str(file)), writable=False) as database:
        names = [figure.head.name for figure in reading.figures(database, [1, 2])]
    assert names == ["tcp_recv", "tcp_recv wizloop read_bytes=100 seed=7"]


def test_a_run_that_fails_is_recorded_as_void_and_still_ends_with_its_command(fake, wizloop, file):
    code, out, _ = wizloop("run", "tcp_recv", "--board", "fast", "--set", "fail=void", "--record", "--database", file)
    assert code == 1
    assert out.splitlines()[-1].startswith("/somewhere/bin/wizloop run tcp_recv")
    assert f"recorded: run 1 in {file}" in out.splitlines()
    with Database(location(str(file)), writable=False) as database:
        (figure,) = reading.figures(database, [1])
    assert figure.samples[0].sample == Sample(None, void="the receiver counts 3 bytes fewer")
    assert (figure.head.metric, figure.head.unit) == ("throughput", "Mbit/s")


def test_the_commands_work_on_either_kind_of_database(fake, wizloop, url):
    database = ["--database", url.render_as_string(hide_password=False).replace("+psycopg", "")]
    for label in ("before", "after"):
        code, out, _ = wizloop("bench", "--record", "--label", label, *database)
        assert code == 0
        assert f" ({label}) in " in out.splitlines()[-1]
    code, out, _ = wizloop("compare", "before", "after", *database)
    assert (code, out.splitlines()[-1]) == (0, "verdict: pass: 9 figures, none slower")
    code, out, _ = wizloop("history", "F1", *database)
    assert (code, out.splitlines()[-1].endswith("2 runs  no step")) == (0, True)


def test_the_variable_names_the_database_too(fake, wizloop, file, monkeypatch):
    monkeypatch.setenv("WIZLOOP_DATABASE", str(file))
    _, out, _ = wizloop("run", "tcp_recv", "--board", "fast", "--record")
    assert out.splitlines()[-1] == f"recorded: run 1 in {file}"


def test_a_label_without_recording_is_a_mistake(fake, wizloop):
    code, _, err = wizloop("bench", "--label", "nightly")
    assert code == 2
    assert "add --record" in err


def test_a_database_that_cannot_be_opened_is_found_before_anything_runs(fake, wizloop, tmp_path):
    code, out, err = wizloop("bench", "--record", "--database", tmp_path)
    assert (code, out) == (2, "")
    assert err == f"wizloop: database {tmp_path}: not a regular file\n"


def test_a_bench_that_measures_nothing_stores_no_run(fake, wizloop, file):
    code, _, _ = wizloop("bench", "--only", "F99", "--record", "--database", file)
    assert code == 4
    with Database(location(str(file)), writable=False) as database:
        assert reading.runs(database) == []
