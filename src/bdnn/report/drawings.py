"""A network and bars as drawings that take their colours from the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from bdnn.export.literals import input_terms
from bdnn.model import Model
from bdnn.report.html import Html

# More units or weights than these are drawn as one box per layer.
_MOST_UNITS, _MOST_WEIGHTS = 16, 120
# Pixels: a line of text, the distance of layers, the longest bar, a letter.
_ROW, _STEP, _BAR, _LETTER = 26, 200, 220, 7
_MOST_LETTERS = 30


def _opening(width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" font-family="sans-serif" '
        f'font-size="12" fill="currentColor"><title>{escape(title)}</title>'
    )


def _short(text: str, most: int = _MOST_LETTERS) -> str:
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")


def _text_width(names: Sequence[str]) -> int:
    """Room for the longest of names; letters of East Asia are twice as wide."""
    widths = (sum(1 + (ord(c) > 0x2E7F) for c in name[:_MOST_LETTERS]) for name in names)
    return 16 + _LETTER * max(widths, default=0)


def draw_network(model: Model, title: str) -> Html:
    """Units as circles and weights as lines, dashed where negative; boxes of large layers."""
    weights = model.network.weights
    widths = [weights[0].shape[1], *(len(W) for W in weights)]
    names = [term.text for term in input_terms(model.encoder)]
    outputs = [str(label) for label in model.classes] or ["value"] * widths[-1]
    n_weights = sum(int(np.count_nonzero(W)) for W in weights)
    if max(widths) > _MOST_UNITS or n_weights > _MOST_WEIGHTS:
        return _boxes(widths, weights, title)
    height = _ROW * max(widths) + 20
    text = _text_width(names)
    places = text + _STEP * np.arange(len(widths))

    def at(layer: int, unit: int) -> tuple[float, float]:
        return places[layer], height * (unit + 0.5) / widths[layer]

    parts = [_opening(places[-1] + 16 + _text_width(outputs), height, title)]
    for layer, W in enumerate(weights):
        for unit, source in np.argwhere(W).tolist():
            (x1, y1), (x2, y2) = at(layer, source), at(layer + 1, unit)
            kind = "plus" if W[unit, source] > 0 else "minus"
            parts.append(
                f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" class="{kind}" '
                f'stroke-width="{min(5.0, 0.8 + 0.7 * abs(W[unit, source])):.1f}"/>'
            )
    for layer, width in enumerate(widths):
        for unit in range(width):
            x, y = at(layer, unit)
            parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6"/>')
            if layer == 0:
                told = _short(names[unit])
                parts.append(f'<text x="{x - 12:.0f}" y="{y + 4:.0f}" class="end">{told}</text>')
            elif layer == len(widths) - 1:
                told = _short(outputs[unit])
                parts.append(f'<text x="{x + 12:.0f}" y="{y + 4:.0f}">{told}</text>')
    return Html("".join([*parts, "</svg>"]))


def _boxes(widths: Sequence[int], weights: Sequence[np.ndarray], title: str) -> Html:
    step = 0.75 * _STEP
    parts = [_opening(step * len(widths), 90, title)]
    for layer, width in enumerate(widths):
        middle, what = step * (layer + 0.5), "units"
        if layer in (0, len(widths) - 1):
            what = "outputs" if layer else "inputs"
        what = what if width > 1 else what[:-1]
        parts.append(
            f'<rect x="{middle - 48:.0f}" y="10" width="96" height="44" rx="6" class="box"/>'
            f'<text x="{middle:.0f}" y="37" class="middle">{width} {what}</text>'
        )
        if layer:
            left = middle - step / 2
            count = int(np.count_nonzero(weights[layer - 1]))
            parts.append(
                f'<line x1="{middle - step + 48:.0f}" y1="32" x2="{middle - 48:.0f}" y2="32" '
                f'class="plus" stroke-width="2"/>'
                f'<text x="{left:.0f}" y="74" class="middle">{count} weights</text>'
            )
    return Html("".join([*parts, "</svg>"]))


def draw_bars(values: Sequence[tuple[str, float, str]], title: str) -> Html:
    """Bars of names, sizes and what is written beside them."""
    largest = max((value for _, value, _ in values), default=0.0) or 1.0
    text = _text_width([name for name, _, _ in values])
    parts = [_opening(text + _BAR + 80, _ROW * len(values) + 6, title)]
    for k, (name, value, told) in enumerate(values):
        y, width = k * _ROW + 4, _BAR * value / largest
        parts.append(
            f'<text x="{text - 8}" y="{y + 14}" class="end">{_short(name)}</text>'
            f'<rect x="{text}" y="{y}" width="{max(width, 0.5):.1f}" height="18" class="bar"/>'
            f'<text x="{text + width + 6:.1f}" y="{y + 14}">{escape(told)}</text>'
        )
    return Html("".join([*parts, "</svg>"]))
