"""A long series in few points that look the same: of each stretch its first, lowest, highest and last value."""

from __future__ import annotations

from collections.abc import Sequence


def condensed(values: Sequence[float], most: int) -> list[int]:
    """The places of at most `most` values (at least 8), in order, the first and the last among them."""
    count = len(values)
    if count <= most:
        return list(range(count))
    stretches = most // 4
    kept: list[int] = []
    for stretch in range(stretches):
        places = range(stretch * count // stretches, (stretch + 1) * count // stretches)
        low, high = (extreme(places, key=values.__getitem__) for extreme in (min, max))
        kept += sorted({places[0], low, high, places[-1]})
    return kept
