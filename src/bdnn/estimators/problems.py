"""What a classifier's parameters ask of training: which problems, and which method."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bdnn.constraints import AbstractConstraint, DemographicParity, MustClassify
from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError
from bdnn.estimators.robust import Robust
from bdnn.estimators.samples import LabelledSamples, Problems
from bdnn.network.architecture import Architecture
from bdnn.problem.create import constrain, led_by
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
    inputs = encoder.transform(samples.values)
    if robust is None:
        found = samples.problems(partial(samples.problem, architecture, inputs))
    else:
        make = partial(robust.problem, samples, architecture, encoder, inputs, seed)
        found = samples.problems(make)
        method = robust.with_radii(method, found.problem, samples)
    if isinstance(method, LocalSearch):
        method = method.for_rows(found.problem.samples)
    if samples.must is not None and samples.must.any():
        constraints = [*constraints, MustClassify(np.flatnonzero(samples.must))]
    if not constraints:
        return method, found
    problem, lines = found.problem, found.problem.samples.line
    if robust is not None and robust.loss == "average":
        # The loss counts moved copies; what is asked of samples is about the true ones.
        true = Samples.merge(inputs, samples.weight_in(samples.counted))
        problem, lines = led_by(problem, true), true.line
    context = Context(
        architecture,
        encoder.feature_names,
        tuple(samples.classes.tolist()),
        samples.values,
        samples.labels,
        lines,
        samples.groups,
        problem.samples.n_lines,
    )
    return method, found._replace(problem=constrain(problem, constraints, context))


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
