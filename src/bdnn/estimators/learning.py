"""A classifier that is learnt for rows nobody has seen, and not for the training loss.

What its network does with the training rows is computed block by block: inputs of all rows at once
would take many times the memory of the table; sums of the outputs and one fingerprint per row do
not.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from bdnn.clock import Slot
from bdnn.constraints import Sparsity
from bdnn.encoding import Encoder, Inputs
from bdnn.errors import ModelError
from bdnn.estimators.problems import Robust
from bdnn.estimators.samples import LabelledSamples
from bdnn.learning.flash import flash_size
from bdnn.learning.gradients import load
from bdnn.learning.held_out import HeldOut
from bdnn.learning.learn import Learned, learn
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.samples import Samples, fingerprints
from bdnn.program import IndexArray
from bdnn.training.limits import Budget
from bdnn.training.phases.robust_starts import VOTES
from bdnn.training.result import Progress, TrainingResult

#: What minimising the loss has instead of "auto".
HIDDEN: tuple[int, ...] = (25,)
WEIGHTS = "ternary"

# Kept of the time for the loss and the probabilities of the network: a part, seconds per row of a
# usual machine, and a part again that they never exceed.
_KEPT, _KEPT_PER_ROW, _MOST_KEPT = 0.03, 1.2e-5, 0.6
_TOLD_EVERY = 0.05


def given_or(value: Any, default: Any) -> Any:
    """What a user gave, or the default for "auto"."""
    return default if isinstance(value, str) and value == "auto" else value


def learns(estimator: Any, samples: LabelledSamples) -> bool:
    """Whether an estimator is to learn for unseen rows.

    Raises
    ------
    ModelError
        If the objective is not known, or is the accuracy together with what only the loss has.
    """
    if estimator.objective not in ("auto", "accuracy", "loss"):
        raise ModelError(
            f"objective must be 'auto', 'accuracy' or 'loss', got {estimator.objective!r}: choose "
            "one of these."
        )
    if estimator.max_bytes is not None and (
        type(estimator.max_bytes) is not int or estimator.max_bytes < 1
    ):
        raise ModelError(
            f"max_bytes must be a positive whole number or None, got {estimator.max_bytes!r}: "
            "give for example 2048."
        )
    # Rows that nobody has seen can have a guarantee, too, by networks of a shape that suits it.
    is_guarded = isinstance(estimator.robust, Robust) and estimator.robust.loss == "certified"
    shape = estimator.hidden, estimator.weights
    is_guarded = is_guarded and all(given_or(each, None) is None for each in shape)
    only_loss = {
        "weights": given_or(estimator.weights, WEIGHTS) != WEIGHTS,
        "thresholds": estimator.thresholds != "neuron",
        "ties": estimator.ties != "score",
        "activation": estimator.activation != "step",
        "method": estimator.method != "auto",
        "validation_fraction": bool(estimator.validation_fraction),
        "robust": not is_guarded and estimator.robust is not None,
        "constraints": bool(_constraints(estimator)),
        "start": estimator.start is not None,
        "radius": not is_guarded and samples.radius is not None,
        "must": samples.must is not None,
    }
    given = [name for name, is_asked in only_loss.items() if is_asked]
    is_card = _most_inputs(estimator) is not None and estimator.robust is None
    if estimator.objective == "accuracy" and is_card:
        given.remove("constraints")
    if estimator.objective == "accuracy" and given:
        raise ModelError(
            f"objective 'accuracy' chooses how to train by itself, got {given[0]}: leave it out or "
            "use objective='loss'."
        )
    wanted = not given if estimator.objective == "auto" else estimator.objective == "accuracy"
    if estimator.max_bytes is not None and not wanted:
        raise ModelError(
            "max_bytes is for objective 'accuracy', got parameters that ask for a small loss: give "
            "objective='accuracy', or leave it out."
        )
    return wanted


def _constraints(estimator: Any) -> tuple[Any, ...]:
    given = estimator.constraints
    return tuple(given) if isinstance(given, Sequence) else (given,)


def _most_inputs(estimator: Any) -> int | None:
    """How many inputs a scorecard may have, where that is all that is asked for."""
    given = _constraints(estimator)
    if len(given) != 1 or not isinstance(given[0], Sparsity):
        return None
    most = given[0].per_unit
    is_flat = given_or(estimator.hidden, ()) in ((), [])
    is_all = vars(given[0]) == vars(Sparsity(most))
    return most if is_flat and is_all and type(most) is int else None


def card_constraints(constraints: Sequence[Any], shape: Architecture) -> tuple[Any, ...]:
    """The limit of a scorecard as one of its network, which may have fewer inputs than that."""
    most = shape.n_features
    return tuple(replace(each, per_unit=min(each.per_unit, most)) for each in constraints)


def learn_samples(
    estimator: Any,
    samples: LabelledSamples,
    plain: Encoder,
    budget: Budget,
    began: float,
    watch: Callable[[Progress], bool | None] | None,
) -> Learned:
    """Learn, in what is left of the time that the budget has; ``watch`` is told and may end it.

    Loading of compiled code, or compiling it, is not learning, here and in processes that help: it
    would take the time of short fits, as those of many folds are.
    """
    loading = time.perf_counter()
    if estimator.robust is None:
        load(budget.threads)
    else:
        VOTES.wait(Slot())
    began += time.perf_counter() - loading
    told, asked = 0.0, False

    def is_stopped() -> bool:
        nonlocal told, asked
        now = time.perf_counter()
        if watch is not None and not asked and now - told >= _TOLD_EVERY:
            told = now
            # Neither loss nor bound is looked at on the way.
            asked = bool(watch(Progress(now - began, "learn", np.inf, 0.0)))
        return asked

    kept = _KEPT * budget.seconds + _KEPT_PER_ROW * len(samples.labels)
    left = budget.seconds - min(kept, _MOST_KEPT * budget.seconds)
    left -= time.perf_counter() - began
    most_inputs = _most_inputs(estimator)
    hidden: tuple[int, ...] | None = None if most_inputs is None else ()
    if given_or(estimator.hidden, None) is not None:
        given = Architecture.create(1, samples.n_outputs, hidden=estimator.hidden)
        hidden = given.hidden
    inputs, surroundings = Inputs.of(estimator.inputs), None
    if estimator.robust is not None:
        surroundings = estimator.robust.around(samples)
        if inputs.scale == "auto":  # the unit of the radius
            inputs = replace(inputs, scale="standard")
    groups = None
    if samples.groups is not None:
        groups = np.unique(samples.groups, return_inverse=True)[1].ravel()
    return learn(
        samples.values,
        plain.columns,
        samples.labels,
        samples.n_outputs,
        samples.weight,
        slot=Slot.of(max(0.0, left), is_stopped=is_stopped),
        seed=budget.seed,
        workers=budget.threads,
        inputs=inputs,
        hidden=hidden,
        most_inputs=most_inputs,
        ternary=given_or(estimator.weights, None) is not None,
        max_bytes=estimator.max_bytes,
        groups=groups,
        header=plain.header,
        surroundings=surroundings,
    )


def learned_result(
    learned: Learned,
    network: Network,
    figures: tuple[Fraction, Bound, float, Fraction],
    data: Mapping[str, Any] | None,
    began: float,
) -> TrainingResult:
    """What is known of a learnt network: its loss as it is, a bound that costs nothing, bytes."""
    model = Model(learned.encoder, network, tuple(range(network.architecture.n_outputs)))
    loss, bound, error, unit = figures
    return TrainingResult(
        status="interrupted" if learned.is_interrupted else "selected",
        loss=float(loss * unit),
        proof=bound.in_units(unit),
        error=error,
        seconds=time.perf_counter() - began,
        method="learning",
        held_out=replace(learned.held_out, size=partial(flash_size, model, data)),
    )


def warn_if_too_large(known: HeldOut | None, max_bytes: int | None) -> None:
    """Warn of a network that takes more than was allowed, where the user called ``fit``."""
    if known is not None and max_bytes is not None and known.bytes > max_bytes:
        warnings.warn(
            f"no network of at most {max_bytes} bytes was found, the smallest takes {known.bytes}: "
            f"allow max_bytes={known.bytes}, or give fewer columns or more time.",
            ConvergenceWarning,
            stacklevel=4,
        )


def with_probabilities(
    model: Model, learned: Learned, labels: NDArray[np.intp], weight: FloatArray | None
) -> Model:
    """Learn probabilities from what networks said of rows that they had not seen.

    Every row counts for all classes, for each as much as it was thought likely, once networks are
    as sure of themselves as they were right.
    """
    known = learned.held_out
    own = np.ones(len(known.rows)) if weight is None else weight[known.rows]
    logarithm, truth = np.log(np.maximum(known.share, 1e-6)), labels[known.rows]

    def sharpened(power: float) -> FloatArray:
        share = np.exp(power * logarithm)
        return np.asarray(share / share.sum(axis=1, keepdims=True), dtype=float)

    def surprise(power: float) -> float:
        return float(-own @ np.log(sharpened(power)[np.arange(len(truth)), truth] + 1e-9))

    share = sharpened(minimize_scalar(surprise, bounds=(0.2, 5.0), method="bounded").x)
    rows, classes = np.nonzero(share > 1e-3)
    shares = own[rows] * share[rows, classes]
    return model.calibrated(known.scores[rows], classes, shares, "held-out rows")


def lowered(network: Network, loss: Any, scores: FloatArray) -> Network:
    """Shift all output thresholds alike to where the loss is least; the classes stay."""
    levels, place = np.unique(scores, return_inverse=True)
    gains = (loss.cost_off - loss.cost_on).ravel()
    by_level = np.bincount(place.ravel(), gains, len(levels))
    # Entry p is the merit of switching on everything from level p upwards.
    merits = np.append(np.cumsum(by_level[::-1])[::-1], 0.0)
    best = int(merits.argmax())
    shift = levels[best] if best < len(levels) else levels[-1] + 1.0
    thresholds = (*network.thresholds[:-1], network.thresholds[-1] + shift)
    return replace(network, thresholds=thresholds)


_BLOCK = 1 << 22  # inputs at a time, 32 MB


@dataclass(frozen=True, eq=False)
class RowScores:
    """Distinct inputs, their labels, and what the outputs sum up on them."""

    samples: Samples  # lines without inputs
    loss: OutputLoss
    sums: FloatArray  # (n_lines, n_outputs): pre-activations

    @classmethod
    def of(cls, network: Network, encoder: Encoder, table: LabelledSamples) -> RowScores:
        """Go over the rows that count."""
        weight = np.ones(len(table.labels)) if table.weight is None else table.weight
        rows = np.flatnonzero(weight > 0)
        marks = np.empty(len(rows), dtype=np.uint64)
        sums = np.empty((len(rows), network.architecture.n_outputs))
        # Scores above thresholds of 0 are the sums.
        bare = replace(network, thresholds=(*network.thresholds[:-1], np.zeros((sums.shape[1], 1))))
        blocks = _blocks(len(rows), encoder.n_inputs)
        for block in blocks:
            inputs = encoder.transform(table.values[rows[block]]) + 0.0
            marks[block] = fingerprints(inputs)
            sums[block] = bare.scores(inputs)
        _, first, group = np.unique(marks, return_index=True, return_inverse=True)
        if not _are_equal(encoder, table.values, rows, first[group], blocks):
            first = group = np.arange(len(rows))  # rows that are apart have conflicts with none
        samples = Samples.of_lines(np.empty((len(first), 0)), weight, group)
        loss = OutputLoss.of(samples, table.labels, network.architecture.n_outputs)
        return cls(samples, loss, sums[first])

    def figures(self, network: Network) -> tuple[Fraction, Bound, float, Fraction]:
        """Loss, a bound, error and unit of the network with other thresholds of the outputs."""
        scores = self.sums - network.output_thresholds
        wrong = self.loss.cost_on[np.arange(len(scores)), scores.argmax(axis=1)]
        error = float(wrong.sum()) / self.loss.total
        bound = self.loss.irreducible(self.samples)
        return self.loss.of_outputs(scores >= 0), bound, error, Fraction(self.samples.unit)


def _blocks(n_rows: int, n_inputs: int) -> list[slice]:
    size = max(1, _BLOCK // max(1, n_inputs))
    return [slice(first, first + size) for first in range(0, n_rows, size)]


def _are_equal(
    encoder: Encoder, values: FloatArray, rows: IndexArray, twins: IndexArray, blocks: list[slice]
) -> bool:
    """Tell whether rows have the inputs of those that their fingerprints say."""
    for block in blocks:
        own, twin = rows[block], rows[twins[block]]
        differ = own != twin
        one, other = (encoder.transform(values[place[differ]]) for place in (own, twin))
        if not (one == other).all():
            return False
    return True
