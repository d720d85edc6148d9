"""What a user's parameters ask of training: which problem of which samples, and which method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bdnn.constraints import AbstractConstraint, DemographicParity, MustClassify
from bdnn.encoding import Encoder, Inputs
from bdnn.encoding.scaling import AUTO_KINDS
from bdnn.errors import ModelError
from bdnn.estimators.samples import LabelledSamples
from bdnn.model import Model, TargetScaler
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.network.norms import check_norm, check_radius, check_units
from bdnn.problem.bound import Bound
from bdnn.problem.create import (
    claims,
    constrain,
    describe_terms,
    led_by,
    with_pattern,
    with_pattern_in,
)
from bdnn.problem.losses.average import moved_copies
from bdnn.problem.losses.certified import CertifiedLoss
from bdnn.problem.problem import Problem
from bdnn.problem.regions import Regions
from bdnn.problem.samples import Samples
from bdnn.problem.terms.context import Context, Features, sequence
from bdnn.robustness.perturbation import PerturbationSet, parse_units
from bdnn.training.base import AbstractMethod
from bdnn.training.paper.local_search import LocalSearch

RobustLoss = Literal["pattern", "certified", "average"]


@dataclass(frozen=True)
class Robust:
    """Balls around the training samples, and what holds in them.

    Parameters
    ----------
    radius : float or None, default None
        Of all balls, in units of scaled inputs unless ``units`` says otherwise. ``fit`` takes one
        per sample instead.
    norm : {"linf", "l1", "l2"}, default "linf"
    loss : {"certified", "average", "pattern"}, default "certified"
        What holds in the balls: the classes of as many samples as possible, so that the loss counts
        the others; the loss for random perturbations, on average; or every first-layer activation
        of every sample, as in the paper.
    units : {"scaled", "raw"} or mapping, default "scaled"
        What a radius of 1 is: a scaled input moved by 1, a raw one, or every column, by name or
        number, moved by a raw length of its own, and other columns stand still. With the certified
        loss only.
    """

    radius: float | None = None
    norm: str = "linf"
    loss: str = "certified"
    units: RadiusUnits = "scaled"

    def __post_init__(self) -> None:
        check_norm(self.norm, name="robust: norm")
        if self.loss not in get_args(RobustLoss):
            raise ModelError(
                f"robust: loss must be 'certified', 'average' or 'pattern', got {self.loss!r}: "
                "choose one of these."
            )
        if self.radius is not None and check_radius(self.radius, name="robust: radius").ndim:
            raise ModelError("robust: radius must be one number, got several: give them to fit.")
        if isinstance(self.units, str):
            check_units(self.units)
        if self.units != "scaled" and self.loss != "certified":
            raise ModelError(
                f"robust: units are for loss 'certified', got {self.units!r} with {self.loss!r}: "
                "leave them out."
            )

    def around(self, samples: LabelledSamples) -> Surrounded:
        """Samples with a ball around each."""
        assert samples.radius is not None
        return Surrounded(samples.values, samples.radius, self.norm, self.units)

    def describe(self, samples: LabelledSamples, encoder: Encoder) -> dict[str, Any]:
        """What the certificate of a model file says: the radius of all, or one per row.

        Units are told by name, or by the raw move of every column.
        """
        assert samples.radius is not None
        same = bool((samples.radius == samples.radius[0]).all())
        radius = float(samples.radius[0]) if same else samples.radius.tolist()
        measure = parse_units(self.units, encoder.names)
        known = measure if isinstance(measure, str) else list(measure)
        units = {} if known == "scaled" else {"units": known}
        return {"radius": radius, "norm": self.norm, "loss": self.loss, **units}


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is asked, and of what the model is made beside the network."""

    encoder: Encoder
    method: AbstractMethod
    samples: LabelledSamples  # kept for further ones
    inputs: FloatArray  # (n_samples, n_inputs): what the encoder makes of them
    problem: Problem[Any]  # samples that the loss counts
    # Those that are held out, and the problem without them where it holds them too.
    validation: Problem[Any] | None = None
    training_part: Problem[Any] | None = None
    targets: TargetScaler | None = None  # what the numbers of a regressor stand for
    # Whose error the result states, where the problem is not the user's own.
    true_problem: Problem[Any] | None = None
    # What a model file says of the training.
    certificate: dict[str, Any] = field(default_factory=dict)


#: The problem of inputs, given which sample each of them is and its weight.
MakeProblem = Callable[[FloatArray, NDArray[np.intp], FloatArray], Problem[Any]]


