"""This machine at the far end of a real board's cable: sockets that are served while somebody waits for the board.

Ports are opened on the address by which the board reaches this machine, or on loopback where that is nobody's address
here (a NAT such as that of `wizloop serve --net slirp` leads there).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import selectors
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

from wizloop.chip import Datagram, SocketState
from wizloop.dut.device import Device
from wizloop.dut.host import Host
from wizloop.dut.name_servers import DhcpServer, DnsServer
from wizloop.dut.peers import BOARD_PORT, Counts, DatagramPort, Listening, Peer, Service, Stream
from wizloop.errors import InfrastructureError

PIECE = 65536
_PATTERN = bytes(range(256)) * (PIECE // 256 + 1)
SIOCGIFADDR = 0x8915
SMALL_BUFFER = 4096  # of connections in a test's hands, so that a window closes soon


def pattern(start: int, count: int) -> bytes:
    """Up to PIECE bytes of the stream from there on."""
    return _PATTERN[start % 256 : start % 256 + count]


def interface_of(ip: str) -> str:
    """The interface that has this address; empty: none has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode())
            with contextlib.suppress(OSError):  # it has no address
                if socket.inet_ntoa(fcntl.ioctl(any_socket, SIOCGIFADDR, request)[20:24]) == ip:
                    return name
    return ""


class HostPeer(Peer):
    def __init__(self, dut: Device, host: Host) -> None:
        self.ip = dut.surroundings.host_ip
        self._dut = dut
        self._host = host
        self._leaving = contextlib.ExitStack()

    def close(self) -> None:
        self._leaving.close()

    # Sockets.

    def _bound(self, kind: socket.SocketKind, port: int = 0) -> socket.socket:
        made = socket.socket(socket.AF_INET, kind)
        self._leaving.callback(made.close)
        made.setblocking(False)
        if kind == socket.SOCK_STREAM or port:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((self.ip, port))
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise InfrastructureError(f"port {port} of {self.ip}: {error.strerror}") from error
            made.bind(("127.0.0.1", port))
        return made

    def _watch(self, of: socket.socket, events: int, callback: object) -> None:
        self._host.watch(of, events, callback)  # type: ignore[arg-type]
        self._leaving.callback(self._host.forget, of)

    def _listener(self, buffer: int = 0) -> socket.socket:
        made = self._bound(socket.SOCK_STREAM)
        if buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        made.listen(16)
        return made

    # Services.

    def _serve(self, make: type[_Served], count: int = 0) -> Service:
        listener = self._listener()
        service = _TcpService(listener.getsockname()[1])

        def on_connection(_: int) -> None:
            with contextlib.suppress(BlockingIOError):
                connection, _address = listener.accept()
                self._leaving.callback(connection.close)
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                service.seen = replace(service.seen, connections=service.seen.connections + 1)
                make(self._host, connection, service, count)
                self._leaving.callback(self._host.forget, connection)

        self._watch(listener, selectors.EVENT_READ, on_connection)
        return service

    def sink(self) -> Service:
        return self._serve(_Sink)

    def source(self, count: int) -> Service:
        return self._serve(_Source, count)

    def echo(self) -> Service:
        return self._serve(_Echo)

    def udp_sink(self) -> Service:
        return self._serve_datagrams(echo=False)

    def udp_echo(self) -> Service:
        return self._serve_datagrams(echo=True)

    def _serve_datagrams(self, echo: bool) -> Service:
        port = self._bound(socket.SOCK_DGRAM)
        service = _TcpService(port.getsockname()[1])

        def on_datagram(_: int) -> None:
            with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
                while True:
                    data, sender = port.recvfrom(PIECE)
                    seen = service.seen
                    service.seen = replace(seen, packets=seen.packets + 1, bytes_in=seen.bytes_in + len(data))
                    if echo:
                        port.sendto(data, sender)

        self._watch(port, selectors.EVENT_READ, on_datagram)
        return service

    # In the hands of the caller.

    def listen(self) -> Listening:
        listener = self._listener(SMALL_BUFFER)
        stream = HostStream(self._leaving)

        def on_connection(_: int) -> None:
            with contextlib.suppress(BlockingIOError):
                connection, _address = listener.accept()
                self._host.forget(listener)
                stream.adopt(connection)

        self._watch(listener, selectors.EVENT_READ, on_connection)
        return Listening(listener.getsockname()[1], stream)

    def udp(self) -> tuple[int, DatagramPort]:
        port = self._bound(socket.SOCK_DGRAM)
        return port.getsockname()[1], HostDatagrams(port)

    def board_port(self, protocol: str) -> int:
        for kind, port in self._dut.surroundings.forwards or {}:
            if kind == protocol:
                return port
        return BOARD_PORT

    def board_at(self, protocol: str, port: int) -> tuple[str, int]:
        forwards = self._dut.surroundings.forwards or {}
        return forwards.get((protocol, port), (self._dut.ip, port))

    def connect(self, port: int) -> Stream:
        stream = HostStream(self._leaving)
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setblocking(False)
        connection.connect_ex(self.board_at("tcp", port))
        stream.adopt(connection, connecting=True)
        return stream

    def dhcp(self, **how: object) -> None:
        if self._dut.surroundings.lan:
            server = DhcpServer(self._bound_to_all(67), self.ip, how)
            self._watch(server.socket, selectors.EVENT_READ, server.on_datagram)

    def dns(self, names: Mapping[str, str], **how: object) -> None:
        server = DnsServer(self._bound(socket.SOCK_DGRAM, 53), names, how)
        self._watch(server.socket, selectors.EVENT_READ, server.on_datagram)

    def _bound_to_all(self, port: int) -> socket.socket:
        """Broadcasts come to none of this machine's own addresses."""
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._leaving.callback(made.close)
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        try:
            if name := interface_of(self.ip):  # 255.255.255.255 is where no route leads
                made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode())
            made.bind(("", port))
        except OSError as error:
            raise InfrastructureError(f"UDP port {port}: {error.strerror}") from error
        return made


