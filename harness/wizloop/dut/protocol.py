"""The agent's lines (boards/agent/README.md is normative): requests out, answers, events and log in."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

LINE_MAX = 65536  # of an unended line; what is longer is no line of the agent's

# What a board answers to a request that it did not take up: trying again does nothing twice.
NOT_DONE = frozenset({"syntax", "bad-byte", "crc", "overrun"})
# Verbs that only look, as far as they have none of these keys.
ONLY_LOOKS: Mapping[str, frozenset[str]] = {
    "hello": frozenset(),
    "help": frozenset(),
    "stats": frozenset({"clear"}),
    "net": frozenset({"mac", "ip", "mask", "gw", "rtr_us", "rcr"}),
    "path": frozenset({"p", "intn"}),
    "link": frozenset({"mode"}),
    "reg": frozenset({"data"}),
    "selftest": frozenset(),
}
LONG = frozenset({"link", "dhcp", "dns", "ping-stats"})  # and all that begin with tcp- and udp-


def is_long(verb: str) -> bool:
    """It takes as long as the network does, has `timeout_ms`, and can be cancelled."""
    return verb in LONG or verb.startswith(("tcp-", "udp-"))


def only_looks(verb: str, keys: Mapping[str, object]) -> bool:
    """Doing it twice is as good as once."""
    return verb in ONLY_LOOKS and not ONLY_LOOKS[verb] & keys.keys()


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE."""
    return binascii.crc_hqx(data, 0xFFFF)


def with_crc(line: str) -> str:
    return f"{line} *{crc16(line.encode()):04X}"


def request(sequence: int, verb: str, keys: Mapping[str, object]) -> bytes:
    words = [f"#{sequence}", verb, *(f"{key}={value}" for key, value in keys.items())]
    return with_crc(" ".join(words)).encode() + b"\n"


class Fields(dict[str, str]):
    """The key=value words of a line."""

    def number(self, key: str) -> int:
        """A decimal number; its unit is the end of its key."""
        return int(self[key])


@dataclass(frozen=True)
class Answer:
    """`#SEQ ok ...` or `#SEQ err CODE ...`."""

    sequence: int
    code: str  # empty: ok
    text: str  # behind `ok` or the code
    intact: bool  # it ends with its checksum
    fields: Fields = field(default_factory=Fields)

    @property
    def ok(self) -> bool:
        return not self.code

    def __getitem__(self, key: str) -> str:
        return self.fields[key]

    def number(self, key: str) -> int:
        return self.fields.number(key)


@dataclass(frozen=True)
class Event:
    """`! NAME key=value ...`."""

    name: str
    fields: Fields
    at_s: float = 0.0  # when it had come, by the clock of the line

    def __getitem__(self, key: str) -> str:
        return self.fields[key]


@dataclass(frozen=True)
class Log:
    """Any other line, and lines that are damaged."""

    text: str


Line = Answer | Event | Log

_ANSWER = re.compile(r"#(\d{1,9}) (ok|err)(?: (.*))?$")
_EVENT = re.compile(r"! ([a-z][a-z0-9-]*)(?: (.*))?$")
_CRC = re.compile(r"(.*) \*([0-9A-F]{4})$")


def parse(line: str, at_s: float = 0.0) -> Line:
    """A line without its end. What has a wrong checksum is log: nothing in it can be trusted."""
    body, intact = line, False
    if found := _CRC.match(line):
        if crc16(found[1].encode()) != int(found[2], 16):
            return Log(line)
        body, intact = found[1], True
    if found := _ANSWER.match(body):
        sequence, verdict, text = int(found[1]), found[2], found[3] or ""
        code = ""
        if verdict == "err":
            code, _, text = text.partition(" ")
            if not code:
                return Log(line)
        return Answer(sequence, code, text, intact, fields_of(text))
    if found := _EVENT.match(body):
        return Event(found[1], fields_of(found[2] or ""), at_s)
    return Log(line)


def fields_of(text: str) -> Fields:
    return Fields(word.split("=", 1) for word in text.split() if "=" in word)


class Splitter:
    """Bytes in, whole lines out. What is not ASCII shows as \\xNN."""

    def __init__(self) -> None:
        self._partial = bytearray()

    def feed(self, data: bytes) -> list[str]:
        self._partial += data
        *whole, rest = re.split(rb"[\r\n]+", bytes(self._partial))
        if len(rest) > LINE_MAX:
            whole.append(rest)
            rest = b""
        self._partial = bytearray(rest)
        return [_text(line) for line in whole if line]

    @property
    def partial(self) -> str:
        """What has come of a line whose end has not."""
        return _text(bytes(self._partial))

    def take_partial(self) -> str:
        text = self.partial
        self._partial.clear()
        return text


def _text(line: bytes) -> str:
    return line.decode("ascii", "backslashreplace")