def make_task(
    samples: LabelledSamples,
    architecture: Architecture,
    encoder: Encoder,
    method: AbstractMethod,
    make: MakeProblem,
    *,
    robust: Robust | None,
    constraints: Sequence[AbstractConstraint],
    seed: int,
) -> Task:
    """What to train on, and the method that can do it; moved copies are drawn by the seed."""
    inputs, is_labelled = encoder.transform(samples.values), samples.labels.ndim == 1

    def problem_of(part: BoolArray) -> Problem[Any]:
        weight = samples.weight_in(part)
        if robust is None or robust.loss == "pattern":
            return make(inputs, np.arange(len(weight)), weight)
        around = robust.around(samples)
        if robust.loss == "certified":
            return certified_problem(architecture, encoder, inputs, samples.labels, around, weight)
        X, radius, norm = around.X, around.radius, check_norm(around.norm)
        return make(*moved_copies(encoder, X, radius, norm, weight, seed=seed))

    problem = problem_of(samples.counted)
    validation = training_part = None
    if samples.held_out.any():
        training = problem_of(~samples.held_out) if samples.counts_all else problem
        held_out = problem_of(samples.held_out)
        if len(training.inputs) and len(held_out.inputs):  # otherwise one has no weight at all
            validation = held_out
            training_part = training if samples.counts_all else None
    if robust is not None and robust.loss == "pattern":
        if encoder.is_plain:
            problem = with_pattern(problem, _radii(problem.samples, samples), robust.norm)
        else:
            around = robust.around(samples)
            problem = with_pattern_in(problem, around.regions(problem.samples.rows, encoder))
    if isinstance(method, LocalSearch):
        method = method.for_rows(problem.samples)
    if samples.must is not None and samples.must.any():
        constraints = [*constraints, MustClassify(np.flatnonzero(samples.must))]
    if constraints:
        lines = problem.samples.line
        if robust is not None and robust.loss == "average":
            # The loss counts moved copies; what is asked of samples is about the true ones.
            true = Samples.merge(inputs, samples.weight_in(samples.counted))
            problem, lines = led_by(problem, true), true.line
        context = Context(
            architecture,
            encoder.input_names,
            tuple(samples.classes.tolist() if is_labelled else range(architecture.n_outputs)),
            samples.values,
            samples.labels if is_labelled else np.zeros(len(lines), dtype=np.intp),
            lines,
            samples.groups,
            problem.samples.n_lines,
            None if encoder.is_plain else _features(encoder),
        )
        problem = constrain(problem, constraints, context)
    return Task(encoder, method, samples, inputs, problem, validation, training_part)


def _features(encoder: Encoder) -> Features:
    """What constraints know of raw columns."""
    return Features(encoder.names, encoder.column_of, encoder.ascending)


def certificate_of(task: Task, robust: Robust | None) -> dict[str, Any]:
    """What the file of a classifier says of its training."""
    found: dict[str, Any] = {"data": task.samples.describe()}
    if robust is not None:
        found["robust"] = robust.describe(task.samples, task.encoder) | task.problem.loss.claim()
    if task.problem.terms:
        found |= {"promises": claims(task.problem), **describe_terms(task.problem)}
    return found


def _radii(merged: Samples, samples: LabelledSamples) -> FloatArray:
    """Radii of the problem's inputs: of equal samples the largest."""
    assert samples.radius is not None
    radii = np.zeros(merged.n_lines)
    rows = merged.rows  # samples without weight are no part of the problem
    np.maximum.at(radii, merged.line[rows], samples.radius[rows])
    return radii


def check_robust(robust: object, samples: LabelledSamples) -> LabelledSamples:
    """Check what is asked of balls; every sample has one radius then, its own or that of all."""
    if robust is not None and not isinstance(robust, Robust):
        raise ModelError(
            f"robust must be a Robust or None, got {robust!r}: give for example Robust(0.1)."
        )
    if robust is None and samples.radius is not None:
        raise ModelError(
            "radius is for training with robust, got a radius per sample without: give for example "
            "robust=Robust()."
        )
    if robust is None or samples.radius is not None:
        return samples
    if robust.radius is None:
        raise ModelError(
            "robust needs a radius, got none: give for example Robust(0.1), or a radius per "
            "sample to fit."
        )
    return replace(samples, radius=check_radius(robust.radius, len(samples.labels)))