class _TcpService:
    """What all connections of one port have seen."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.seen = Counts()

    @property
    def port(self) -> int:
        return self._port

    def counts(self) -> Counts:
        return self.seen

    def add(self, bytes_in: int = 0, bytes_out: int = 0, bad: int = 0) -> None:
        seen = self.seen
        self.seen = replace(
            seen, bytes_in=seen.bytes_in + bytes_in, bytes_out=seen.bytes_out + bytes_out, bad=seen.bad + bad
        )


class _Served(ABC):
    """One connection of a service; events come from the host."""

    events = selectors.EVENT_READ

    def __init__(self, host: Host, connection: socket.socket, service: _TcpService, count: int) -> None:
        self._host = host
        self._connection = connection
        self._service = service
        self._left = count
        self._position = 0
        host.watch(connection, self.events, self._on_ready)

    def _on_ready(self, events: int) -> None:
        try:
            self.on_ready(events)
        except BlockingIOError:
            return
        except OSError:  # reset, or gone
            self.end()

    @abstractmethod
    def on_ready(self, events: int) -> None: ...

    def end(self) -> None:
        self._host.forget(self._connection)
        self._connection.close()


class _Sink(_Served):
    def on_ready(self, events: int) -> None:
        data = self._connection.recv(PIECE)
        if not data:
            self.end()
            return
        expected = pattern(self._position, len(data))
        bad = 0 if data == expected else sum(got != want for got, want in zip(data, expected, strict=True))
        self._position += len(data)
        self._service.add(bytes_in=len(data), bad=bad)


class _Source(_Served):
    events = selectors.EVENT_WRITE | selectors.EVENT_READ

    def on_ready(self, events: int) -> None:
        if events & selectors.EVENT_WRITE and self._left:
            sent = self._connection.send(pattern(self._position, min(self._left, PIECE)))
            self._position += sent
            self._left -= sent
            self._service.add(bytes_out=sent)
            if not self._left:
                self._connection.shutdown(socket.SHUT_WR)
                self._host.rewatch(self._connection, selectors.EVENT_READ, self._on_ready)
        elif events & selectors.EVENT_READ and not self._connection.recv(PIECE):
            self.end()


class _Echo(_Served):
    def __init__(self, host: Host, connection: socket.socket, service: _TcpService, count: int) -> None:
        self._waiting = bytearray()
        super().__init__(host, connection, service, count)

    def on_ready(self, events: int) -> None:
        if events & selectors.EVENT_READ:
            data = self._connection.recv(PIECE)
            if not data:
                self.end()
                return
            self._service.add(bytes_in=len(data))
            self._waiting += data
        sent = self._connection.send(self._waiting)
        del self._waiting[:sent]
        self._service.add(bytes_out=sent)
        wanted = selectors.EVENT_WRITE if self._waiting else selectors.EVENT_READ
        self._host.rewatch(self._connection, wanted, self._on_ready)


class HostStream:
    """A connection in the hands of a test. None of its calls waits."""

    def __init__(self, leaving: contextlib.ExitStack) -> None:
        self._leaving = leaving
        self._socket: socket.socket | None = None
        self._state = SocketState.WAITING
        self._shut = False

    def adopt(self, connection: socket.socket, connecting: bool = False) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._leaving.callback(connection.close)
        self._state = SocketState.WAITING if connecting else SocketState.CONNECTED

    @property
    def state(self) -> SocketState:
        if self._socket is not None and self._state == SocketState.WAITING:
            with selectors.DefaultSelector() as selector:
                selector.register(self._socket, selectors.EVENT_WRITE)
                if selector.select(0):
                    failed = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    self._state = SocketState.LOST if failed else SocketState.CONNECTED
        if self._socket is not None and self._state == SocketState.CONNECTED:
            try:
                if not self._socket.recv(1, socket.MSG_PEEK):
                    self._peer_closed()
            except BlockingIOError:
                pass
            except OSError:
                self._state = SocketState.LOST
        return self._state

    def _peer_closed(self) -> None:
        self._state = SocketState.CLOSED if self._shut else SocketState.PEER_CLOSED

    def send(self, data: bytes) -> int:
        if self._socket is None or self.state not in (SocketState.CONNECTED, SocketState.PEER_CLOSED):
            return 0
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._state = SocketState.LOST
            return 0

    def receive(self, most: int = 65536) -> bytes:
        if self._socket is None or self.state != SocketState.CONNECTED:
            return b""
        try:
            data = self._socket.recv(most)
        except BlockingIOError:
            return b""
        except OSError:
            self._state = SocketState.LOST
            return b""
        if not data:
            self._peer_closed()
        return data

    def close(self) -> None:
        if self._socket is None:
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._shut = True
        if self._state == SocketState.PEER_CLOSED:
            self._state = SocketState.CLOSED

    def abort(self) -> None:
        if self._socket is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._socket.close()
            self._socket = None
        self._state = SocketState.LOST


class HostDatagrams:
    def __init__(self, port: socket.socket) -> None:
        self._port = port

    def send_to(self, ip: str, port: int, data: bytes) -> bool:
        try:
            return self._port.sendto(data, (ip, port)) == len(data)
        except OSError:
            return False

    def receive(self) -> Datagram | None:
        try:
            data, (ip, port) = self._port.recvfrom(PIECE)
        except OSError:
            return None
        return Datagram(data, ip, port)

    def close(self) -> None:
        self._port.close()
