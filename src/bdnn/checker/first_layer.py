"""Whether first-layer activations hold around training rows, in exact arithmetic.

That is what the paper's robust model asks. Around scaled numbers lies a ball of inputs, in which a
sum moves by the radius times the dual norm of its weights. Raw columns with bits or texts move as
they do in guarantees, see :mod:`bdnn.checker.columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from bdnn.checker.certified import training_ball
from bdnn.checker.claims import Claim, Deadline, claimed, number_text, proven
from bdnn.checker.columns import ColumnsAround
from bdnn.checker.guarantee import Ball, Guarantee
from bdnn.checker.intervals import BoxNetwork, is_too_large
from bdnn.checker.model import CheckedModel
from bdnn.checker.numbers import root_above
from bdnn.checker.samples import Samples

FIRST_LAYER = "first layer"


def first_layer_claims(model: CheckedModel, samples: Samples, deadline: Deadline) -> list[Claim]:
    """Say around how many rows no first-layer activation changes, where training asked for it."""
    if model.robust.get("loss") != "pattern":
        return []
    ball = training_ball(model)
    if ball is None or ball.units != "scaled" or is_too_large(model):
        why = "of radii, units or a size that this checker does not recompute"
        return [claimed(FIRST_LAYER, why)]
    guarantee = Guarantee(model, ball)
    known: dict[bytes, bool] = {}
    for i, record in enumerate(samples.records):
        if record in known:
            continue
        deadline.check()
        row = samples.row(i)
        if model.encoder.is_plain:
            known[record] = _keeps(guarantee.boxes, model.encoder.encode(row), ball)
        else:
            known[record] = ColumnsAround(guarantee, row).keeps_first_layer()
    kept, n_rows = sum(known[record] for record in samples.records), len(samples)
    where = f"within {number_text(ball.radius)} ({ball.norm}, scaled)"
    detail = f"its activations hold {where} around {kept} of {n_rows} rows"
    return [(proven if kept == n_rows else claimed)(FIRST_LAYER, detail)]


def _keeps(boxes: BoxNetwork, inputs: Sequence[float], ball: Ball) -> bool:
    """Tell whether certainly no sum crosses a threshold in a ball of inputs."""
    point = [Fraction(x) for x in inputs]
    ends = [(x - ball.radius, x + ball.radius) for x in point]
    unit = Fraction(1, max(end.denominator for pair in ends for end in pair))

    def sums(weights: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        middle = sum((w * x for w, x in zip(weights, point, strict=True)), Fraction(0))
        reach = ball.radius * _dual([abs(w) for w in weights], ball)
        return middle - reach, middle + reach

    box = [(int(low / unit), int(high / unit)) for low, high in ends]
    return boxes.keeps_first_layer(box, unit, sums)


def _dual(sizes: list[Fraction], ball: Ball) -> Fraction:
    """What a move of length 1 changes at most, given the sizes of weights."""
    if ball.norm == "l1":
        return max(sizes)
    if ball.norm == "l2":
        return root_above(sum((size * size for size in sizes), Fraction(0)))
    return sum(sizes, Fraction(0))
