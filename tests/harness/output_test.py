"""What --json leaves behind, above all where it fails."""

import json
import os
import resource
from contextlib import contextmanager

import pytest
import typer
from wizloop.cli import app


@pytest.mark.parametrize("options", [("--pcap", "--trace"), ("--pcap", "--json"), ("--trace", "--json")])
def test_two_outputs_in_one_file_are_refused(fake, wizloop, place, options):
    (place / "link").symlink_to(place / "out")
    first, second = options
    code, _, err = wizloop(
        "run", "tcp_recv", "--board", "fast", first, place / "out", second, place / ".." / "place" / "link"
    )
    assert code == 2
    assert f"{first} and {second} name the same file" in err
    assert os.listdir(place) == ["link"]


def test_one_device_takes_two_outputs(fake, wizloop):
    code, _, _ = wizloop("run", "tcp_recv", "--board", "fast", "--trace", "/dev/zero", "--json", "/dev/zero")
    assert code == 0


@contextmanager
def full_disk():
    """A limit on the size of files stands in for it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(fake, wizloop, place):
    out = place / "out.json"
    out.write_text("the old one, longer than the limit\n")
    with full_disk():
        code, _, err = wizloop("list", "--json", out)
    assert code == 5
    assert err == f"wizloop: --json: cannot write {out}: File too large\n"
    assert out.read_text() == "the old one, longer than the limit\n"
    assert os.listdir(place) == ["out.json"]


def test_a_full_device_is_the_machines_fault(fake, wizloop):
    code, _, err = wizloop("list", "--json", "/dev/full")
    assert (code, err) == (5, "wizloop: --json: cannot write /dev/full: No space left on device\n")


@pytest.mark.parametrize("name", ["no/such/folder.json", ".", "taken/x.json"])
def test_a_file_that_cannot_be_is_a_usage_error(fake, wizloop, place, name):
    (place / "taken").touch()
    code, _, err = wizloop("list", "--json", place / name)
    assert code == 2
    assert f"--json: cannot write {place / name}" in err
    assert os.listdir(place) == ["taken"]


def test_a_file_that_cannot_be_is_found_before_any_work(fake, wizloop, place):
    for words in (["bench"], ["nightly"], ["test"], ["ab", "b1"], ["board", "list"], ["board", "release", "b1"]):
        code, out, err = wizloop(*words, "--json", place / "no" / "x.json")
        assert (code, out) == (2, ""), words
        assert err == f"wizloop: --json: cannot write {place / 'no' / 'x.json'}: No such file or directory\n"


def test_the_new_file_keeps_the_place_and_the_mode_of_the_old_one(fake, wizloop, place):
    old = place / "old.json"
    old.touch(mode=0o640)
    link = place / "link.json"
    link.symlink_to(old)
    code, _, _ = wizloop("list", "--json", link)
    assert code == 0
    assert link.is_symlink()
    assert json.loads(old.read_text())["boards"]
    assert old.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(place)) == ["link.json", "old.json"]


def test_a_new_file_is_as_readable_as_any(fake, wizloop, place):
    before = os.umask(0o022)
    try:
        wizloop("list", "--json", place / "new.json")
    finally:
        os.umask(before)
    assert (place / "new.json").stat().st_mode & 0o777 == 0o644


def test_a_pipe_is_written_in_place(fake, wizloop, place):
    pipe = place / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    code, _, _ = wizloop("list", "--json", pipe)
    assert code == 0
    assert json.loads(os.read(reader, 1 << 16))["boards"]
    os.close(reader)
    assert pipe.is_fifo()


def test_every_command_writes_json():
    """Two are programs of their own, and a report always has its twin."""

    def commands(group, names=()):
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from commands(command, (*names, name))
            else:
                yield " ".join((*names, name)), command

    without = {
        name
        for name, command in commands(typer.main.get_command(app))
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without == {"report", "serve", "peer"}
