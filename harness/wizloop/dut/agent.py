"""The client of a board's agent: requests, answers, events, and what can go wrong with them.

    agent = Agent(line)
    agent.resync()
    agent.ask("net", ip="192.168.1.20")["ip"]
    transfer = agent.start("tcp-send", ip=peer, port=5001, bytes=1 << 20, within=60)
    ...                                       # pull the cable
    transfer.finish().number("bytes")

Each request has one deadline, for all of it. It is repeated only where nothing was done (the board says that it was
damaged on the way), or where doing it twice is as good as once. A board that starts anew meanwhile, a line that is
lost and silence are infrastructure's failures; an `err` of the board is the test's, VerbFailed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from wizloop.dut import protocol
from wizloop.dut.line import Line, LineLost
from wizloop.dut.locks import PortBusy
from wizloop.dut.protocol import Answer, Event, Fields, Log
from wizloop.errors import InfrastructureError

SHORT_S = 5.0  # for verbs that end by themselves, `selftest` apart
SELFTEST_S = 60.0
HELLO_S = 1.0  # of a resync, which asks again and again
LONG_S = 60.0
CLOSING_S = 3.0  # what a long verb may take beyond its own timeout: closing, and the way of the answer
TRIES = 3
KEPT = 1000


class VerbFailed(Exception):
    """The board did not do it, or not all of it."""

    def __init__(self, request: str, answer: Answer) -> None:
        super().__init__(f"{request}: err {answer.code} {answer.text}".rstrip())
        self.answer = answer

    @property
    def code(self) -> str:
        return self.answer.code


class NoAnswer(InfrastructureError):
    """Nothing answered until the deadline."""


class Restarted(InfrastructureError):
    """The board's firmware has started anew; the request is forgotten."""


class _Damaged(InfrastructureError):
    """An answer came, but not whole."""


class Request:
    """A request that was sent; finish() waits for its answer."""

    def __init__(self, agent: Agent, sequence: int, text: str, deadline: float) -> None:
        self._agent = agent
        self.sequence = sequence
        self.text = text
        self.deadline = deadline
        self.restarts = agent.restarts  # of the board, when it was sent

    def finish(self) -> Answer:
        """The answer if it is ok, or VerbFailed."""
        answer = self.outcome()
        if not answer.ok:
            raise VerbFailed(self.text, answer)
        return answer

    def outcome(self) -> Answer:
        """The answer, whatever it says."""
        return self._agent._answer_to(self)

    def done(self) -> bool:
        """Whether an answer has come; looks only at what is here already."""
        return self._agent._has_answer(self)

    def cancel(self) -> Answer:
        """Ends a long verb; what it had done by then."""
        self._agent._send(f"#{self.sequence} cancel\n".encode(), self.deadline)
        return self.outcome()