def check_constraints(constraints: object) -> tuple[AbstractConstraint, ...]:
    """A sequence of what was given; what names rows of one table is no parameter."""
    if constraints is None or isinstance(constraints, tuple):
        given = constraints or ()
    else:
        given = tuple(sequence(constraints))
    for constraint in given:
        if isinstance(constraint, MustClassify):
            raise ModelError(
                f"{constraint.name} names rows of one table, which a parameter cannot know: give "
                "fit a mask of them as must."
            )
        if isinstance(constraint, DemographicParity) and np.ndim(constraint.group) > 0:
            raise ModelError(
                f"{constraint.name} names a group per row of one table, which a parameter cannot "
                "know: give them to fit as groups, and the constraint None."
            )
    return given


def check_same_shape(
    asked: Architecture, kept: Architecture, inputs: Inputs, encoder: Encoder
) -> None:
    """Refuse parameters that ask for another network or encoder than there is."""
    kind, scale = encoder.scale, inputs.scale
    kinds = (kind, *(["auto"] if kind in AUTO_KINDS else []))
    is_same = scale in kinds if encoder.numbers else True
    if asked != kept or not is_same or inputs.has_bits < bool(encoder.bits):
        raise ModelError(
            f"extend keeps the network {kept} with scale {kind!r}, got parameters for "
            f"{asked} with scale {scale!r}: set them back or fit anew."
        )


def continued(
    bound: Bound,
    problem: Problem[Any],
    robust: Mapping[str, Any] | None,
    trained: Mapping[str, Any],
) -> Bound:
    """What an earlier bound says of the earlier part of a problem; nothing where that is not known.

    A bound for all networks is one for those that keep what is asked now. Otherwise the same must
    have been asked, and of more samples it must ask no less: so it is with what speaks of weights,
    and with balls in which activations hold.
    """
    before = tuple(trained.get(key) for key in ("robust", "constraints", "penalty"))
    terms = describe_terms(problem)
    now = (robust, terms.get("constraints"), terms.get("penalty"))
    grows = not any(term.sees_samples for term in problem.terms)
    grows = grows and (robust is None or robust["loss"] == "pattern")
    is_kept = before == (None, None, None) or (before == now and grows)
    return bound if is_kept else Bound(Fraction(0), "zero")


#: What a radius of 1 is: a name, or the length of a raw move of every column.
RadiusUnits = str | Mapping[Any, float] | Sequence[float]


@dataclass(frozen=True, eq=False)
class Surrounded:
    """Raw samples with a ball around each.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    radius : array of shape (n_samples,)
    norm : {"linf", "l1", "l2"}
    units : {"scaled", "raw"} or mapping
        What a radius of 1 is, see :class:`~bdnn.robustness.perturbation.PerturbationSet`.
    """

    X: FloatArray
    radius: FloatArray
    norm: str
    units: RadiusUnits = "scaled"

    def around(self, rows: NDArray[np.intp], encoder: Encoder) -> PerturbationSet:
        """What surrounds some samples. The network that looks around is of no meaning."""
        shape = Architecture.create(encoder.n_inputs, 2, hidden=())
        network = Network(shape, (np.zeros((2, encoder.n_inputs)),), (np.zeros(2),))
        return PerturbationSet.create(
            Model(encoder, network), self.X[rows], norm=self.norm, units=self.units
        )

    def reach(self, rows: NDArray[np.intp], encoder: Encoder) -> FloatArray:
        """How far every raw value may move."""
        around = self.around(rows[:1], encoder)
        far = self.radius[rows][:, None] / around.weight
        return np.where(around.domain.fixed, 0.0, far)

    def regions(self, rows: NDArray[np.intp], encoder: Encoder, wider: float = 1.0) -> Regions:
        """Inputs that samples may become within so many times their radius."""
        return self.around(rows, encoder).regions(wider * self.radius[rows])


def certified_problem(
    architecture: Architecture,
    encoder: Encoder,
    inputs: FloatArray,
    labels: NDArray[np.intp],
    surrounded: Surrounded,
    sample_weight: FloatArray | None = None,
) -> Problem[CertifiedLoss]:
    """Put raw samples, scaled ones and balls together; samples without weight are dropped."""
    samples = Samples.merge(inputs, sample_weight, apart=True)
    regions = surrounded.regions(samples.rows, encoder)
    loss = CertifiedLoss.of(samples, labels, regions, architecture.n_outputs)
    return Problem(architecture, samples, loss)
