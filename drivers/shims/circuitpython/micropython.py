"""`micropython`, as far as drivers want it: names that tell the compiler something and the program nothing."""

from __future__ import annotations

from typing import TypeVar

Anything = TypeVar("Anything")


def const(value: Anything) -> Anything:
    return value


def native(function: Anything) -> Anything:
    return function


def viper(function: Anything) -> Anything:
    return function
