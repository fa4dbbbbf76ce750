"""A PostgreSQL server of one's own: Debian's binaries, a temporary folder, a unix socket and no network."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_DEADLINE_S = 60.0
END_DEADLINE_S = 20.0
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_libc = ctypes.CDLL(None)


def binaries() -> Path | None:
    """The folder of initdb and postgres, of the newest version; Debian keeps them out of PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    on_path = shutil.which("postgres")
    folders += [Path(os.path.realpath(on_path)).parent] if on_path else []
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


@contextmanager
def running(of: Path) -> Iterator[str]:
    """The URL of its database `postgres`. The server refuses to run as root, who therefore runs it as nobody."""
    user = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    folder = Path(tempfile.mkdtemp(prefix="wizpg-", dir="/tmp"))  # short: a socket's path has 107 bytes
    try:
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = folder / "data"
        initdb = [of / "initdb", "-D", data, "-U", "wizloop", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(
            initdb, capture_output=True, text=True, errors="replace", cwd=folder, timeout=START_DEADLINE_S, **as_user
        )
        assert made.returncode == 0, made.stderr
        settings = ["listen_addresses=", "fsync=off", "max_connections=40", f"unix_socket_directories={folder}"]
        command = [of / "postgres", "-D", data, *(word for setting in settings for word in ("-c", setting))]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, preexec_fn=_end_with_parent, **as_user
            )
        try:
            _wait_until_ready(server, folder)
            yield f"postgresql://wizloop@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)  # its fast shutdown, connections or not
            try:
                server.wait(END_DEADLINE_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_DEADLINE_S
    while "ready to accept connections" not in (said := (folder / "log").read_text(errors="replace")):
        assert server.poll() is None, f"postgres ended with {server.returncode}: {said}"
        assert time.monotonic() < deadline, f"postgres is not ready after {START_DEADLINE_S:g} s: {said}"
        time.sleep(0.02)


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
