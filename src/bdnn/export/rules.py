"""A network as rules over raw columns: in text, in HTML, and as a table of decisions.

What has no say is left out first, see :mod:`bdnn.export.simplified`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape

import numpy as np

from bdnn.errors import ModelError
from bdnn.export.decision_table import decision_table
from bdnn.export.literals import Term, cut_term, input_terms, reached, weighed
from bdnn.export.simplified import simplify
from bdnn.model import Model, TargetScaler
from bdnn.network.activation import Activation, FloatArray
from bdnn.network.network import Network

# Rules for more than this many weights are no easier to read than the numbers.
MOST_WEIGHTS = 60

FORMS = ("text", "html", "table")


def is_small(network: Network) -> bool:
    """Whether a network has few enough weights for rules."""
    return sum(int(np.count_nonzero(W)) for W in network.weights) <= MOST_WEIGHTS


@dataclass(frozen=True)
class Rules:
    """A model in words.

    Attributes
    ----------
    notes : tuple of str
    units : tuple of pairs of str
        Names of hidden units, and when they are on or what they are.
    outputs : tuple of str
        What becomes of them.
    table : tuple of tuples of str or None
        The heading and the lines of a table of all decisions, where hidden units are few.
    """

    notes: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    table: tuple[tuple[str, ...], ...] | None = None

    def __str__(self) -> str:
        return "\n".join([*self.notes, *(f"{a} {b}" for a, b in self.units), *self.outputs])

    def table_text(self) -> str:
        """The table of decisions in columns."""
        if self.table is None:
            raise ModelError(
                "a table of decisions is for networks with a few hidden units, got others: write "
                "the rules as text."
            )
        widths = [max(map(len, cells)) for cells in zip(*self.table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in self.table
        ]
        return "\n".join([*self.notes, *(f"{a} {b}" for a, b in self.units), *lines])

    def html(self) -> str:
        """The rules, and the table if there is one, as a part of a page."""
        parts = [f"<p>{escape(note)}</p>" for note in self.notes]
        if self.units:
            lines = (f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in self.units)
            parts.append(f"<dl>{''.join(lines)}</dl>")
        parts.append(f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in self.outputs)}</ul>")
        if self.table is not None:
            first, *rest = self.table
            head = "".join(f"<th>{escape(cell)}</th>" for cell in first)
            body = "".join(
                f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in rest
            )
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        return f'<div class="bdnn-rules">{"".join(parts)}</div>'


def to_rules(model: Model, form: str = "text") -> str:
    """Write a network as rules over raw columns, without what has no say.

    Parameters
    ----------
    model : Model
    form : {"text", "html", "table"}
        The table lists what units decide, where the last hidden layer has a few of them.
    """
    if form not in FORMS:
        raise ModelError(
            f"form must be 'text', 'html' or 'table', got {form!r}: choose one of these."
        )
    rules = make_rules(model)
    return {"text": rules.__str__, "html": rules.html, "table": rules.table_text}[form]()


def make_rules(model: Model) -> Rules:
    """Find the words for a model."""
    model = simplify(model)
    network, shape = model.network, model.network.architecture
    terms, units = input_terms(model.encoder), []
    for k, (W, t) in enumerate(zip(network.weights[:-1], network.thresholds[:-1], strict=True)):
        rule, named = shape.activation_of(k), []
        for place, (row, limits) in enumerate(zip(W, t, strict=True)):
            term = _only(model, row, terms, float(limits[0]), k) if rule.is_step else None
            if term is None:
                name = _unit(k + 1, place, shape.n_layers)
                term = Term(name, f"not {name}" if rule.is_step else "")
                units.append((name, _said(row, terms, limits, rule)))
            named.append(term)
        terms = named
    outputs = _outputs(model, terms)
    table = decision_table(model, [term.text for term in terms])
    return Rules(_notes(model), tuple(units), outputs, table)


def _only(
    model: Model, row: FloatArray, terms: Sequence[Term], limit: float, layer: int
) -> Term | None:
    """The condition of a unit that looks at one input alone."""
    used = np.flatnonzero(row)
    if len(used) != 1:
        return None
    (place,), weight = used.tolist(), float(row[used[0]])
    if layer == 0 and place < model.encoder.n_numbers:
        return cut_term(model.encoder, place, weight, limit)
    if not terms[place].is_condition:
        return None
    is_on = weight * np.array([0.0, 1.0]) >= limit
    if is_on[0] == is_on[1]:
        return None
    own = terms[place]
    return Term(own.text, own.opposite) if is_on[1] else Term(own.opposite, own.text)


def _said(row: FloatArray, terms: Sequence[Term], limits: FloatArray, rule: Activation) -> str:
    if rule.is_step:
        return f"if {reached(row, terms, float(limits[0]))}"
    text, offset = weighed(row, terms)
    starts = [
        f"{value} from {limit - offset:.10g}"
        for value, limit in zip(rule.values[1:], limits.tolist(), strict=True)
    ]
    return f"= {', '.join([f'{rule.values[0]} below', *starts])}, of {text}"


def _outputs(model: Model, terms: Sequence[Term]) -> tuple[str, ...]:
    shape = model.network.architecture
    W, t = model.network.weights[-1], model.network.output_thresholds
    if model.targets is not None:
        return _numbers(model.targets, W, t, terms)
    labels = [str(label) for label in model.classes]
    if shape.ties == "first":
        lines = [
            f"class {label} if {reached(row, terms, limit)}"
            for label, row, limit in zip(labels, W, t.tolist(), strict=True)
        ]
        return (*lines, "several classes: the first one; none: the first of all")
    if len(labels) == 2:
        return (_either(labels, W[1] - W[0], t, terms), f"otherwise class {labels[0]}")
    lines = []
    for label, row, limit in zip(labels, W, t.tolist(), strict=True):
        text, offset = weighed(row, terms)
        lines.append(f"points of {label} = {text} {_signed(offset - limit)}".rstrip())
    return (*lines, "the class with the most points, the first one of equals")


def _either(labels: Sequence[str], row: FloatArray, t: FloatArray, terms: Sequence[Term]) -> str:
    """When the second of two classes wins: where its score is larger."""
    limit = float(t[1] - t[0])
    used = [term for weight, term in zip(row, terms, strict=True) if weight]
    is_whole = all(term.is_condition and (term.offset, term.factor) == (0, 1) for term in used)
    if is_whole and (row == np.rint(row)).all():
        whole = math.floor(Fraction(float(t[1])) - Fraction(float(t[0]))) + 1
        return f"class {labels[1]} if {reached(row, terms, float(whole))}"
    text, offset = weighed(row, terms)
    return f"class {labels[1]} if {text} > {limit - offset:.10g}"


def _numbers(
    targets: TargetScaler, W: FloatArray, t: FloatArray, terms: Sequence[Term]
) -> tuple[str, ...]:
    """Identity outputs in units of the targets."""
    lines = []
    for place, (bias, row) in enumerate(
        zip(targets.inverse(-t), W * targets.factor[:, None], strict=True), start=1
    ):
        text, offset = weighed(row, terms)
        name = "value" if len(W) == 1 else f"value {place}"
        lines.append(f"{name} = {bias + offset:.6g} + ({text})")
    return tuple(lines)


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value):.10g}" if value else ""


def _unit(layer: int, place: int, n_layers: int) -> str:
    """Name a hidden unit; with one hidden layer a letter less."""
    return f"h{place + 1}" if n_layers == 2 else f"h{layer}.{place + 1}"


def _notes(model: Model) -> tuple[str, ...]:
    """What sums of numbers take for equal."""
    encoder, W = model.encoder, model.network.weights[0]
    has_bits = W[:, encoder.n_numbers :].any(axis=1)
    together = np.count_nonzero(W[:, : encoder.n_numbers], axis=1) + has_bits
    if not encoder.step or not (together > 1).any():
        return ()
    steps = [
        f"{encoder.names[number.column]} to {encoder.step / number.factor:.3g}"
        for i, number in enumerate(encoder.numbers)
        if number.value is None and W[together > 1, i].any()
    ]
    if not steps:
        return ()
    shown = ", ".join(steps[:4]) + (" and so on" if len(steps) > 4 else "")
    return (f"Sums are of rounded numbers: {shown}.",)
