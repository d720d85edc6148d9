"""Candidates on the same folds: what each says of rows that it has not seen.

Folds are parts of the rows that take turns at being held out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bdnn.clock import Slot
from bdnn.learning.flash import stack_bytes
from bdnn.learning.stack import Array, Candidate, Lesson, Stack
from bdnn.network.activation import BoolArray
from bdnn.parallel import run_tasks

IntArray = NDArray[np.intp]


def same_rows(codes: NDArray[np.float64]) -> IntArray:
    """A number per row that equal rows share; missing values are equal."""
    filled = np.where(np.isnan(codes), np.inf, codes)
    return np.asarray(np.unique(filled, axis=0, return_inverse=True)[1]).ravel()


def folds_of(
    labels: IntArray, groups: IntArray, n_folds: int, rng: np.random.Generator
) -> IntArray:
    """The fold of every row: classes are spread evenly and groups stay together.

    Groups come in random order, the largest first. Each goes where its leading class has the
    fewest rows so far, then where rows are fewest.
    """
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    n_classes = int(labels.max()) + 1 if len(labels) else 0
    counts = np.zeros((n_groups, n_classes), dtype=np.intp)
    np.add.at(counts, (groups, labels), 1)
    leading, sizes = counts.argmax(axis=1), counts.sum(axis=1)
    order = rng.permutation(n_groups)
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold = np.empty(n_groups, dtype=np.intp)
    single = order[sizes[order] == 1]
    held = np.zeros((n_folds, n_classes), dtype=np.intp)
    for group in order[sizes[order] > 1]:
        place = int(np.lexsort((held.sum(axis=1), held[:, leading[group]]))[0])
        fold[group] = place
        held[place] += counts[group]
    # Rows of their own are dealt class by class, the folds with fewer rows of it first.
    start = 0
    for label in range(n_classes):
        members = single[leading[single] == label]
        places = _dealt(held[:, label], len(members), start)
        fold[members] = places
        held[:, label] += np.bincount(places, minlength=n_folds)
        start = (start + len(members)) % n_folds
    return np.asarray(fold[groups])


def _dealt(held: IntArray, count: int, start: int) -> IntArray:
    """Where so many rows go so that folds, which hold some already, become as even as can be."""
    n_folds = len(held)
    level = held.copy()
    places = np.empty(count, dtype=np.intp)
    turn = np.roll(np.arange(n_folds), -start)
    begun = 0
    while begun < count and level.min() < level.max():
        place = turn[int(np.argmin(level[turn]))]
        places[begun] = place
        level[place] += 1
        begun += 1
    places[begun:] = np.resize(turn, count - begun)
    return places


# Standard errors by which a candidate has to be behind the best to be given up.
_CERTAIN = 3.0
# Part of the time that is left which is always there for a candidate.
_CHEAP = 0.02
# Part of the time in which all candidates are tried, and the rows that they are trained on then.
_FIRST, _FIRST_ROWS = 0.4, 2000
# What a mistake about a row as it is counts beside one about all that it may become.
_AS_THEY_ARE = 0.1


@dataclass(eq=False)
class Trial:
    """A candidate and its networks so far, one per fold.

    Parameters
    ----------
    name : str
    candidate : Candidate
    total : array of shape (n_rows, n_classes)
        Probabilities that its networks gave rows they had not seen, added up.
    count : array of shape (n_rows,)
        How many networks that were.
    certain : array of shape (n_rows,)
        How many of them were right in the whole region around the row, if there is one.
    stacks : list of Stack
    seconds : float
        Of all trainings.
    is_taught : bool
        Whether it learns from other trials.
    parts : tuple of Trial
        Trials that it puts side by side.
    """

    name: str
    candidate: Candidate
    total: Array
    count: IntArray
    certain: IntArray
    stacks: list[Stack] = field(default_factory=list)
    seconds: float = 0.0
    is_taught: bool = False
    parts: tuple[Trial, ...] = ()

    @classmethod
    def of(
        cls, name: str, candidate: Candidate, lesson: Lesson, *, is_taught: bool = False
    ) -> Trial:
        """A trial that has not begun."""
        total = np.zeros((len(lesson), lesson.n_classes), np.float32)
        count, certain = np.zeros((2, len(lesson)), dtype=np.intp)
        return cls(name, candidate, total, count, certain, is_taught=is_taught)

    @property
    def bytes(self) -> int:
        """Of one of its networks."""
        return stack_bytes(self.stacks[0])

    def forget(self) -> None:
        """Begin again."""
        self.total, self.count = np.zeros_like(self.total), np.zeros_like(self.count)
        self.certain = np.zeros_like(self.certain)
        self.stacks, self.seconds = [], 0.0

    def add(self, stack: Stack, lesson: Lesson, outside: IntArray, seconds: float) -> None:
        """Take note of a network and of what it says of rows that it has not seen."""
        self.seconds += seconds
        self.stacks.append(stack)
        self.total[outside] += probabilities(stack.logits(lesson.table.rows(outside)))
        self.count[outside] += 1
        if lesson.around:
            self.certain[outside] += is_certain(stack, lesson, outside)

    @property
    def share(self) -> Array:
        """Probabilities of rows that were held out."""
        return np.asarray(self.total / np.maximum(self.count, 1)[:, None])


def blend(name: str, trials: Sequence[Trial]) -> Trial:
    """What trials say together of rows that all of them were tried on."""
    count = np.min([np.minimum(trial.count, 1) for trial in trials], axis=0)
    total = np.mean([trial.share for trial in trials], axis=0) * count[:, None]
    parts = tuple(trials)
    certain = np.zeros_like(count)
    return Trial(name, trials[0].candidate, total.astype(np.float32), count, certain, parts=parts)


def is_certain(stack: Stack, lesson: Lesson, rows: IntArray) -> BoolArray:
    """Tell which rows a network is certainly right about, whatever they become."""
    regions = lesson.around[1.0].regions.subset(rows)
    if stack.reads == "bits":  # numbers that nobody looks at round nothing
        regions = replace(regions, step=1.0)
    n_numbers, n_bits = lesson.table.numbers.shape[1], lesson.table.bits.shape[1]
    network = stack.network(n_numbers, n_bits, regions.step)
    return regions.is_certain(network, lesson.labels[rows])


def slips(trial: Trial, lesson: Lesson, rows: IntArray) -> Array:
    """Weight of rows that are put into a wrong class as they are."""
    wrong = trial.share[rows].argmax(axis=1) != lesson.labels[rows]
    return np.asarray(lesson.weight[rows] * wrong)


def mistakes(trial: Trial, lesson: Lesson, rows: IntArray) -> Array:
    """Weight of rows that are not right: as they are, or whatever they become."""
    if not lesson.around:
        return slips(trial, lesson, rows)
    lost = 1.0 - trial.certain[rows] / np.maximum(trial.count[rows], 1)
    return np.asarray(lesson.weight[rows] * lost, dtype=np.float32)


def log_loss(trial: Trial, lesson: Lesson, rows: IntArray) -> float:
    """Mean surprise at the labels; a row that is hopeless counts for a few others, not for all."""
    of_label = trial.share[rows, lesson.labels[rows]]
    return float(np.average(-np.log(of_label + 1e-3), weights=lesson.weight[rows]))


def probabilities(logits: Array) -> Array:
    """Softmax."""
    share = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True), dtype=np.float32)


def ranked(trials: Sequence[Trial], lesson: Lesson) -> list[Trial]:
    """Trials by mistakes on the rows that all of them were tried on, then by log loss.

    Mistakes whatever rows become are noisy, and those about rows as they are tell something too.
    """
    rows = np.flatnonzero(np.min([trial.count for trial in trials], axis=0))

    def key(trial: Trial) -> tuple[float, float]:
        missed = float(mistakes(trial, lesson, rows).sum())
        if lesson.around:
            missed += _AS_THEY_ARE * float(slips(trial, lesson, rows).sum())
        return round(missed, 6), log_loss(trial, lesson, rows)

    return sorted(trials, key=key)


def timed(candidate: Candidate, lesson: Lesson, seed: int, slot: Slot) -> tuple[Stack, float]:
    """Train a candidate, and tell how long that took."""
    begun = slot.clock()
    return candidate.fit(lesson, seed=seed, slot=slot), slot.clock() - begun


def compare(
    trials: Sequence[Trial],
    lesson: Lesson,
    repeats: Sequence[IntArray],
    *,
    seed: int,
    slot: Slot,
    workers: int = 1,
) -> None:
    """Train every candidate without one fold after the other, as far as time goes.

    After each fold those go on that are not clearly behind the best, as many as there is time for.
    Where rows are many, a part of them says who begins at all, the best first.

    Parameters
    ----------
    trials : sequence of Trial
        Plain candidates first.
    lesson : Lesson
    repeats : sequence of arrays
        Folds of all rows, each time other ones.
    """
    rounds = [(folds, fold) for folds in repeats for fold in range(int(folds.max()) + 1)]
    rows = np.flatnonzero(rounds[0][0] != 0)
    is_drawn = len(rows) > _FIRST_ROWS
    if is_drawn:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _FIRST_ROWS, replace=False))
    alive = list(trials)
    for number, (folds, fold) in enumerate([rounds[0], *rounds] if is_drawn else rounds):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        part = lesson.rows(inside if number else rows)
        time = slot if number else slot.part(_FIRST)
        tasks = _tasks(alive, part, seed + number, time, (3 if number else 1) * workers)
        fitted = run_tasks(lambda task: timed(*task), tasks, n_jobs=workers, prefer="processes")
        n_fitted = 0
        for (stack, seconds), trial in zip(fitted, alive, strict=False):
            if is_drawn and number == 1:
                trial.forget()  # what a part of the rows is enough for, is who goes on
            trial.add(stack, lesson, outside, seconds)
            n_fitted += 1
        if n_fitted < len(alive):
            return
        left = workers * slot.remaining
        kept = _going_on(alive, lesson, left, len(rounds) - number - (not is_drawn))
        # A part of many rows tells who is best; few rows do not, and plain ones are cheap.
        alive = kept if is_drawn else [trial for trial in alive if trial in kept]


def _tasks(
    alive: Sequence[Trial], lesson: Lesson, seed: int, slot: Slot, share: float
) -> Iterator[tuple[Candidate, Lesson, int, Slot]]:
    """Trainings of one round, each with a share of what is left once its turn has come."""
    for place, trial in enumerate(alive):
        if trial.stacks and slot.is_over():
            return
        own = slot.part(min(1.0, share / (len(alive) - place)))
        yield trial.candidate, lesson, seed, own


def _going_on(alive: Sequence[Trial], lesson: Lesson, left: float, rounds_left: int) -> list[Trial]:
    """Those that may still be the best, as many as there is time for, by rank."""
    rows = np.flatnonzero(alive[0].count)
    order = ranked(alive, lesson)
    least = mistakes(order[0], lesson, rows)
    kept: list[Trial] = []
    seconds = 0.0
    for trial in order:
        behind = mistakes(trial, lesson, rows) - least
        needed = trial.seconds / len(trial.stacks) * rounds_left
        is_behind = behind.sum() > _CERTAIN * float(np.sqrt(np.square(behind).sum()))
        is_late = seconds + needed > left and needed > _CHEAP * left
        if not is_behind and not is_late:
            kept.append(trial)
            seconds += needed
    return kept or order[:1]
