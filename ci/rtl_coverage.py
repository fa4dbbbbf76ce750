"""What the RTL of sim/rtl has been through: lines, toggles, and the frames that its SPI front has met.

    ci/rtl_coverage.py JUNIT.XML FOLDER

Adds up the counts that the models have left in the folder, prints a line for each kind and the points that nothing has hit, and
writes the figures as JUnit, for the report. ci/coverage calls it.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement

KINDS = {"v_line": "lines and branches", "v_toggle": "toggles", "v_user": "kinds of frames", "frames": "frames"}
LEAST_PCT = {"v_line": 100.0, "v_toggle": 95.0, "v_user": 100.0, "frames": 95.0}
LENGTHS = {"vdm": ("1", "2", "3-4", "5-16", "17-256", "257 or more"), "fdm": ("1", "2", "4")}
BROKEN = ("before the header", "behind one byte", "behind two bytes", "behind the header", "within a byte")
SHOWN = 8


def points(file: Path) -> dict[tuple[str, str], int]:
    """Hits by kind and name of point."""
    hits: dict[tuple[str, str], int] = {}
    for line in file.read_text(errors="replace").splitlines():
        if not line.startswith("C '"):
            continue
        keys, _, count = line[3:].rpartition("' ")
        of = dict(part.split("\x02", 1) for part in keys.split("\x01") if "\x02" in part)
        kind, _, module = of["page"].partition("/")
        name = of["h"].rpartition(".bench.")[2] if kind == "v_user" else f"{Path(of['f']).name}:{of['l']} {of['o']}"
        if kind != "v_user" and not module.startswith("spi_front"):
            continue  # what watches it is no part of it
        hits[kind, f"{name} {of['h'] if kind == 'v_toggle' else ''}".strip()] = int(count)
    return hits


def frames(file: Path) -> dict[tuple[str, str], int]:
    """The cross of spi_frame_coverage.sv: kinds x blocks x lengths x modes."""
    met: dict[tuple[str, str], int] = {}
    for line in file.read_text().splitlines():
        kind, bits = line.split()
        for index, bit in enumerate(bits):
            met["frames", f"{kind} {_name(kind, index)}"] = int(bit)
    return met


def _name(kind: str, index: int) -> str:
    if kind == "broken":
        mode, place = divmod(index, len(BROKEN))
        return f"mode {3 * mode}, {BROKEN[place]}"
    lengths = LENGTHS[kind]
    rest, length = divmod(index, len(lengths))
    rest, bsb = divmod(rest, 32)
    mode, writes = divmod(rest, 2)
    return f"mode {3 * mode}, {'write' if writes else 'read'} of BSB {bsb}, {lengths[length]} bytes"


def main(junit: str, folder: str) -> int:
    total: Counter[tuple[str, str]] = Counter()
    for file in Path(folder).glob("*.dat"):
        total.update(points(file))
    for file in Path(folder).glob("*.frames"):
        total.update(frames(file))
    by_kind: dict[str, dict[str, int]] = defaultdict(dict)
    for (kind, name), hits in total.items():
        by_kind[kind][name] = hits
    suite = Element("testsuite", name="rtl coverage")
    failed = False
    for kind, title in KINDS.items():
        of = by_kind[kind]
        missed = sorted(name for name, hits in of.items() if hits == 0)
        hit = len(of) - len(missed)
        share = 100 * hit / len(of) if of else 0.0
        text = f"rtl {title}: {share:.1f} % ({hit} of {len(of)})"
        print(text)
        for name in missed[:SHOWN]:
            print(f"    not hit: {name}")
        if len(missed) > SHOWN:
            print(f"    and {len(missed) - SHOWN} more")
        case = SubElement(suite, "testcase", classname="ci/coverage", name=f"rtl {title}")
        SubElement(SubElement(case, "properties"), "property", name="figure", value=text)
        if share < LEAST_PCT[kind]:
            failed = True
            SubElement(case, "failure", message=f"{text}, at least {LEAST_PCT[kind]:g} % expected")
    ElementTree(suite).write(junit, encoding="utf-8", xml_declaration=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
