"""What judging costs: the simulator with judges and without, case by case.

    ci/judging             # host time: wants an idle machine
    ci/judging counts      # instructions of each frame, by valgrind: the same on any machine, however busy

Times are of two builds of speed_bench, run in turn so that a machine that slows down slows both; it is the fastest run
of each that counts, since whatever disturbs a run makes it slower. Where a program lies in memory does that too, and stays
as it is as long as the file does: so each run is one of a fresh copy. The last column says how much longer the slowest of
the judged copies took than the fastest, as a measure of what a difference has to exceed to mean something.
"""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROUNDS = 15
# Frames of one register; bytes; buffer frames of 2 KiB; whole runs.
CASES = "register_frames|spi_bytes|end_to_end"

# What a frame is to the driver, and in which case it makes them.
FRAMES = {
    "register read": ("register_frames", "w5500::ByteBus::read("),
    "2 KiB read by bytes": ("spi_bytes/byte", "w5500::ByteBus::read("),
    "2 KiB written by bytes": ("spi_bytes/byte", "w5500::ByteBus::write("),
    "2 KiB read in bursts": ("spi_bytes/burst", "w5500::BurstBus::read("),
    "2 KiB written in bursts": ("spi_bytes/burst", "w5500::BurstBus::write("),
    "2 KiB read by DMA": ("spi_bytes/dma", "w5500::DmaBus::read("),
    "2 KiB written by DMA": ("spi_bytes/dma", "w5500::DmaBus::write("),
}


def run(program):
    command = [program, f"--benchmark_filter={CASES}", "--benchmark_min_time=0.1", "--benchmark_format=json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
    # In ns: what one iteration takes.
    units = {"ns": 1, "us": 1e3, "ms": 1e6}
    return {case["name"]: case["cpu_time"] * units[case["time_unit"]] for case in report["benchmarks"]}


def times(programs):
    taken = [collections.defaultdict(list) for _ in programs]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            for side, (program, of) in enumerate(zip(programs, taken)):
                copy = shutil.copy(program, pathlib.Path(folder) / f"{side}-{number}")
                for case, time in run(copy).items():
                    of[case].append(time)
                copy.unlink()
    return taken


def profile(program, case):
    """Of each function: how often it was called, and the instructions spent in these calls."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [program, f"--benchmark_filter={case}$", "--benchmark_min_time=0.1"]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        lines = out.read_text(errors="replace").splitlines()
    names, calls, spent = {}, collections.Counter(), collections.Counter()
    callee, calls_here = None, None
    for line in lines:
        # A name stands behind its number where that comes for the first time; the line after calls= has the cost.
        if function := re.match(r"(c?)fn=\((\d+)\)(?: (.+))?", line):
            if function[3]:
                names[function[2]] = function[3]
            if function[1]:
                callee = function[2]
        elif line.startswith("calls="):
            calls_here = int(line.removeprefix("calls=").split()[0])
        elif calls_here is not None:
            calls[callee] += calls_here
            spent[callee] += int(line.split()[1])
            calls_here = None
    return {name: (calls[number], spent[number]) for number, name in names.items() if calls[number]}


def counts(programs):
    found = ({}, {})
    for program, of in zip(programs, found):
        profiles = {case: profile(program, case) for case, _ in FRAMES.values()}
        for frame, (case, function) in FRAMES.items():
            calls, spent = next(cost for name, cost in profiles[case].items() if name.startswith(function))
            of[frame] = spent / calls
    return found


def show_times(programs):
    judged, without = times(programs)
    print(f"{'case':26}{'judged, ns':>18}{'not, ns':>18}{'costs':>9}{'copies':>9}")
    for case, taken in judged.items():
        fastest, other = min(taken), min(without[case])
        print(f"{case:26}{fastest:18.1f}{other:18.1f}{fastest / other - 1:>+9.1%}{max(taken) / fastest - 1:>9.1%}")


def show_counts(programs):
    judged, without = counts(programs)
    print(f"{'case':26}{'judged, instr.':>18}{'not, instr.':>18}{'costs':>9}")
    for case, cost in judged.items():
        print(f"{case:26}{cost:18.1f}{without[case]:18.1f}{cost / without[case] - 1:>+9.1%}")


def main(what, judged, unjudged):
    {"times": show_times, "counts": show_counts}[what]((judged, unjudged))


if __name__ == "__main__":
    main(*sys.argv[1:])
