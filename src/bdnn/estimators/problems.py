"""What a classifier's parameters ask of training: which problems, and which method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bdnn.constraints import AbstractConstraint, DemographicParity, MustClassify
from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError
from bdnn.estimators.robust import Robust, seen
from bdnn.estimators.samples import LabelledSamples, Problems
from bdnn.network.activation import BoolArray
from bdnn.network.architecture import Architecture
from bdnn.problem.create import classification, constrain, led_by
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples
from bdnn.problem.terms.context import Context, sequence
from bdnn.training.base import AbstractMethod
from bdnn.training.paper.local_search import LocalSearch


def make_problems(
    samples: LabelledSamples,
    architecture: Architecture,
    encoder: Encoder,
    method: AbstractMethod,
    *,
    robust: Robust | None,
    constraints: Sequence[AbstractConstraint],
    seed: int,
) -> tuple[AbstractMethod, Problems]:
    """What to train on, and the method that can do it."""

    def make(part: BoolArray) -> Problem[Any]:
        if robust is not None and robust.loss == "certified":
            return robust.certified_problem(samples, architecture, encoder, part)
        inputs, rows, weight = seen(robust, samples, encoder, part, seed)
        return classification(architecture, inputs, samples.labels[rows], weight)

    found = samples.problems(make)
    if robust is not None:
        method = robust.with_radii(method, found.problem, samples)
    if isinstance(method, LocalSearch):
        method = method.for_rows(found.problem.samples)
    if samples.must is not None and samples.must.any():
        constraints = [*constraints, MustClassify(np.flatnonzero(samples.must))]
    return method, constrained(found, samples, architecture, encoder, robust, constraints)


def constrained(
    problems: Problems,
    samples: LabelledSamples,
    architecture: Architecture,
    encoder: Encoder,
    robust: Robust | None,
    constraints: Sequence[AbstractConstraint],
) -> Problems:
    """Put constraints on what is trained on, which speak of the samples as they are."""
    if not constraints:
        return problems
    problem, lines = problems.problem, problems.problem.samples.line
    if robust is not None and robust.loss == "average":
        # The loss counts moved copies; what is asked of samples is about the true ones.
        inputs = encoder.transform(samples.values)
        true = Samples.merge(inputs, samples.weight_in(samples.counted))
        problem, lines = led_by(problem, true), true.line
    is_number = samples.labels.ndim > 1
    context = Context(
        architecture,
        encoder.feature_names,
        tuple(range(architecture.n_outputs) if is_number else samples.classes.tolist()),
        samples.values,
        np.zeros(len(lines), dtype=np.intp) if is_number else samples.labels,
        lines,
        samples.groups,
        problem.samples.n_lines,
    )
    return problems._replace(problem=constrain(problem, constraints, context))


def check_constraints(constraints: object) -> tuple[AbstractConstraint, ...]:
    """A sequence of what was given; what names rows of one table is no parameter."""
    given = () if constraints is None else tuple(sequence(constraints))
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
