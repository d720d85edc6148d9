"""A fitted model in a notebook: a short card instead of a box of parameters."""

from __future__ import annotations

from typing import Any

from bdnn.export.rules import is_small, make_rules
from bdnn.export.simplified import simplify
from bdnn.report.html import pairs, tag
from bdnn.report.quality import spread

_MOST_RULES = 8


def card(estimator: Any) -> str:
    """Accuracy on rows that were not seen, shape, size, what is proven, and a few rules."""
    result, model = estimator.result_, estimator.model_
    known = result.held_out
    facts = [("network", str(model.network.architecture))]
    if known is not None:
        told = spread(known.accuracy, known.error)
        what = " in whole balls" if known.is_worst_case else ""
        facts.append(("expected accuracy", f"{told} on new rows{what}, by cross-validation"))
        facts.append(("C export", f"about {known.bytes} bytes of flash"))
    else:
        facts.append(("training loss", f"{result.loss:g}, {result.status}"))
        facts.append(("bound", f"{result.bound:g} ({result.bound_origin})"))
        facts.append(("on new rows", "not measured: score rows that were not trained on"))
    rules: list[str] = []
    if is_small(simplify(model).network):
        lines = str(make_rules(model)).splitlines()
        shown = lines[:_MOST_RULES] + (["..."] if len(lines) > _MOST_RULES else [])
        rules = [tag("pre", "\n".join(shown), style="white-space:pre-wrap")]
    title = tag("strong", type(estimator).__name__)
    return tag("div", title, pairs(facts), *rules, class_="bdnn-model")
