"""Constraints on problems of tests."""

from __future__ import annotations

from bdnn.problem.create import constrain as put
from bdnn.problem.terms.context import sequence


def constrain(problem, context=None, *, sparsity=None, regularizer=None, constraints=()):
    """Put all that is asked for on a problem."""
    single = [part for part in (sparsity, regularizer) if part is not None]
    return put(problem, [*single, *sequence(constraints)], context)
