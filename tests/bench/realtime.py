"""How well a virtual rack board keeps real time: ratios against virtual time, and latencies against their budgets.

    ci/realtime

Noisy by nature: each figure is the best of some rounds, which a busy machine disturbs least, and the load is printed.
With 16 KiB of memory each way a transfer is the board's matter. With 2 KiB how the peer cuts its segments for a window of
2048 bytes decides (sim/realtime/README.md), so these rows have no budget.
A verdict `over` says that a budget was missed on this machine now; it fails nothing.
"""

import os
import re
import select
import signal
import socket
import statistics
import subprocess
import sys
import termios
import threading
import time
import tty
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
BOARD = ROOT / "boards" / "stm32f405-arduino.toml"
SECONDS = 60
BYTES = 4 << 20
ROUNDS = 5


def fields(text):
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def show(what, value, budget, good):
    print(f"{what:52} {value:>30}   {budget:22} {'PASS' if good else 'over'}", flush=True)


class Rack:
    """A process that serves boards."""

    def __init__(self, *arguments, prefix=()):
        command = [*prefix, str(BUILD / "harness/gateway/wizloop-serve"), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.boards = []
        for line in self.process.stdout:
            if line.startswith("ready "):
                self.boards.append(fields(line))
            if line.startswith("serving "):
                return
        raise SystemExit(f"realtime: {' '.join(command)} serves nothing")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=SECONDS)

    def cpu_seconds(self):
        ticks = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


class Console:
    """A board's pty."""

    def __init__(self, device):
        self.fd = os.open(device, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.fd, termios.TCSANOW)
        self.buffer = b""
        self.number = 0
        assert " up=1 " in self.ask("link wait_ms=10000")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def send(self, request):
        self.number += 1
        os.write(self.fd, f"#{self.number} {request}\n".encode())
        return self.number

    def answer(self, number):
        deadline = time.monotonic() + SECONDS
        while True:
            line, newline, rest = self.buffer.partition(b"\n")
            if newline:
                self.buffer = rest
                if line.startswith(b"#%d " % number):
                    return line.decode().split(" ", 1)[1]
                continue
            if not select.select([self.fd], [], [], deadline - time.monotonic())[0]:
                raise SystemExit(f"realtime: no answer to request {number}")
            self.buffer += os.read(self.fd, 65536)

    def ask(self, request):
        return self.answer(self.send(request))


