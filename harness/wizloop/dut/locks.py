"""The locks of serial ports: one writer at a time, and whoever comes second is told who was first.

A port is locked twice: by flock() on the device, which holds among programs that ask the kernel, and by a lock file as
UUCP has it (LCK..ttyUSB0 with a process number), which holds among those that look into /var/lock. TIOCEXCL, which the
serial line sets besides where its end with the process is certain, keeps out those that ask for nothing at all.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from wizloop.errors import InfrastructureError

VARIABLE = "WIZLOOP_LOCK_DIRECTORY"
PLACES = (Path("/var/lock"), Path("/run/lock"))


class PortBusy(InfrastructureError):
    """Somebody else has the port; the message names them."""


def lock_folder() -> Path | None:
    """Where lock files are; None: no place that this user may write to."""
    chosen = os.environ.get(VARIABLE)
    for place in [Path(chosen)] if chosen else PLACES:
        if place.is_dir() and os.access(place, os.W_OK):
            return place
    return None


def lock_name(device: Path) -> str:
    """LCK..ttyUSB0 for /dev/ttyUSB0, LCK..pts_3 for /dev/pts/3."""
    inside = device.relative_to("/dev") if device.is_relative_to("/dev") else Path(*device.parts[1:])
    return "LCK.." + "_".join(inside.parts)


class LockFile:
    """Taken on creation; PortBusy if a living process has it. One of a dead process is taken over."""

    def __init__(self, device: Path, folder: Path) -> None:
        self.file = folder / lock_name(device)
        handle, name = tempfile.mkstemp(prefix=".wizloop-", dir=folder)
        own = Path(name)
        try:
            with os.fdopen(handle, "w") as writer:
                writer.write(f"{os.getpid():10}\n")
            own.chmod(0o644)
            for _ in range(3):
                if self._take(own):
                    return
                holder = _holder_in(self.file)
                if holder is not None and _alive(holder):
                    raise PortBusy(f"{device} is in use by {describe(holder)}, says {self.file}")
                self.file.unlink(missing_ok=True)
            raise PortBusy(f"{device}: {self.file} comes back as soon as it is removed")
        finally:
            own.unlink(missing_ok=True)

    def _take(self, own: Path) -> bool:
        """A link is made whole or not at all."""
        with contextlib.suppress(FileExistsError):
            os.link(own, self.file)
            return True
        return False

    def release(self) -> None:
        if _holder_in(self.file) == os.getpid():
            self.file.unlink(missing_ok=True)


def _holder_in(file: Path) -> int | None:
    """None: no number in it, or no file."""
    try:
        return int(file.read_text()[:32])
    except (OSError, ValueError):
        return None


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def describe(process: int) -> str:
    """A process as a person knows it."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return f"process {process}"
    command = " ".join(word.decode(errors="backslashreplace") for word in words)
    return f"process {process} ({command[:120]})" if command else f"process {process}"


def holders_of(device: Path) -> list[int]:
    """Other processes that have it open, as far as /proc shows them to this user."""
    found = []
    real = os.path.realpath(device)
    for folder in Path("/proc").glob("[0-9]*/fd"):
        process = int(folder.parent.name)
        if process == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if any(os.path.realpath(link) == real for link in folder.iterdir()):
                found.append(process)
    return sorted(found)


def busy(device: Path) -> PortBusy:
    """Names whoever has it."""
    holders = [describe(process) for process in holders_of(device)]
    return PortBusy(f"{device} is in use by {', '.join(holders) or 'a process of another user'}")
