"""The page of a model: sections, as far as there is something to say; its card in a notebook."""

from __future__ import annotations

from collections.abc import Callable

from bdnn.export.rules import is_small, make_rules
from bdnn.export.simplified import simplify
from bdnn.model import Model
from bdnn.report.html import Html, page, pairs, tag
from bdnn.report.inside import columns, network, rules, scorecard, size
from bdnn.report.moving import important, safe
from bdnn.report.quality import on_rows, quality, spread, verdict
from bdnn.report.subject import Subject
from bdnn.report.training import history, proven
from bdnn.training.result import TrainingResult

MOST_BYTES = 300_000
# The frame, the headings and the links.
_FRAME_BYTES = 20_000
_MOST_RULES = 8  # of a card

_SECTIONS: tuple[tuple[str, str, Callable[[Subject], Html | None]], ...] = (
    ("quality", "How good it is on new rows", quality),
    ("rows", "On your rows", on_rows),
    ("scorecard", "Scorecard", scorecard),
    ("rules", "Rules", rules),
    ("network", "Network", network),
    ("importances", "Which columns matter", important),
    ("certified", "How far values may move", safe),
    ("proof", "What is proven", proven),
    ("history", "Training", history),
    ("columns", "Columns", columns),
    ("size", "Size, and how to call it", size),
)


def make_page(subject: Subject) -> str:
    """All sections that have something to say, in at most 300 kB."""
    parts, room = [], MOST_BYTES - _FRAME_BYTES
    for key, heading, write in _SECTIONS:
        content = write(subject)
        if content is None:
            continue
        if len(content.encode()) > room:
            content = tag("p", "Left out: it is too long for a page.")
        room -= len(content.encode())
        parts.append((key, heading, content))
    links = (tag("a", heading, href=f"#{key}") for key, heading, _ in parts)
    head = tag(
        "header",
        tag("h1", subject.title[:200]),
        tag("p", verdict(subject), class_="headline", id="summary"),
        tag("nav", *links),
    )
    body = (tag("section", tag("h2", title), content, id=key) for key, title, content in parts)
    return page(subject.title[:200], [head, *body])


def make_card(name: str, model: Model, result: TrainingResult) -> str:
    """Accuracy on rows that were not seen, shape, size, what is proven, and a few rules."""
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
    title = tag("strong", name)
    return tag("div", title, pairs(facts), *rules, class_="bdnn-model")
