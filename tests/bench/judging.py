"""What judging costs: host time of the simulator with judges and without, case by case.

    ci/judging

Runs two builds of speed_bench in turn, so that a machine that slows down slows both, and compares the fastest run of
each, since whatever disturbs a run makes it slower.
"""

import json
import subprocess
import sys

ROUNDS = 9
# Frames of one register; bytes; buffer frames of 2 KiB; whole runs.
CASES = "register_frames|spi_bytes|end_to_end"


def run(program):
    command = [program, f"--benchmark_filter={CASES}", "--benchmark_min_time=0.1", "--benchmark_format=json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
    # In ns: what one iteration takes.
    units = {"ns": 1, "us": 1e3, "ms": 1e6}
    return {case["name"]: case["cpu_time"] * units[case["time_unit"]] for case in report["benchmarks"]}


def main(judged, unjudged):
    fastest = ({}, {})
    for _ in range(ROUNDS):
        for program, times in zip((judged, unjudged), fastest):
            for case, time in run(program).items():
                times[case] = min(time, times.get(case, time))
    print(f"{'case':24}{'judged, ns':>14}{'not, ns':>14}{'costs':>9}")
    for case, time in fastest[0].items():
        without = fastest[1][case]
        print(f"{case:24}{time:14.1f}{without:14.1f}{time / without - 1:>+9.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
