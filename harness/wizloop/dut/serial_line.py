"""A board on a serial port, by pyserial.

The line is open before anything is reset, so that no byte of a boot is missed; it is locked as `locks` says; DTR and
RTS have their levels before the port opens. A port that goes away (a board that resets its USB, a pulled plug) is
waited for under its own name and opened again, and LineLost tells that what was under way has an unknown fate.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import selectors
import struct
import termios
from dataclasses import dataclass
from pathlib import Path

import serial
from serial.tools import list_ports

from wizloop.dut import locks
from wizloop.dut.address import SerialAddress
from wizloop.dut.host import Host
from wizloop.dut.line import Line, LineLost, RawLog
from wizloop.errors import InfrastructureError, UsageError

BACK_WITHIN_S = 10.0  # USB enumerates a board in 1 to 3 s
LOOK_EACH_S = 0.05
PULSE_S = 0.1
READ_BYTES = 65536
TIOCGEXCL = 0x80045440  # linux/ioctls.h; termios has no name for it


@dataclass(frozen=True)
class SerialOptions:
    """Levels of the control lines, before the port opens and from then on."""

    dtr: bool = True  # many USB consoles say nothing without
    rts: bool = True


class NoSuchPort(InfrastructureError):
    """The port does not exist, now."""


def device_of(port: str) -> Path:
    """The device behind a port's name: a path, usb:SERIALNUMBER or usb-path:1-1.2."""
    kind, colon, wanted = port.partition(":")
    if not colon or port.startswith("/"):
        path = Path(os.path.realpath(port))
        if not path.exists():
            there = ", ".join(each.device for each in list_ports.comports())
            raise NoSuchPort(f"there is no serial port {port}; there are {there or 'none'}")
        return path
    if kind not in ("usb", "usb-path"):
        raise UsageError(f"serial port '{port}': expected a path, usb:SERIALNUMBER or usb-path:1-1.2")
    found = list_ports.comports()
    for candidate in found:
        if wanted == (candidate.serial_number if kind == "usb" else candidate.location):
            return Path(candidate.device)
    there = ", ".join(f"{each.device} (usb:{each.serial_number})" for each in found if each.serial_number)
    raise NoSuchPort(f"no serial port is {port}; there are {there or 'none on USB'}")


def stable_name(device: str) -> str:
    """The name under which a port is found again after it was away: by serial number, by USB path, or its device."""
    for candidate in list_ports.comports():
        if candidate.device == os.path.realpath(device):
            if candidate.serial_number:
                return f"usb:{candidate.serial_number}"
            if candidate.location:
                return f"usb-path:{candidate.location}"
    return device


class _Port:
    """An open port with its locks, all or nothing."""

    def __init__(self, address: SerialAddress, options: SerialOptions) -> None:
        self.device = device_of(address.port)
        folder = locks.lock_folder()
        self._lock = None if folder is None else locks.LockFile(self.device, folder)
        self.serial = serial.Serial()
        self._ours = False  # TIOCEXCL
        try:
            self._open(address.baud, options)
        except BaseException:
            self.close()
            raise

    def _open(self, baud: int, options: SerialOptions) -> None:
        port = self.serial
        port.port, port.baudrate, port.timeout, port.write_timeout = str(self.device), baud, 0, 0
        port.dtr, port.rts = options.dtr, options.rts
        port.exclusive = True
        try:
            port.open()
        except (OSError, ValueError) as error:  # SerialException is an OSError
            if _says(error, errno.EBUSY, errno.EAGAIN):
                raise locks.busy(self.device) from error
            raise InfrastructureError(f"cannot open {self.device}: {error}") from error
        if _is_exclusive(port.fileno()) and locks.holders_of(self.device):  # root gets in all the same
            raise locks.busy(self.device)
        with contextlib.suppress(OSError):  # not every kind of port has it
            if not self.device.is_relative_to("/dev/pts"):  # which would keep it when its owner is killed
                fcntl.ioctl(port.fileno(), termios.TIOCEXCL)
                self._ours = True
            settings = termios.tcgetattr(port.fileno())
            settings[2] &= ~termios.HUPCL  # closing does not reset the board
            termios.tcsetattr(port.fileno(), termios.TCSANOW, settings)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            if self.serial.is_open and self._ours:
                fcntl.ioctl(self.serial.fileno(), termios.TIOCNXCL)
        with contextlib.suppress(OSError, serial.SerialException):
            self.serial.close()
        if self._lock is not None:
            self._lock.release()


