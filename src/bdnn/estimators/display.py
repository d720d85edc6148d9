"""A fitted model in a notebook: a short card instead of a box of parameters."""

from __future__ import annotations

from html import escape
from typing import Any

from bdnn.export.rules import is_small, make_rules
from bdnn.export.simplified import simplify

_MOST_RULES = 8


def card(estimator: Any) -> str:
    """Accuracy on rows that were not seen, shape, size, what is proven, and a few rules."""
    result, model = estimator.result_, estimator.model_
    known = result.held_out
    pairs = [("network", str(model.network.architecture))]
    if known is not None:
        told = f"{100 * known.accuracy:.1f} % ± {100 * known.error:.1f} %"
        what = " in whole balls" if known.is_worst_case else ""
        pairs.append(("expected accuracy", f"{told} on new rows{what}, by cross-validation"))
        pairs.append(("C export", f"about {known.bytes} bytes of flash"))
    else:
        pairs.append(("training loss", f"{result.loss:g}, {result.status}"))
        pairs.append(("bound", f"{result.bound:g} ({result.bound_origin})"))
        pairs.append(("on new rows", "not measured: score rows that were not trained on"))
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(a)}</th>'
        f'<td style="text-align:left">{escape(b)}</td></tr>'
        for a, b in pairs
    )
    rules = ""
    if is_small(simplify(model).network):
        lines = str(make_rules(model)).splitlines()
        shown = lines[:_MOST_RULES] + (["..."] if len(lines) > _MOST_RULES else [])
        rules = f"<pre>{escape(chr(10).join(shown))}</pre>"
    title = escape(type(estimator).__name__)
    return f'<div class="bdnn-model"><strong>{title}</strong><table>{rows}</table>{rules}</div>'
