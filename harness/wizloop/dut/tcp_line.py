"""A board's console on a TCP port, that of a console server that speaks telnet included. Beyond loopback `wizloop serve`
wants the token of WIZLOOP_TOKEN first.
"""

from __future__ import annotations

import ipaddress
import os
import selectors
import socket

from wizloop.dut.address import TcpAddress
from wizloop.dut.host import Host
from wizloop.dut.line import Line, LineLost, RawLog
from wizloop.dut.telnet import Telnet
from wizloop.errors import InfrastructureError

CONNECT_WITHIN_S = 10.0
READ_BYTES = 65536
TOKEN = "WIZLOOP_TOKEN"


class TcpLine(Line):
    def __init__(self, address: TcpAddress, host: Host, log: RawLog | None = None) -> None:
        super().__init__(str(address), log or RawLog())
        self._host = host
        self._address = address
        self._closed = False
        self._telnet: Telnet | None = None
        self._socket: socket.socket | None = self._connect()

    def _connect(self) -> socket.socket:
        try:
            connection = socket.create_connection((self._address.host, self._address.port), CONNECT_WITHIN_S)
        except OSError as error:
            raise InfrastructureError(
                f"cannot connect to {self.name}: {error.strerror or error}; expected the console of a board there, such as "
                "that of `wizloop serve --tcp`"
            ) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        token = os.environ.get(TOKEN)
        if token and not ipaddress.ip_address(connection.getpeername()[0]).is_loopback:
            connection.sendall(f"token {token}\n".encode())
        if self._address.telnet:
            self._telnet = Telnet()
            connection.sendall(self._telnet.opening)
        connection.setblocking(False)
        return connection

    def now(self) -> float:
        return self._host.now()

    def send(self, data: bytes, deadline: float) -> None:
        self.log.add(self.now(), True, data)
        if self._telnet is not None:
            data = self._telnet.escaped(data)
        self._send_raw(data, deadline)

    def _send_raw(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            connection = self._opened()
            if not self._host.wait(connection, selectors.EVENT_WRITE, deadline):
                raise LineLost(f"{self.name} takes no bytes: {len(left)} of {len(data)} were left at the deadline")
            try:
                left = left[connection.send(left) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._dropped(error.strerror or str(error)) from error

    def receive(self, deadline: float) -> bytes:
        data = self._receive_raw(deadline)
        if self._telnet is not None:
            while data:  # what was all telnet's is nothing of the board
                data, answer = self._telnet.receive(data)
                self._send_raw(answer, self.now() + CONNECT_WITHIN_S)
                if data:
                    break
                data = self._receive_raw(deadline)
        if data:
            self.log.add(self.now(), False, data)
        return data

    def _receive_raw(self, deadline: float) -> bytes:
        connection = self._opened()
        if not self._host.wait(connection, selectors.EVENT_READ, deadline):
            return b""
        try:
            data = connection.recv(READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._dropped(error.strerror or str(error)) from error
        if not data:
            raise self._dropped("the far end has closed it")
        return data

    def pause(self, seconds: float) -> None:
        self._host.pause(seconds)

    def close(self) -> None:
        self._closed = True
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self.log.close()

    def _opened(self) -> socket.socket:
        """A console that was not back in time may be by now."""
        if self._closed:
            raise LineLost(f"{self.name} is closed")
        if self._socket is None:
            self._socket = self._connect()
        return self._socket

    def _dropped(self, why: str) -> LineLost:
        """Connects anew, once."""
        self._opened().close()
        self._socket = None
        try:
            self._socket = self._connect()
        except InfrastructureError as still:
            return LineLost(f"{self.name} went away ({why}), and is not back: {still}")
        return LineLost(f"{self.name} went away ({why}), and takes connections again")
