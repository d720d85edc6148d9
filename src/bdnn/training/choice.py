"""Choice among networks by samples that were held out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bdnn.errors import ModelError
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.search.embedding import embed, shallow_problem
from bdnn.search.margin import widen_margin
from bdnn.search.starts import straight_through

if TYPE_CHECKING:
    from bdnn.training.descent import Search

# Noise of further networks trained by gradients: what suits best differs from data to data.
_JITTERS = (0.1, 0.3, 0.0)
# Part of the time for copies of shallow networks.
_SHALLOW_SHARE = 0.3


def choose_by_validation(search: Search, validation: TrainingProblem, seconds: float) -> None:
    """Take the network with the fewest validation errors, of equal ones the lowest loss.

    Candidates: the network at hand, also with wider margins at the same loss and at the price of
    some; networks that gradients alone have trained, and the best of these with wider margins.
    Where the start had too little time it is one such network only, with more time, and for a deep
    one copies of a shallow network, which takes far less; otherwise these would only make the
    choice more of a lottery.
    """
    recorder = search.recorder
    problem, deadline = recorder.problem, recorder.seconds + seconds

    def rank(network: Network) -> tuple[float, float]:
        return validation.error(network), problem.loss(network)

    def share(steps: int) -> float:
        left = 0.0 if recorder.interrupted else deadline - recorder.seconds
        return left / steps

    at_hand = search.best
    shallow = shallow_problem(problem)
    copies: list[Network] = []
    if shallow is not None and search.is_rushed:
        copies = _copies(search, shallow, _SHALLOW_SHARE * seconds)
    learnt = [at_hand] if search.first is None else [search.first]
    wide = replace(search.objective, order=("margin",))
    n_recipes, jitters = (1, _JITTERS[:1]) if search.is_rushed else (3, _JITTERS)
    if search.start == "straight_through":
        for number, jitter in enumerate(jitters):
            left = share(n_recipes + len(jitters) - number)
            if left > 0 and not recorder.heartbeat("validation"):
                rng = np.random.default_rng(search.spawn_seed())
                learnt.append(straight_through(problem, rng=rng, seconds=left, jitter=jitter))
    recipes = [(min(learnt, key=rank), wide), (at_hand, search.objective), (at_hand, wide)]
    candidates = [at_hand, *learnt, *copies]
    for number, (network, objective) in enumerate(recipes[:n_recipes]):
        left = share(n_recipes - number)
        if left > 0:
            candidates.append(search.refined(network, objective, left))
    chosen = min(candidates, key=rank)
    if problem.loss(chosen) > recorder.loss:
        search.message = "validation preferred a network of higher training loss"
    recorder.choose(chosen, "validation")


def _copies(search: Search, shallow: TrainingProblem, seconds: float) -> list[Network]:
    """Train a network of one hidden layer, by gradients and then for wide margins, and copy it."""
    recorder = search.recorder
    deadline = recorder.seconds + seconds
    if recorder.heartbeat("validation"):
        return []
    rng = np.random.default_rng(search.spawn_seed())
    plain = straight_through(shallow, rng=rng, seconds=seconds / 2, jitter=_JITTERS[0])
    wide = widen_margin(
        shallow,
        plain,
        seconds=max(0.01, deadline - recorder.seconds),
        seed=search.spawn_seed(),
        objectives=("margin",),
        on_progress=lambda network, values: recorder.heartbeat("validation"),
    )
    try:
        return [embed(network, recorder.problem.architecture) for network in (plain, wide)]
    except ModelError:  # for example no spare unit to make a constant of
        return []