class Peer:
    """Sends the pattern to one connection or swallows what it brings, in a thread of its own."""

    def __init__(self, address, sends):
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        self.sends = sends
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection:
            if self.sends:
                connection.sendall(bytes(range(256)) * (BYTES // 256))
                connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        self.listener.close()


def transfer(console, verb, listen_at, ip, kib):
    """kbit/s that the board itself has measured."""
    peer = Peer(listen_at, verb == "tcp-recv")
    size = f" bytes={BYTES}" if verb == "tcp-send" else ""
    answer = console.ask(f"{verb} ip={ip} port={peer.port}{size} kib={kib} timeout_ms=50000")
    peer.thread.join(SECONDS)
    values = fields(answer)
    if not answer.startswith("ok") or int(values["bytes"]) != BYTES or int(values.get("bad", 0)):
        raise SystemExit(f"realtime: {verb}: {answer}")
    return int(values["kbit_s"])


def throughput(rack, over, listen_at, ip, virtual):
    with Console(rack.boards[0]["pty"]) as console:
        for kib in virtual:
            for verb in ("tcp-recv", "tcp-send"):
                rates = [transfer(console, verb, listen_at, ip, kib) for _ in range(ROUNDS)]
                exact = float(virtual[kib][f"{verb}_kbit_s"])
                best = max(rates)
                what = f"{verb} over {over}, {kib} KiB, best of {ROUNDS}"
                spread = f"{best / 1000:.2f} of {exact / 1000:.2f} Mbit/s = {best / exact:.0%}"
                if kib == 16:
                    show(what, spread, "90 % of virtual time", best >= 0.9 * exact)
                else:
                    print(f"{what:52} {spread:>30}")
                print(f"    rounds: {', '.join(f'{rate / 1000:.2f}' for rate in rates)} Mbit/s")
        values = fields(console.ask("stats"))
        print(f"    late_max_us={values['late_max_us']} slipped_us={values['slipped_us']}")


def console_round_trip():
    with Rack("--board", str(BOARD)) as rack, Console(rack.boards[0]["pty"]) as console:
        rounds = []
        for _ in range(ROUNDS):
            times = []
            for _ in range(200):
                start = time.perf_counter()
                console.ask("hello")
                times.append(1000 * (time.perf_counter() - start))
            rounds.append((statistics.median(times), statistics.quantiles(times, n=100)[98]))
        median, p99 = min(rounds)
    show("console round trip on the pty, hello", f"median {median:.2f} p99 {p99:.2f} ms", "median under 2 ms", median < 2)
    print(f"    medians: {', '.join(f'{each:.2f}' for each, _ in rounds)} ms")


def eight_boards():
    arguments = []
    for number in range(8):
        arguments += ["--board", str(BOARD), "--name", f"b{number}"]
    with Rack(*arguments, prefix=("taskset", "-c", "0")) as rack:
        consoles = [Console(board["pty"]) for board in rack.boards]
        for name in ("asleep", "four pairs sending and receiving"):
            before = fields(consoles[0].ask("stats"))
            cpu, start = rack.cpu_seconds(), time.monotonic()
            if name == "asleep":
                time.sleep(3)
            else:
                waiting = []
                for number in range(0, 8, 2):
                    a, b = consoles[number], consoles[number + 1]
                    waiting.append((b, b.send("tcp-recv port=5001 timeout_ms=50000")))
                    time.sleep(0.02)
                    peer = rack.boards[number + 1]["ip"]
                    waiting.append((a, a.send(f"tcp-send ip={peer} port=5001 bytes={BYTES} timeout_ms=50000")))
                answers = [console.answer(number) for console, number in waiting]
                if not all(answer.startswith("ok") for answer in answers):
                    raise SystemExit(f"realtime: {answers}")
            wall = time.monotonic() - start
            busy = (rack.cpu_seconds() - cpu) / wall
            after = fields(consoles[0].ask("stats"))
            slipped = int(after["slipped_us"]) - int(before["slipped_us"])
            show(f"8 boards on one core, {name}", f"slipped {slipped} us, CPU {busy:.0%}", "slips nothing", slipped == 0)
            print(f"    late_max_us={after['late_max_us']}, {wall:.1f} s")
        for console in consoles:
            os.close(console.fd)


def in_namespace(virtual):
    """As root of a network of our own."""
    for command in (
        "ip link set lo up",
        "ip link add wiz0 type veth peer name host0",
        "ip address add 192.168.1.10/24 dev host0",
        "ip link set wiz0 up",
        "ip link set host0 up",
    ):
        subprocess.run(command.split(), check=True)
    with Rack("--board", str(BOARD), "--net", "veth:wiz0") as rack:
        throughput(rack, "veth", "192.168.1.10", "192.168.1.10", virtual)
        ip = rack.boards[0]["ip"]
        command = ["ping", "-q", "-c", "1", "-w", "5", ip]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # resolves addresses
        said = subprocess.run(["ping", "-c", "500", "-i", "0.005", ip], capture_output=True, text=True, timeout=SECONDS).stdout
        times = sorted(float(each) for each in re.findall(r"time=([\d.]+) ms", said))
        median, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        model = float(virtual[16]["ping_us"]) / 1000
        spread = f"median {median:.3f} p99 {p99:.3f} ms"
        show(f"ping through veth, {len(times)} of 500", spread, f"{model:.3f} + 1 ms", median < model + 1 and len(times) == 500)


def main():
    virtual = {}
    for kib in (16, 2):
        command = [BUILD / "tests/bench/virtual_figures", BOARD, str(BYTES), str(kib)]
        virtual[kib] = fields(subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS).stdout)
    if "--in-namespace" in sys.argv:
        return in_namespace(virtual)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {BYTES} bytes a transfer, board {BOARD.stem}")
    console_round_trip()
    with Rack("--board", str(BOARD), "--net", "slirp") as rack:
        throughput(rack, "slirp", "127.0.0.1", "10.0.2.2", virtual)
    sys.stdout.flush()
    done = subprocess.run(["unshare", "-Urn", sys.executable, __file__, "--in-namespace"], timeout=10 * SECONDS)
    if done.returncode != 0:
        print("veth was not measured: this user may make no network namespaces, or something went wrong in it")
    eight_boards()
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
