#!/usr/bin/env python3
"""Makes one C++ file of a sketch, as the Arduino IDE does: its .ino files one after another (the one that bears its
folder's name first, then by name), Arduino.h before them, and a prototype of each function before the first of them, so
that functions may be called before they are defined.

    sketch_to_cpp.py -o sketch.cpp folder/folder.ino folder/more.ino

This is no parser of C++. A function is text at the outermost level that ends in a parameter list and is followed by a body;
that covers templates, attributes, default arguments, references and operators. What stands in namespaces and classes needs
no prototype. A prototype repeats the #if lines around its function. #line keeps errors at the places that people know.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Comments, literals and preprocessor lines: text in which a brace means nothing.
MEANINGLESS = re.compile(
    r"""
      //[^\n]*(?:\\\n[^\n]*)*
    | /\*.*?(?:\*/|\Z)
    | (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'
    | "(?:\\(?:.|\n)|[^"\\\n])*"
    | ^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[[^\]]*\]\]")
NAME_AND_PARENTHESIS = re.compile(r"(?P<name>\boperator\s*(?:\(\s*\)|[^\s\w(]+)|\b[A-Za-z_]\w*)\s*\(")
NO_TYPE = re.compile(r"^(?:namespace|extern|return|else)\b|[=]|::$")
AFTER_PARAMETERS = re.compile(r"^(?:noexcept\b.*|->.*)?$", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(?:\\\n|[^\n])*", re.MULTILINE)


@dataclass
class Function:
    start: int  # of its first token in the text
    prototype: str
    # The #if lines around it, those of one level together, and where the outermost stands.
    conditions: list[list[str]] = field(default_factory=list)
    outermost: int = -1


def spaces_for(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def blank_out(text: str) -> str:
    """The text with what is meaningless replaced by spaces: the same length, the same lines."""
    return MEANINGLESS.sub(lambda match: spaces_for(match.group()), text)


def split_outside_brackets(text: str, separator: str) -> list[str]:
    """'<' opens a bracket after a name only, as in `Pair<int, 3>`."""
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(text):
        if c in "([{" or (c == "<" and re.search(r"\w\s*$", text[:at])):
            depth += 1
        elif c in ")]}" or (c == ">" and depth > 0 and text[at - 1] != "-"):
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]


def closing_parenthesis(text: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return -1


def prototype_of(head: str) -> str | None:
    """The prototype for what stands before a body, or None if that is not a function's."""
    head = ATTRIBUTE.sub(lambda match: spaces_for(match.group()), head)
    named = NAME_AND_PARENTHESIS.search(head)
    if named is None:
        return None
    opening = named.end() - 1
    closing = closing_parenthesis(head, opening)
    before, after = head[: named.start()].strip(), head[closing + 1 :].strip()
    if closing < 0 or not before or NO_TYPE.search(before) or not AFTER_PARAMETERS.match(after):
        return None
    # A default argument belongs to the definition.
    parameters = [
        split_outside_brackets(parameter, "=")[0].strip()
        for parameter in split_outside_brackets(head[opening + 1 : closing], ",")
    ]
    return re.sub(r"\s+", " ", f"{before} {named.group('name')}({', '.join(parameters)}) {after}").strip() + ";"


def functions_in(text: str) -> list[Function]:
    """The functions that are defined at the outermost level, but for those that have a prototype already."""
    blank = blank_out(text)
    found: list[Function] = []
    declared: set[str] = set()
    braces = parentheses = begin = 0
    for at, c in enumerate(blank):
        if c in "()":
            parentheses += 1 if c == "(" else -1
        elif parentheses > 0:
            continue
        elif c == "{":
            prototype = prototype_of(blank[begin:at]) if braces == 0 else None
            if prototype is not None:
                head = blank[begin:at]
                found.append(Function(begin + len(head) - len(head.lstrip()), prototype))
            braces += 1
        elif c == "}":
            braces -= 1
            begin = at + 1 if braces == 0 else begin
        elif c == ";" and braces == 0:
            declared.add(re.sub(r"\s+", "", blank[begin : at + 1]))
            begin = at + 1
    functions = [function for function in found if re.sub(r"\s+", "", function.prototype) not in declared]
    add_conditions(text, functions)
    return functions


def add_conditions(text: str, functions: list[Function]) -> None:
    # Directives in comments are none.
    comments = [match.span() for match in MEANINGLESS.finditer(text) if match.group().startswith("/")]
    directives = [
        match
        for match in DIRECTIVE.finditer(text)
        if not any(first <= match.start() < last for first, last in comments)
    ]
    for function in functions:
        levels: list[tuple[int, list[str]]] = []
        for directive in directives:
            if directive.start() > function.start:
                break
            word = directive.group(1)
            if word.startswith("if"):
                levels.append((directive.start(), [directive.group().strip()]))
            elif not levels:
                continue
            elif word == "endif":
                levels.pop()
            else:
                levels[-1][1].append(directive.group().strip())
        function.conditions = [lines for _, lines in levels]
        function.outermost = levels[0][0] if levels else -1


def in_order(files: list[Path]) -> list[Path]:
    return sorted(files, key=lambda file: (file.stem != file.resolve().parent.name, file.name))


def convert(files: list[tuple[Path, str]]) -> str:
    """The C++ file of the .ino files with their texts, in this order."""
    text, starts = "", []
    for file, content in files:
        starts.append((len(text), file))
        text += content if content.endswith("\n") else content + "\n"

    def line_mark(at: int) -> str:
        start, file = max(entry for entry in starts if entry[0] <= at)
        name = str(file).replace("\\", "\\\\").replace('"', '\\"')
        return f'#line {text.count(chr(10), start, at) + 1} "{name}"\n'

    def marked(begin: int, end: int) -> str:
        places = [begin, *(start for start, _ in starts if begin < start < end), end]
        return "".join(line_mark(a) + text[a:b] for a, b in zip(places, places[1:]) if a < b)

    functions = functions_in(text)
    cut = 0
    if functions:
        first = functions[0]
        cut = text.rfind("\n", 0, first.start) + 1 if first.outermost < 0 else first.outermost
    prototypes = ""
    for function in functions:
        for lines in function.conditions:
            prototypes += "".join(line + "\n" for line in lines)
        prototypes += line_mark(function.start) + function.prototype + "\n" + "#endif\n" * len(function.conditions)
    return '#include "Arduino.h"\n' + marked(0, cut) + prototypes + marked(cut, len(text))


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
