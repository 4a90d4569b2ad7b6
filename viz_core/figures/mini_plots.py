"""Small SVG drawings: a curve with a marked point, and the rotation of a pair of features.

They contain no text. Their colours have medium brightness, for the light and the dark theme.
"""

import math
from collections.abc import Callable, Sequence

from viz_core.figures import theme

WIDTH, HEIGHT, MARGIN = 240, 120, 8  # pixels
AXIS, LINE, DOT = theme.AXIS_COLOURS["1"], theme.SEQUENTIAL[5], theme.DIVERGING[-2]
ARC_STEPS = 24


def curve(points: Sequence[tuple[float, float]], dot: tuple[float, float]) -> str:
    """Return a curve through finite points (x, y), and a dot with a dashed line to y = 0. The view includes y = 0."""
    xs, ys = [x for x, _ in (*points, dot)], [y for _, y in (*points, dot)]
    across = _scale(min(xs), max(xs), MARGIN, WIDTH - MARGIN)
    up = _scale(min(0.0, *ys), max(0.0, *ys), HEIGHT - MARGIN, MARGIN)
    x, y, zero = across(dot[0]), up(dot[1]), up(0)
    upright = f"M{across(0):.1f},0V{HEIGHT}" if min(xs) <= 0 <= max(xs) else ""
    path = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in points)
    return _svg(
        WIDTH,
        f'<path d="{upright}M0,{zero:.1f}H{WIDTH}" stroke="{AXIS}"/>'
        f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="2.5"/>'
        f'<path d="M{x:.1f},{zero:.1f}V{y:.1f}" stroke="{DOT}" stroke-width="2" stroke-dasharray="4 3"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{DOT}"/>',
    )


def rotation(before: tuple[float, float], after: tuple[float, float], angle: float) -> str:
    """Return a drawing of a vector of two numbers before and after a counter-clockwise rotation by `angle` radians."""
    length, middle = math.hypot(*before) or 1.0, HEIGHT / 2

    def at(x: float, y: float, reach: float = middle - MARGIN) -> tuple[float, float]:
        return middle + reach * x / length, middle - reach * y / length

    start, swept = math.atan2(before[1], before[0]), math.remainder(angle, 2 * math.pi)  # without whole turns
    steps = [start + swept * i / ARC_STEPS for i in range(ARC_STEPS + 1)]
    arc = [at(length * math.cos(s), length * math.sin(s), 0.4 * middle) for s in steps]
    (x0, y0), (x1, y1) = at(*before), at(*after)
    return _svg(
        HEIGHT,
        f'<path d="M{middle},0V{HEIGHT}M0,{middle}H{HEIGHT}" stroke="{AXIS}"/>'
        f'<circle cx="{middle}" cy="{middle}" r="{middle - MARGIN}" fill="none" stroke="{AXIS}"/>'
        f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in arc)}" fill="none" stroke="{DOT}" stroke-width="2"/>'
        f'<path d="M{middle},{middle}L{x0:.1f},{y0:.1f}" stroke="{LINE}" stroke-width="3"/>'
        f'<path d="M{middle},{middle}L{x1:.1f},{y1:.1f}" stroke="{DOT}" stroke-width="3"/>'
        f'<circle cx="{x1:.1f}" cy="{y1:.1f}" r="5" fill="{DOT}"/>',
    )


def _svg(width: int, body: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}">{body}</svg>'


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Return a function that maps values between low and high to pixels between start and end."""
    slope = (end - start) / ((high - low) or 1.0)
    return lambda x: start + (x - low) * slope
