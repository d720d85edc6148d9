"""What a model does: its rules or scorecard, its network drawn, its columns, its bytes."""

from __future__ import annotations

import math

import numpy as np

from bdnn.encoding.columns import number_text
from bdnn.errors import BDNNError
from bdnn.export.c import export_c
from bdnn.export.literals import input_terms
from bdnn.export.rules import is_small, make_rules
from bdnn.report.drawings import draw_network
from bdnn.report.html import Html, figure, joined, pairs, table, tag
from bdnn.report.subject import Subject

_MOST_COLUMNS = 200
_MOST_CUTS = 12
_MOST_TOTALS = 60


def rules(subject: Subject) -> Html | None:
    """The simplified network in words of the raw columns."""
    if is_small(subject.simple.network):
        return Html(make_rules(subject.model).html())
    n_weights = sum(int(np.count_nonzero(W)) for W in subject.simple.network.weights)
    return tag(
        "p", f"{n_weights} weights are too many to read. Write them: bdnn export --to rules."
    )


def scorecard(subject: Subject) -> Html | None:
    """Points of conditions, and the risk of every total, where the network is one layer."""
    model = subject.simple
    network, terms = model.network, input_terms(model.encoder)
    is_card = not network.architecture.hidden and len(model.classes) == 2
    is_card = is_card and network.architecture.ties == "score"
    if not is_card or not all(term.is_condition for term in terms):
        return None
    points = (network.weights[-1][1] - network.weights[-1][0]).tolist()
    used = [(term, point) for term, point in zip(terms, points, strict=True) if point]
    offset = sum(point * term.offset for term, point in used)
    sums = [point * term.factor for term, point in used]
    limit = float(network.output_thresholds[1] - network.output_thresholds[0]) - offset
    label = str(model.classes[1])
    is_whole = bool(sums) and all(value == math.floor(value) for value in sums)
    # The least whole numbers that give the same answers.
    unit = math.gcd(*map(int, sums)) if is_whole else 1
    sums, limit = [value / unit for value in sums], limit / unit
    texts = [term.text for term, _ in used]
    lines = sorted([text, f"{value:+g}"] for text, value in zip(texts, sums, strict=True))
    reached = f"above {limit:g} points"
    if is_whole:  # a total of the limit itself is of the first class
        reached = f"from {math.floor(limit) + 1} points on"
    parts = [
        tag("p", f"Add the points of what is true. Class {label} {reached}."),
        table(["if", "points"], lines),
    ]
    if model.calibration is None or not is_whole:
        return joined(parts)
    totals = np.array(sorted(_reachable([int(value) for value in sums])), dtype=float)
    if len(totals) > _MOST_TOTALS:
        return joined(parts)
    shares = model.calibration.probabilities(
        np.column_stack([np.zeros(len(totals)), unit * (totals - limit)])
    )
    risks = [f"{100 * share:.1f} %" for share in shares[:, 1]]
    heading = ["points in total", f"chance of {label}"]
    totals_table = table(heading, [[f"{t:g}", risk] for t, risk in zip(totals, risks, strict=True)])
    origin = f"Chances are learnt from {model.calibration.rows} {model.calibration.origin}."
    return joined([*parts, totals_table, tag("p", origin)])


def _reachable(points: list[int]) -> set[int]:
    totals = {0}
    for point in points:
        totals |= {total + point for total in totals}
        if len(totals) > _MOST_TOTALS:
            break
    return totals


def network(subject: Subject) -> Html:
    """The simplified network as a drawing."""
    shape = subject.simple.network.architecture
    title = f"The network, simplified: {shape}"
    counts = [
        [f"layer {k}", str(W.shape[1]), str(W.shape[0]), str(int(np.count_nonzero(W)))]
        for k, W in enumerate(subject.simple.network.weights, start=1)
    ]
    numbers = table(["layer", "inputs", "units", "weights that are not 0"], counts)
    return figure(draw_network(subject.simple, title), title, numbers)


def columns(subject: Subject) -> Html:
    """What the network is told of every raw column."""
    encoder, lines = subject.model.encoder, []
    is_used = np.asarray(subject.model.network.weights[0].any(axis=0))
    scaled = {number.column for number, used in zip(encoder.numbers, is_used, strict=False) if used}
    bits: dict[int, list[str]] = {}
    for bit, used in zip(encoder.bits, is_used[encoder.n_numbers :], strict=True):
        if used:
            words = "missing" if bit.kind == "missing" else _written(bit.value)
            bits.setdefault(bit.column, []).append(words)
    asked_for = [j for j in range(len(encoder.columns)) if j in scaled or j in bits]
    for j in asked_for[:_MOST_COLUMNS]:
        column, asked = encoder.columns[j], bits.get(j, [])
        more = " ..." if len(asked) > _MOST_CUTS else ""
        told = (["the number"] if j in scaled else []) + (
            [f"{', '.join(asked[:_MOST_CUTS])}{more}"] if asked else []
        )
        lines.append([column.name, column.kind, "; ".join(told)])
    parts = [table(["column", "kind", "cuts or values that the network asks for"], lines)]
    if len(asked_for) > _MOST_COLUMNS:
        parts.append(tag("p", f"And {len(asked_for) - _MOST_COLUMNS} more columns."))
    others = [column.name for j, column in enumerate(encoder.columns) if j not in asked_for]
    if others:
        more = " ..." if len(others) > _MOST_COLUMNS else ""
        parts.append(tag("p", f"Not used: {', '.join(others[:_MOST_COLUMNS])}{more}"))
    return joined(parts)


def _written(value: object) -> str:
    return number_text(value) if isinstance(value, float) else str(value)


def size(subject: Subject) -> Html:
    """Bytes, and how to call it."""
    lines = [("in memory", f"{subject.model.network.size_bits} bits of weights and thresholds")]
    c_code: list[Html] = []
    try:
        exported = export_c(subject.model, data=subject.data)
    except BDNNError as problem:
        lines.append(("C", str(problem)))
    else:
        flash = exported.flash
        lines.append(("C", f"about {flash.total} bytes of flash: {flash.tables} of tables"))
        c_code = [tag("pre", exported.signature)]
    calls = (
        "bdnn predict model.json new.csv\n"
        "bdnn export model.json --to c --out model.h\n\n"
        "# Python\nimport bdnn\nmodel = bdnn.load('model.json')\nmodel.predict(X)"
    )
    return joined([pairs(lines), *c_code, tag("pre", calls)])
