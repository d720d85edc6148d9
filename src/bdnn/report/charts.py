"""Line charts in SVG.

Written by hand in a hundred lines: the core installation draws reports without matplotlib, and a
chart of a few kilobytes takes its colours from the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle

from bdnn.report.html import Html

Points = Sequence[tuple[float, float]]

_COLOURS = ("#1f6feb", "#d1570b", "#2a8a43", "#8250df", "#b3261e", "#5b6470")
_DASHES = ("none", "6 3", "2 2", "8 2 2 2")
_WIDTH, _HEIGHT = 300, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 26, 34
_LEGEND = 24


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a title and named lines."""

    title: str
    lines: Mapping[str, Points]


def draw(
    panels: Sequence[Panel],
    *,
    x_label: str,
    y_label: str,
    log: bool = False,
    title: str = "",
) -> Html:
    """Draw panels side by side with one legend below; equal names have equal colours.

    Lines differ in their dashes, too. On a logarithmic vertical axis values that are not positive
    are left out.
    """
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    looks = zip(names, cycle(_COLOURS), cycle(_DASHES), strict=False)
    colour = {name: f'stroke="{shade}" stroke-dasharray="{dash}"' for name, shade, dash in looks}
    width, height = _WIDTH * max(1, len(panels)), _HEIGHT + _LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="sans-serif" font-size="11">'
    ]
    if title:
        parts.append(f"<title>{escape(title)}</title>")
    # One scale for all panels, so that they can be compared.
    shown = [_kept(points, log) for panel in panels for points in panel.lines.values()]
    ys = [y for points in shown for _, y in points]
    low, high = (min(ys), max(ys)) if ys else (0.0, 1.0)
    vertical = _log_ticks(low, high) if log else _ticks(low, high)
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * _WIDTH},0)">')
        parts += _panel(panel, vertical, colour, x_label, y_label if number == 0 else "", log)
        parts.append("</g>")
    at = _LEFT
    for name in names:
        y = _HEIGHT + 12
        parts.append(
            f'<line x1="{at}" y1="{y}" x2="{at + 18}" y2="{y}" {colour[name]} '
            f'stroke-width="2.5"/><text x="{at + 23}" y="{y + 4}" fill="currentColor">'
            f"{escape(name)}</text>"
        )
        at += 40 + 7 * len(name)
    return Html("".join([*parts, "</svg>"]))


def _panel(
    panel: Panel,
    vertical: Sequence[float],
    colour: Mapping[str, str],
    x_label: str,
    y_label: str,
    log: bool,
) -> list[str]:
    lines = {name: _kept(points, log) for name, points in panel.lines.items()}
    xs = [x for points in lines.values() for x, _ in points]
    first, last = min(xs, default=0.0), max(xs, default=1.0)
    horizontal = [tick for tick in _ticks(first, last) if first <= tick <= last]
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def across(x: float) -> float:
        return _LEFT + (right - _LEFT) * _share(x, first, last)

    def up(y: float) -> float:
        low, high = vertical[0], vertical[-1]
        share = _share(math.log(y), math.log(low), math.log(high)) if log else _share(y, low, high)
        return bottom - (bottom - _TOP) * share

    text = 'fill="currentColor"'
    out = [f'<text x="{_LEFT}" y="15" font-weight="bold" {text}>{escape(panel.title)}</text>']
    for tick in vertical:
        y = up(tick)
        out.append(
            f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#8884"/>'
            f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" {text}>{tick:g}</text>'
        )
    for tick in horizontal:
        x = across(tick)
        out.append(
            f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle" {text}>{tick:g}</text>'
        )
    middle = (_LEFT + right) / 2
    out.append(
        f'<text x="{middle}" y="{bottom + 28}" text-anchor="middle" {text}>{escape(x_label)}</text>'
    )
    if y_label:
        out.append(
            f'<text transform="translate(11,{(bottom + _TOP) / 2}) rotate(-90)" '
            f'text-anchor="middle" {text}>{escape(y_label)}</text>'
        )
    for name, points in lines.items():
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
        if path:
            out.append(f'<polyline points="{path}" fill="none" {colour[name]} stroke-width="2"/>')
    return out


def _kept(points: Points, log: bool) -> Points:
    return [(x, y) for x, y in points if math.isfinite(y) and (y > 0 or not log)]


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def _ticks(low: float, high: float) -> list[float]:
    """Four to seven round numbers that enclose a range."""
    span = (high - low) or max(abs(high), 1.0)
    step = 10.0 ** math.floor(math.log10(span / 4))
    step = next(step * factor for factor in (1, 2, 2.5, 5, 10) if span / (step * factor) <= 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    last = max(last, first + 1)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten that enclose a range."""
    first = math.floor(math.log10(low)) if low > 0 else 0
    last = math.ceil(math.log10(high)) if high > 0 else 1
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]
