"""Choosing a few combinations of many switches that still show what all of them would."""

from collections.abc import Iterable
from itertools import combinations, cycle, islice, product


def spread(*axes: Iterable[object], times: int = 1) -> list[tuple]:
    """Each value of each axis, in as few rows as the longest axis has values; `times` that many rows, in other combinations."""
    values = [list(axis) for axis in axes]
    longest = max(map(len, values))
    rows = [
        tuple(axis[(row + turn * n) % len(axis)] for n, axis in enumerate(values))
        for turn in range(times)
        for row in range(longest)
    ]
    return list(dict.fromkeys(rows))


def in_pairs(*axes: Iterable[object]) -> list[tuple]:
    """Rows in which any two values of two axes meet at least once: of three axes of 3, 3 and 6 values 18 rows instead of 54."""
    values = [list(axis) for axis in axes]
    places = [[(n, a) for a in range(len(axis))] for n, axis in enumerate(values)]
    left = {two for one, other in combinations(places, 2) for two in product(one, other)}
    rows: list[tuple] = []
    while left:
        first = min(left)
        row = dict(first)
        for n, axis in enumerate(values):
            if n not in row:
                starts = islice(cycle(range(len(axis))), len(rows) % len(axis), len(rows) % len(axis) + len(axis))
                row[n] = max(starts, key=lambda a, n=n, row=row: sum(_pair((n, a), met) in left for met in row.items()))
        left -= {_pair(x, y) for x, y in combinations(row.items(), 2)}
        rows.append(tuple(axis[row[n]] for n, axis in enumerate(values)))
    return rows


def _pair(x: tuple[int, int], y: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    return (x, y) if x < y else (y, x)
