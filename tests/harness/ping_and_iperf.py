"""What the README's second screen shows, in a network that has been made for it. serve_test.py starts it."""

from __future__ import annotations

import re
import subprocess
import sys

from serve_test import BOARD, SECONDS, ask, open_serial, serve


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True).stdout


def main(link: str) -> None:
    with serve("--board", BOARD, "--serial", link, "--net", "veth:board0") as served:
        ip = served.board()["ip"]
        with open_serial(link) as port:
            assert " up=1 " in ask(port, "link wait_ms=10000", 1)
            port.write(b"#2 tcp-server port=5001 mode=iperf conns=2 s=30\n")
            run("ping", "-c", "1", "-w", "5", ip)  # resolves addresses
            times = [float(time) for time in re.findall(r"time=([\d.]+) ms", run("ping", "-c", "10", "-i", "0.01", ip))]
            print(f"ping: {len(times)} answers, median {sorted(times)[5]} ms")
            assert len(times) == 10
            run("ping", "-c", "1", "-s", "1472", "-M", "do", ip)
            for option in ((), ("-R",)):
                print(run("iperf", "-c", ip, "-t", "1", *option))
            print(port.read_until(b"#2 ok ").decode() + port.read_until(b"\n").decode())
        served.end()


if __name__ == "__main__":
    main(sys.argv[1])
