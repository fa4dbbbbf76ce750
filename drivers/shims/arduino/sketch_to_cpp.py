#!/usr/bin/env python3
"""Makes one C++ file of a sketch, as the Arduino IDE does: its .ino files one after another (the one that bears its
folder's name first, then by name), Arduino.h before them, and a prototype of each function before the first of them, so
that functions may be called before they are defined.

    sketch_to_cpp.py -o sketch.cpp folder/folder.ino folder/more.ino

No parser of C++: a function is found as text that stands at the outermost level, ends in a parameter list and is followed
by a body. That covers templates, attributes, default arguments, references, arrays and operators outside of classes; what
stands in namespaces and classes needs no prototype. #line keeps errors in the places that people know.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

# What can stand before a body without being a function.
NOT_A_FUNCTION = re.compile(r"^(?:class|struct|union|enum|namespace|extern|if|for|while|switch|do|else|return|catch)\b")


@dataclass
class Function:
    start: int  # of its first token in the text
    prototype: str


def blank_out(text: str) -> str:
    """The text with comments, literals and preprocessor lines replaced by spaces: same length, same lines."""
    token = re.compile(
        r"""
          //[^\n]*(?:\\\n[^\n]*)*
        | /\*.*?(?:\*/|\Z)
        | (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
        | (?:(?<=[^\w])|^)(?:u8|[uUL])?'(?:\\.|[^'\\\n])*'
        | "(?:\\(?:.|\n)|[^"\\\n])*"
        | ^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*
        """,
        re.VERBOSE | re.DOTALL | re.MULTILINE,
    )

    def spaces(match: re.Match[str]) -> str:
        # A literal keeps its quotes, so that a default argument is still one.
        found = match.group()
        kept = re.sub(r"[^\n]", " ", found)
        return found[0] + kept[1:-1] + found[-1] if found[0] in "\"'" and len(found) > 1 else kept

    return token.sub(spaces, text)


def split_top_level(text: str, separator: str) -> list[str]:
    """Splits where no bracket is open. A '<' opens one only after a name, as in `Pair<int, 3>`."""
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(text):
        if c in "([{" or (c == "<" and re.search(r"\w\s*$", text[:at])):
            depth += 1
        elif c in ")]}" or (c == ">" and depth > 0 and text[at - 1] != "-"):
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return parts + [text[begin:]]


def matching_open(text: str, close: int) -> int:
    """Where the parenthesis that closes at `close` was opened; -1: nowhere."""
    depth = 0
    for at in range(close, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return -1


def without_defaults(parameters: str) -> str:
    kept = []
    for parameter in split_top_level(parameters, ","):
        kept.append(split_top_level(parameter, "=")[0].strip())
    return ", ".join(kept)


def prototype_of(head: str, source: str) -> str | None:
    """The prototype of a definition whose head this is, with literals blanked out in `head` and whole in `source`."""
    flat = head.strip()
    if not flat.endswith((")", "noexcept", "const", "]")) and not re.search(r"\)\s*(?:noexcept\b.*|->.*|__attribute__.*)$", flat):
        return None
    name = re.search(r"(?P<name>(?:\boperator\s*[^\s\w(]+|\boperator\s*\(\s*\)|[A-Za-z_]\w*))\s*\(", strip_attributes(head))
    if name is None or NOT_A_FUNCTION.match(flat) and not flat.startswith(("struct ", "class ", "enum ", "union ")):
        return None
    clean = strip_attributes(head)
    open_at = name.end() - 1
    depth, close_at = 0, -1
    for at in range(open_at, len(clean)):
        depth += (clean[at] == "(") - (clean[at] == ")")
        if depth == 0:
            close_at = at
            break
    before = clean[: name.start("name")].strip()
    after = clean[close_at + 1 :].strip()
    is_qualified = before.endswith("::") or name.group("name") in ("if", "for", "while", "switch", "catch", "defined")
    if close_at < 0 or not before or is_qualified or "=" in before.replace("operator=", ""):
        return None
    if after and not re.match(r"^(?:noexcept\b|->)", after):
        return None
    del source
    parameters = without_defaults(clean[open_at + 1 : close_at])
    text = f"{before} {name.group('name')}({parameters})" + (f" {after}" if after else "")
    return re.sub(r"\s+", " ", text) + ";"


def strip_attributes(head: str) -> str:
    """Attributes belong to the definition; a prototype that repeats them may contradict it."""
    previous = None
    while previous != head:
        previous = head
        head = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[[^\]]*\]\]", lambda m: " " * len(m.group()), head)
    return head


def functions_in(text: str) -> list[Function]:
    """The functions that are defined at the outermost level, but for those that have a prototype already."""
    blank = blank_out(text)
    found: list[Function] = []
    declared: set[str] = set()
    depth, begin, parentheses = 0, 0, 0
    for at, c in enumerate(blank):
        if c in "()":
            parentheses += 1 if c == "(" else -1
        if parentheses > 0:
            continue
        if c == "{":
            if depth == 0:
                head = blank[begin:at]
                prototype = prototype_of(head, text[begin:at])
                if prototype is not None:
                    start = begin + len(head) - len(head.lstrip())
                    found.append(Function(start, prototype))
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                begin = at + 1
        elif c == ";" and depth == 0:
            declared.add(re.sub(r"\s+", "", blank[begin:at]) + ";")
            begin = at + 1
    return [function for function in found if re.sub(r"\s+", "", function.prototype) not in declared]


def in_order(files: list[Path]) -> list[Path]:
    return sorted(files, key=lambda file: (file.stem != file.resolve().parent.name, file.name))


def line_mark(number: int, file: Path) -> str:
    return f'#line {number} "{str(file).replace(chr(92), "/")}"\n'


def convert(files: list[tuple[Path, str]]) -> str:
    """The C++ file of the .ino files with their texts, in this order."""
    text, starts = "", []
    for file, content in files:
        starts.append((len(text), file))
        text += content if content.endswith("\n") else content + "\n"

    def place(at: int) -> tuple[int, Path]:
        start, file = max(entry for entry in starts if entry[0] <= at)
        return text.count("\n", start, at) + 1, file

    functions = functions_in(text)
    # Before the first function, and before a line of its own: `template <...>` and comments stay with it.
    cut = text.rfind("\n", 0, functions[0].start) + 1 if functions else 0
    body = ""
    bounds = [start for start, _ in starts if start > cut] + [len(text)]
    begin = cut
    for end in bounds:
        line, file = place(begin)
        body += line_mark(line, file) + text[begin:end]
        begin = end
    head = ""
    begin = 0
    for start, _ in starts[1:]:
        if start < cut:
            head += line_mark(*place(begin)) + text[begin:start]
            begin = start
    head += line_mark(*place(begin)) + text[begin:cut] if cut else ""
    prototypes = ""
    for function in functions:
        line, file = place(function.start)
        prototypes += line_mark(line, file) + function.prototype + "\n"
    return '#include "Arduino.h"\n' + head + prototypes + body


def main() -> int:
    parser = argparse.ArgumentParser(description="makes one C++ file of the .ino files of a sketch")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-o", dest="output", type=Path, required=True)
    arguments = parser.parse_args()
    contents = [(file, file.read_text(encoding="utf-8")) for file in in_order(arguments.files)]
    arguments.output.write_text(convert(contents), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
