"""What training guards in balls around its rows, recomputed in exact arithmetic.

Certified training: a sample counts as right only if its class holds in the whole ball of the
training radius. No classifier keeps two samples of different classes whose balls have an input in
common, so that a matching of such pairs is a bound.

The paper's robust model asks that first-layer activations hold. In a ball of scaled numbers a sum
moves by the radius times the dual norm of its weights. Raw columns with bits or texts move as they
do in guarantees, see :mod:`bdnn.checker.columns`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, get_args

from bdnn.checker.claims import Claim, Deadline, claimed, judged, number_text, proven, weakest
from bdnn.checker.columns import ColumnsAround
from bdnn.checker.evaluation import Evaluation
from bdnn.checker.guarantee import Ball, Guarantee, Norm
from bdnn.checker.intervals import BoxNetwork, is_too_large, root_above
from bdnn.checker.model import CheckedModel
from bdnn.checker.result import Result, check_bound, check_optimality
from bdnn.checker.samples import Samples

# Pairs of samples are compared one by one.
_MOST_SAMPLES = 2000


def is_certified_training(model: CheckedModel) -> bool:
    """Tell whether the file's loss counts samples whose class does not hold in a ball."""
    # Before losses were told apart from methods, a method of that name said so.
    return "certified" in (model.robust.get("loss"), model.part("result").get("method"))


def certified_claims(
    model: CheckedModel,
    samples: Samples,
    weights: list[Fraction],
    found: Evaluation,
    deadline: Deadline,
) -> list[Claim]:
    """Check loss, bound and optimality of certified training."""
    result = Result.of(model)
    ball = training_ball(model)
    if ball is None or is_too_large(model):
        why = "of radii or a size that this checker does not recompute"
        return [claimed(name, why) for name in ("loss", "bound", "optimality")]
    lost, open_ = Fraction(0), Fraction(0)
    given_up = uncertified(model, samples, found, ball, deadline)
    for is_lost, weight in zip(given_up, weights, strict=True):
        lost += weight if is_lost else 0
        open_ += weight if is_lost is None else 0
    where = f"within {number_text(ball.radius)} ({ball.norm}, {ball.units})"
    detail = f"{number_text(lost)} not certified {where}, {number_text(result.loss)} in the file"
    loss = judged("loss", lost <= result.loss, detail)
    if lost <= result.loss < lost + open_:
        loss = claimed("loss", f"{detail}; {number_text(open_)} more are open")
    own = overlap_bound(model, samples, weights, ball, deadline)
    most = min(result.loss, lost + open_)
    bound = check_bound(result, most, {"overlapping balls": own}, is_exact=True)
    optimality = check_optimality(result, bound, result.loss, own, is_exact=True)
    if result.status.startswith("optimal"):
        verdict = weakest([loss.verdict, optimality.verdict])
        optimality = Claim(optimality.name, verdict, optimality.detail)
    return [loss, bound, optimality]


def training_ball(model: CheckedModel) -> Ball | None:
    """The ball around every sample, None where radii differ or are none."""
    radius: Any = model.robust.get("radius")
    norm: Any = model.robust.get("norm")
    units: Any = model.robust.get("units", "scaled")
    if type(radius) not in (int, float) or radius < 0 or norm not in get_args(Norm):
        return None
    if units not in ("scaled", "raw") and not _is_by_column(units, len(model.encoder.columns)):
        return None
    return Ball(Fraction(radius), norm, units)


def _is_by_column(units: Any, n_columns: int) -> bool:
    """Tell whether units are a raw move of every column."""
    return (
        isinstance(units, list)
        and len(units) == n_columns
        and all(type(reach) in (int, float) and 0 <= reach < math.inf for reach in units)
    )


def uncertified(
    model: CheckedModel, samples: Samples, found: Evaluation, ball: Ball, deadline: Deadline
) -> list[bool | None]:
    """Tell for every sample whether another class is possible in its ball, None if unknown."""
    # Before they moved together, training let all bits move on their own.
    guarantee = Guarantee(model, ball, joined=model.robust.get("bits") == "together")
    verdicts: dict[tuple[bytes, int], bool | None] = {}
    for i, case in enumerate(zip(samples.records, samples.classes, strict=True)):
        if case in verdicts:
            continue
        deadline.check()
        row, label = samples.row(i), case[1]
        verdicts[case] = True
        if found.winner[found.numbers[i]] == label:
            verdicts[case] = None
            if guarantee.holds(row, label):
                verdicts[case] = False
            elif guarantee.counter_example(row, label, deadline) is not None:
                verdicts[case] = True
    return [verdicts[case] for case in zip(samples.records, samples.classes, strict=True)]


def overlap_bound(
    model: CheckedModel,
    samples: Samples,
    weights: Sequence[Fraction],
    ball: Ball,
    deadline: Deadline,
) -> Fraction:
    """Weight of samples that no classifier certifies, as far as it is known."""
    if len(samples) > _MOST_SAMPLES:
        return Fraction(0)
    pairs = _meeting(Guarantee(model, ball), samples, deadline)
    meets: list[list[int]] = [[] for _ in samples.classes]
    left = list(weights)
    charged = Fraction(0)
    for i, j in pairs:
        # Every pair in both directions: half a matching of these is a bound.
        meets[i].append(j)
        meets[j].append(i)
        # One of the two is given up, which costs the lighter one at least.
        charge = min(left[i], left[j])
        left[i], left[j], charged = left[i] - charge, left[j] - charge, charged + charge
    matched: dict[int, int] = {}
    taken: dict[int, int] = {}
    size = 0
    for i in range(len(meets)):
        deadline.check()
        size += _augment(i, meets, matched, taken)
    return max(charged, math.ceil(Fraction(size, 2)) * min(weights))


def _meeting(
    guarantee: Guarantee, samples: Samples, deadline: Deadline
) -> Iterator[tuple[int, int]]:
    """Pairs of samples of different classes whose balls share an input, in ascending order."""
    rows = list(samples.rows())
    ends = [guarantee.ends(row) for row in rows]
    for i, one in enumerate(ends):
        deadline.check()
        for j in range(i + 1, len(ends)):
            if samples.classes[i] == samples.classes[j] or not all(
                low <= other_high and other_low <= high
                for (low, high), (other_low, other_high) in zip(one, ends[j], strict=True)
            ):
                continue
            if guarantee.ball.norm == "linf":
                yield i, j
                continue
            middle = tuple(a / 2 + b / 2 for a, b in zip(rows[i], rows[j], strict=True))
            if guarantee.contains(rows[i], middle) and guarantee.contains(rows[j], middle):
                yield i, j


def _augment(
    first: int, meets: list[list[int]], left: dict[int, int], right: dict[int, int]
) -> bool:
    """Look for an alternating path from an unmatched sample, and switch it."""
    came_from: dict[int, int] = {}
    queue = [first]
    for i in queue:
        for j in meets[i]:
            if j in came_from:
                continue
            came_from[j] = i
            if j in right:
                queue.append(right[j])
                continue
            end: int | None = j
            while end is not None:
                begin = came_from[end]
                following = left.get(begin)
                left[begin], right[end] = end, begin
                end = following
            return True
    return False


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
