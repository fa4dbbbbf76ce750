"""DHCP (RFC 2131) and DNS (RFC 1035) for a network of test boards, as far as a test needs them: they can be told not
to answer, or to refuse, so that a board shows how it recovers.

    server = DnsServer(udp_socket, {"broker.lan": "192.168.1.10"}, {"ignored_queries": 1})
    host.watch(server.socket, selectors.EVENT_READ, server.on_datagram)

The options have the names of those of the model's PC (sim/capi/wizloop.h, wizloop_pc_serve()).
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
from collections.abc import Mapping

_MAGIC = b"\x63\x82\x53\x63"
_DISCOVER, _OFFER, _REQUEST, _ACK, _NAK = 1, 2, 3, 5, 6
_TYPE, _ADDRESS, _SERVER, _LEASE, _MASK, _ROUTER, _DNS = 53, 50, 54, 51, 1, 3, 6


def _number(how: Mapping[str, object], key: str, default: int = 0) -> int:
    return int(str(how.get(key, default)))


class _Counted:
    """So many of something are left to be treated badly."""

    def __init__(self, how: Mapping[str, object]) -> None:
        self._left = {key: _number(how, key) for key in how if key.startswith(("ignored_", "refused_"))}

    def spend(self, key: str) -> bool:
        left = self._left.get(key, 0)
        self._left[key] = max(0, left - 1)
        return left > 0


class DhcpServer:
    """Gives one address to whoever asks."""

    def __init__(self, port: socket.socket, own_ip: str, how: Mapping[str, object]) -> None:
        self.socket = port
        self._own = ipaddress.IPv4Address(own_ip).packed
        network = ipaddress.IPv4Network(f"{own_ip}/24", strict=False)
        self._given = ipaddress.IPv4Address(str(how.get("first", network.network_address + 100))).packed
        self._mask = network.netmask.packed
        self._lease_s = _number(how, "lease_s", 3600)
        self._counted = _Counted(how)

    def on_datagram(self, _: int) -> None:
        with contextlib.suppress(BlockingIOError):
            data, _address = self.socket.recvfrom(4096)
            if answer := self.answer(data):
                self.socket.sendto(answer, ("255.255.255.255", 68))

    def answer(self, data: bytes) -> bytes | None:
        """To one message of a client; None: it gets none."""
        if len(data) < 240 or data[0] != 1 or data[236:240] != _MAGIC:
            return None
        options = _options(data[240:])
        kind = options.get(_TYPE, b"\0")[0]
        if kind == _DISCOVER:
            return None if self._counted.spend("ignored_discovers") else self._message(data, _OFFER)
        if kind != _REQUEST or options.get(_SERVER, self._own) != self._own:
            return None
        if self._counted.spend("ignored_requests"):
            return None
        wanted = options.get(_ADDRESS, data[12:16])
        refused = self._counted.spend("refused_requests") or wanted != self._given
        return self._message(data, _NAK if refused else _ACK)

    def _message(self, request: bytes, kind: int) -> bytes:
        given = b"\0\0\0\0" if kind == _NAK else self._given
        head = bytes([2, 1, 6, 0]) + request[4:12] + b"\0\0\0\0" + given + self._own + b"\0\0\0\0" + request[28:44]
        options = [(_TYPE, bytes([kind])), (_SERVER, self._own)]
        if kind != _NAK:
            lease = struct.pack("!I", self._lease_s)
            options += [(_LEASE, lease), (_MASK, self._mask), (_ROUTER, self._own), (_DNS, self._own)]
        packed = b"".join(bytes([code, len(value)]) + value for code, value in options)
        return (head + bytes(192) + _MAGIC + packed + b"\xff").ljust(300, b"\0")


def _options(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    at = 0
    while at < len(data) and data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        if at + 2 > len(data):
            break
        found[data[at]] = data[at + 2 : at + 2 + data[at + 1]]
        at += 2 + data[at + 1]
    return found


class DnsServer:
    """Knows the addresses in a table, and that no other name exists."""

    def __init__(self, port: socket.socket, names: Mapping[str, str], how: Mapping[str, object]) -> None:
        self.socket = port
        self._names = {name.lower(): ipaddress.IPv4Address(ip).packed for name, ip in names.items()}
        self._counted = _Counted(how)

    def on_datagram(self, _: int) -> None:
        with contextlib.suppress(BlockingIOError):
            data, sender = self.socket.recvfrom(4096)
            if answer := self.answer(data):
                self.socket.sendto(answer, sender)

    def answer(self, data: bytes) -> bytes | None:
        """To one question; None: it gets none."""
        if len(data) < 17 or data[2] & 0x80 or self._counted.spend("ignored_queries"):
            return None
        labels, at = [], 12
        while at < len(data) and data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode("ascii", "replace"))
            at += 1 + data[at]
        question = data[12 : at + 5]
        if len(data) < at + 5:
            return None
        known = self._names.get(".".join(labels).lower())
        head = data[:2] + struct.pack("!HHHHH", 0x8180 if known else 0x8183, 1, 1 if known else 0, 0, 0)
        record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + known if known else b""
        return head + question + record