class Agent:
    def __init__(self, line: Line, first_sequence: int = 1, scale: float = 1.0) -> None:
        self.line = line
        self.scale = scale  # of deadlines that nobody gave
        self.events: deque[Event] = deque(maxlen=KEPT)
        self.log: deque[str] = deque(maxlen=KEPT)  # lines that are nothing of the protocol, and late answers
        self.repeated = 0  # requests, because of the line
        self.restarts = 0  # `! hello`
        self.on_event: Callable[[Event], None] | None = None
        self._sequence = first_sequence - 1
        self._splitter = protocol.Splitter()
        self._answers: dict[int, Answer] = {}
        self._unnumbered: Answer | None = None
        self._damaged: set[int] = set()

    # Requests.

    def ask(self, verb: str, *, within: float | None = None, **keys: object) -> Answer:
        """Does it, and returns the ok answer. VerbFailed if the board says err."""
        answer = self.outcome(verb, within=within, **keys)
        if not answer.ok:
            raise VerbFailed(_shown(verb, keys), answer)
        return answer

    def outcome(self, verb: str, *, within: float | None = None, **keys: object) -> Answer:
        """Does it, and returns the answer whatever it says."""
        end = self.line.now() + (self._patience(verb, keys) if within is None else within + _grace(verb))
        looks = protocol.only_looks(verb, keys)
        for attempt in range(1, TRIES + 1):
            # One that only looks, and at once, may be lost on the way: it gets its share of the time.
            left = end - self.line.now()
            share = left / (TRIES + 1 - attempt) if looks and not protocol.is_long(verb) else left
            request = self._start(verb, keys, self.line.now() + share, within)
            try:
                answer = request.outcome()
            except (NoAnswer, LineLost, Restarted, _Damaged):
                if not looks or attempt == TRIES or self.line.now() >= end:
                    raise
            else:
                if answer.sequence == 0 and not looks:
                    answer = self._fate_of(request) or answer
                if answer.code not in protocol.NOT_DONE or attempt == TRIES:
                    return answer
            self.repeated += 1
            self._end_half_line(end)
        raise AssertionError("the last attempt returns or raises")

    def _fate_of(self, request: Request) -> Answer | None:
        """A `#0` may be about bytes that came before the request, which is done then. An inquiry behind it tells: the
        board answers in turn, and is busy if the request goes on. None: it was not done.
        """
        inquiry = self._start("hello", {}, min(request.deadline, self.line.now() + SHORT_S), None).outcome()
        if inquiry.sequence == 0:
            raise NoAnswer(
                f"{self.line.name}: nobody knows whether '{request.text}' was done: {inquiry.code} each time"
            )
        if inquiry.code == "busy":
            return request.outcome()
        return self._answers.pop(request.sequence, None)

    def start(self, verb: str, *, within: float = LONG_S, **keys: object) -> Request:
        """Sends a long verb and comes back at once. The board itself gives up after `within` seconds."""
        return self._start(verb, keys, self.line.now() + within + _grace(verb), within)

    def _start(self, verb: str, keys: dict[str, object], deadline: float, within: float | None) -> Request:
        self._sequence = self._sequence % 999_999_999 + 1
        if within is not None and protocol.is_long(verb) and "timeout_ms" not in keys:
            keys = {**keys, "timeout_ms": max(1, round(within * 1000))}
        request = Request(self, self._sequence, _shown(verb, keys), deadline)
        self._unnumbered = None
        self._send(protocol.request(self._sequence, verb, keys), deadline)
        return request

    def _patience(self, verb: str, keys: dict[str, object]) -> float:
        if verb == "selftest":
            return SELFTEST_S * self.scale
        if not protocol.is_long(verb):
            return SHORT_S * self.scale
        if "timeout_ms" in keys:
            return int(str(keys["timeout_ms"])) / 1000 + CLOSING_S
        return (120.0 if verb == "link" else LONG_S) + CLOSING_S

    # Events.

    def wait_for_event(self, name: str, within: float) -> Event:
        """The next such event that has not been waited for; NoAnswer."""
        deadline = self.line.now() + within
        while True:
            for event in self.events:
                if event.name == name:
                    self.events.remove(event)
                    return event
            if not self._take_in(deadline):
                raise NoAnswer(f"{self.line.name}: no event '{name}' within {within:g} s{self._partial_said()}")

    def run(self, seconds: float) -> None:
        """Lets time pass, and takes in what comes."""
        end = self.line.now() + seconds
        while self._take_in(end) and self.line.now() < end:
            pass

    def resync(self, within: float = SHORT_S) -> Fields:
        """Ends whatever half line and whatever long verb is there; what the board says about itself."""
        end, repeated = self.line.now() + within, self.repeated
        while True:
            self._end_half_line(end)
            self._send(b"\x03\n", end)
            try:
                answer = self.outcome("hello", within=max(HELLO_S / 10, min(HELLO_S, end - self.line.now())))
            except (NoAnswer, Restarted, _Damaged):
                if self.line.now() >= end:
                    raise
                continue
            if answer.ok:
                self.repeated = repeated  # what was there before is no fault of the line
                self.forget()
                return answer.fields
            if answer.code != "busy" or self.line.now() >= end:
                raise VerbFailed("hello", answer)
            self.run(0.05)

    def forget(self) -> None:
        """Events and log up to now."""
        self.events.clear()
        self.log.clear()
        self._answers.clear()
        self._damaged.clear()

    # What comes in.

    def _send(self, data: bytes, deadline: float) -> None:
        self.line.send(data, deadline)

    def _end_half_line(self, deadline: float) -> None:
        self._send(b"\n", deadline)

    def _has_answer(self, request: Request) -> bool:
        self._take_in(self.line.now())
        return request.sequence in self._answers

    def _answer_to(self, request: Request) -> Answer:
        while True:
            if request.sequence in self._answers:
                return self._not_held(self._answers.pop(request.sequence))
            if self._unnumbered is not None:  # to a request whose number could not be read
                answer, self._unnumbered = self._unnumbered, None
                return answer
            if request.sequence in self._damaged:
                self._damaged.remove(request.sequence)
                raise _Damaged(f"{self.line.name}: the answer to '{request.text}' came damaged: {self.log[-1]!r}")
            if self.restarts != request.restarts:
                raise Restarted(f"{self.line.name}: the board started anew during '{request.text}'")
            if not self._take_in(request.deadline):
                raise NoAnswer(
                    f"{self.line.name}: no answer to '{request.text}' until its deadline{self._partial_said()}"
                )

    def _not_held(self, answer: Answer) -> Answer:
        """A console that several clients see says who of them types (`wizloop serve`)."""
        if answer.code == "busy" and "holder" in answer.fields:
            raise PortBusy(f"{self.line.name} is in use by {answer['holder']}")
        return answer

    def _partial_said(self) -> str:
        """The half line that is there at a deadline is reported, once."""
        partial = self._splitter.take_partial()
        if not partial:
            return ""
        self.log.append(partial)
        return f"; the last line is not whole: {partial[-200:]!r}"

    def _take_in(self, deadline: float) -> bool:
        """Waits for bytes and sorts them; False if none came until then."""
        data = self.line.receive(deadline)
        for text in self._splitter.feed(data):
            self._sort(text)
        return bool(data)

    def _sort(self, text: str) -> None:
        line = protocol.parse(text, self.line.now())
        if isinstance(line, Event):
            self.events.append(line)
            if line.name == "hello":
                self.restarts += 1
            if self.on_event is not None:
                self.on_event(line)
        elif isinstance(line, Log):
            self.log.append(line.text)
            if f"#{self._sequence} " in line.text:
                self._damaged.add(self._sequence)
        elif line.sequence == 0:
            self._unnumbered = line
        elif line.intact or not line.ok:
            self._answers[line.sequence] = line
        else:  # the end is missing, with its checksum
            self.log.append(text)
            self._damaged.add(line.sequence)


def _grace(verb: str) -> float:
    return CLOSING_S if protocol.is_long(verb) else 0.0


def _shown(verb: str, keys: dict[str, object]) -> str:
    return " ".join([verb, *(f"{key}={value}" for key, value in keys.items())])