def _is_exclusive(port: int) -> bool:
    """Whether another program has set TIOCEXCL."""
    try:
        (found,) = struct.unpack("i", fcntl.ioctl(port, TIOCGEXCL, bytes(4)))
    except OSError:  # not every kind of port has it
        return False
    return bool(found)


def _says(error: BaseException, *numbers: int) -> bool:
    """pyserial wraps the number of an error in its message."""
    return getattr(error, "errno", None) in numbers or any(os.strerror(number) in str(error) for number in numbers)


class SerialLine(Line):
    def __init__(
        self,
        address: SerialAddress,
        host: Host,
        options: SerialOptions = SerialOptions(),
        log: RawLog | None = None,
        back_within_s: float = BACK_WITHIN_S,
    ) -> None:
        super().__init__(str(address), log or RawLog())
        self._address = address
        self._options = options
        self._host = host
        self._back_within_s = back_within_s
        self.drops = 0
        self._closed = False
        self._port: _Port | None = _Port(address, options)

    def now(self) -> float:
        return self._host.now()

    def send(self, data: bytes, deadline: float) -> None:
        self.log.add(self.now(), True, data)
        left = memoryview(data)
        while left:
            port = self._opened()
            if not self._host.wait(port.serial, selectors.EVENT_WRITE, deadline):
                raise LineLost(f"{self.name} takes no bytes: {len(left)} of {len(data)} were left at the deadline")
            try:
                left = left[os.write(port.serial.fileno(), left) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._dropped(error) from error

    def receive(self, deadline: float) -> bytes:
        port = self._opened()
        if not self._host.wait(port.serial, selectors.EVENT_READ, deadline):
            return b""
        try:
            data = os.read(port.serial.fileno(), READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._dropped(error) from error
        if not data:
            raise self._dropped(None)
        self.log.add(self.now(), False, data)
        return data

    def pause(self, seconds: float) -> None:
        self._host.pause(seconds)

    def pulse_dtr(self) -> None:
        """The reset of boards that have it on DTR. The line listens meanwhile."""
        port = self._opened()
        try:
            port.serial.dtr = not self._options.dtr
            self._host.pause(PULSE_S)
            port.serial.dtr = self._options.dtr
        except OSError as error:
            raise InfrastructureError(f"{self.name} has no DTR: {error.strerror}") from error

    def close(self) -> None:
        self._closed = True
        if self._port is not None:
            self._port.close()
            self._port = None
        self.log.close()

    def _opened(self) -> _Port:
        """A port that was away too long may be back by now."""
        if self._closed:
            raise LineLost(f"{self.name} is closed")
        if self._port is None:
            self._port = _Port(self._address, self._options)
        return self._port

    def _dropped(self, error: OSError | None) -> LineLost:
        """The port is gone: opens it again under its own name."""
        self.drops += 1
        self._opened().close()
        self._port = None
        why = f"{self.name} went away" + (f" ({error.strerror})" if error is not None and error.strerror else "")
        lost = self.now()
        while True:
            try:
                self._port = _Port(self._address, self._options)
            except InfrastructureError as still:
                if self.now() >= lost + self._back_within_s:
                    said = f"{why}, and was not back within {self._back_within_s:g} s"
                    self.log.add(lost, False, b"", said)
                    return LineLost(f"{said}: {still}")
            else:
                self.log.add(lost, False, b"", f"{why} for {self.now() - lost:.1f} s")
                return LineLost(f"{why}, and is back")
            self._host.pause(LOOK_EACH_S)
