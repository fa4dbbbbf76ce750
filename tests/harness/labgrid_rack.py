"""A rack as labgrid has it, on loopback: a coordinator, two exporters and four virtual boards behind them.

    with Rack.started(folder) as rack:
        rack.run("test", "--dut", "labgrid:any", "--", "-q", body)
        rack.exporters["rack2"].kill()

b1 and b2 are rack1's, b3 and b4 rack2's; the console of b4 is a console server's. b5 is rack2's too, a serial port, and for
whoever asks for it by its tag. All that is started ends with it.
"""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bounded import SECONDS, read_line
from serve_test import WIZLOOP, Served, serve

BOARDS = {"b1": "rack1", "b2": "rack1", "b3": "rack2", "b4": "rack2"}
PROFILES = {"b1": "w55rp20", "b2": "w55rp20", "b3": "w55rp20", "b4": "stm32f405-arduino"}


class Relay(http.server.BaseHTTPRequestHandler):
    """A relay board with a web server, on the control port of `wizloop serve`: PUT /power/1 switches b1."""

    served: Served

    def do_PUT(self) -> None:
        on = self.rfile.read(int(self.headers["Content-Length"])) == b"1"
        _, what, number = self.path.split("/")
        verb = {"power": ("off", "on"), "cable": ("unplug", "replug"), "reset": ("", "reset")}[what][on]
        done = not verb or self.served.command(f"{verb} b{number}").startswith("ok")
        self.send_response(200 if done else 500)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Process:
    """One of labgrid's, which can be killed and started again."""

    def __init__(self, ready: str, command: list[str], folder: Path, **environment: str) -> None:
        self._ready, self._command, self._folder = ready, command, folder
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        folder = self._folder
        folder.mkdir(exist_ok=True)
        with (folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                self._command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, env=self._environment
            )
        while self._ready not in (line := read_line(self._process)):
            assert line, (folder / "log").read_text()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=SECONDS)
            self._process = None


class Rack:
    def __init__(self, folder: Path, served: Served, relay: int) -> None:
        self.folder = folder
        self.address = f"127.0.0.1:{free_port()}"
        self.environment = {
            **os.environ,
            "LG_COORDINATOR": self.address,
            "WIZLOOP_INVENTORY": str(folder / "boards.toml"),
        }
        self.served = served
        self.relay = relay
        self.coordinator = Process(
            "listening on", [sys.executable, "-m", "labgrid.remote.coordinator", "-l", self.address], folder / "coordinator"
        )
        self.exporters = {name: self._exporter(name) for name in dict.fromkeys(BOARDS.values())}
        self.client(*(("-p", name, "create") for name in (*BOARDS, "b5")))
        self.client(
            *(("-p", name, "add-match", f"{rack}/{name}/*") for name, rack in BOARDS.items()),
            *(("-p", name, "set-tags", "agent=wizloop", f"profile={of}") for name, of in PROFILES.items()),
            ("-p", "b5", "add-match", "rack2/b5/*"),
            ("-p", "b5", "set-tags", "console=ser2net"),
        )
        (folder / "boards.toml").write_text(
            "".join(f'[[board]]\nname = "{name}"\naddress = "labgrid:{name}"\n' for name in BOARDS)
        )

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator[Rack]:
        with ExitStack() as stack:
            words = []
            for name, profile in PROFILES.items():
                console = "--rfc2217" if name == "b4" else "--tcp"
                words += ["--board", profile, "--name", name, console, "127.0.0.1:0"]
            words += ["--board", "w55rp20", "--name", "b5"]
            served = stack.enter_context(serve(*words, "--control", "127.0.0.1:0"))
            Relay.served = served
            relay = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay))
            threading.Thread(target=relay.serve_forever, daemon=True).start()
            stack.callback(relay.shutdown)
            rack = cls(folder, served, relay.server_port)
            for process in (rack.coordinator, *rack.exporters.values()):
                stack.callback(process.kill)
            yield rack

    def _exporter(self, name: str) -> Process:
        file = self.folder / f"{name}.yaml"
        resources = "".join(self._exported(board) for board, rack in BOARDS.items() if rack == name)
        if name == "rack2":
            resources += f"b5: {{RawSerialPort: {{port: {self.served.boards['b5']['pty']}, speed: 1000000}}}}\n"
        file.write_text(resources)
        command = [sys.executable, "-m", "labgrid.remote.exporter", "-c", self.address, "-n", name, str(file)]
        return Process("Exporter ready", command, self.folder / name)

    def _exported(self, board: str) -> str:
        protocol = "rfc2217" if board == "b4" else "raw"
        port = self.served.boards[board]["rfc2217" if board == "b4" else "tcp"].rpartition(":")[2]
        number, url = board[1:], f"http://127.0.0.1:{self.relay}"
        output = "HttpDigitalOutput, url: '%s', body_asserted: '1', body_deasserted: '0'"
        return f"""{board}:
  console: {{cls: NetworkSerialPort, host: 127.0.0.1, port: {port}, speed: 115200, protocol: {protocol}}}
  power: {{cls: NetworkPowerPort, model: rest, host: '{url}/power/{{index}}', index: '{number}'}}
  cable: {{cls: {output % f"{url}/cable/{number}"}}}
  reset: {{cls: {output % f"{url}/reset/{number}"}}}
"""

    # What people and tests do with it.

    def client(self, *commands: tuple[str, ...]) -> str:
        """All at once, as each takes a while to start; what they say."""
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "labgrid.remote.client", *words],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment,
            )  # fmt: skip
            for words in commands
        ]
        said = ""
        for process in started:
            said += process.communicate(timeout=SECONDS)[0]
            assert process.returncode == 0, said
        return said

    def held(self) -> list[str]:
        """The places that somebody has, as `labgrid-client who` lists them."""
        return [line.split()[2] for line in self.client(("who",)).splitlines()[1:]]

    @contextmanager
    def started_program(self, *words: object, **more: str) -> Iterator[subprocess.Popen[str]]:
        """The program wizloop, which is killed if it has not ended by the end."""
        with subprocess.Popen(
            [*WIZLOOP, *map(str, words)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**self.environment, **more},
            cwd=self.folder,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    def run(self, *words: object, **more: str) -> tuple[int, str]:
        with self.started_program(*words, **more) as process:
            said, _ = process.communicate(timeout=6 * SECONDS)
        return process.returncode, said


def eventually(holds: object, within: float = SECONDS) -> float:
    """How long it took."""
    started = time.monotonic()
    while not holds():  # type: ignore[operator]
        assert time.monotonic() - started < within
        time.sleep(0.05)
    return time.monotonic() - started
