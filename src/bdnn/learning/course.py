"""A course: candidates are compared on held-out rows, one is chosen, and trained on all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event

import numpy as np

from bdnn.clock import Slot
from bdnn.learning.candidates import candidates, robust_candidates, student
from bdnn.learning.comparison import IntArray, Trial, blend, compare, folds_of, ranked, timed
from bdnn.learning.flash import FlashSize, least_bytes, stack_bytes
from bdnn.learning.gradients import Gradients
from bdnn.learning.held_out import HeldOut, held_out_of
from bdnn.learning.shrinking import shrunk
from bdnn.learning.stack import Array, Candidate, Lesson, Stack
from bdnn.learning.teaching import is_joinable, join, taught, unseen_opinion
from bdnn.parallel import run_tasks

MOST_ROWS, FEWEST_ROWS = 300_000, 1000  # that are learnt from
_MOST_COMPARED, _COMPARED_PER_SECOND = 100_000, 2000  # of them, by candidates
_FOLDS, _FOLDS_OF_MANY, _MANY_ROWS = 5, 3, 1000
_FEW_ROWS = 200  # below which rows are folded twice
# Rows per class below which held-out rows tell nothing of what is not linear: those that were best
# by chance cost 1.4 points in the mean over tables with two rows per class.
_FEWEST_PER_CLASS = 4
_COMPARING, _COMPARING_GUARDED = 0.5, 0.8  # part of the time
_TRYING = 0.3  # of what is left, the most for one fold of the network that learns from others
_TEACHERS = 3
_TELLING_ROWS = 5000  # held-out rows that tell enough of a network; of fewer two folds do
_SHRINKING = 0.4  # of what is left, for networks that are too large
_SHRUNK = 2
_MOST_BYTES = 1 << 14  # of a network, unless more are allowed
# Networks of other seeds that stand beside the last one, and the bytes that all may take: three err
# less by chance than one, by 0.8 points in the mean over tables (two: 0.4).
_COPIES, _MOST_COPIED = 3, 1 << 13
_WIDTHS = (60, 40, 25, 15, 10, 6, 3)


@dataclass(eq=False)
class Course:
    """Comparison, choice and last training."""

    lesson: Lesson
    together: IntArray
    column_of: IntArray
    rng: np.random.Generator
    slot: Slot
    hidden: tuple[int, ...] | None
    ternary: bool
    most_inputs: int | None
    max_bytes: int | None
    flash: FlashSize
    workers: int = 1
    interrupted: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        # By way of the event alone: a slot that knows the course would keep its rows in memory.
        self.slot = self.slot.until(self.interrupted.is_set)

    def run(self) -> tuple[Stack, HeldOut]:
        """Train the network, and tell what is known of held-out rows."""
        most = min(_MOST_COMPARED, max(FEWEST_ROWS, self.slot.remaining * _COMPARED_PER_SECOND))
        compared = drawn(np.arange(len(self.lesson)), int(most), self.rng)
        part = self.lesson.rows(compared)
        ways = robust_candidates(part.table)
        if not part.around:
            ways = candidates(
                part.table,
                self.hidden,
                ternary=self.ternary,
                most_inputs=self.most_inputs,
                only_linear=self._is_tiny,
            )
        trials = [Trial.of(name, way, part) for name, way in ways.items()]
        repeats = self._folds(part, self.together[compared])
        seed = int(self.rng.integers(2**31))
        with self._kept():
            # A robust candidate takes no longer on all rows than on the folds.
            time = self.slot.part(_COMPARING_GUARDED if part.around else _COMPARING)
            compare(trials, part, repeats, seed=seed, slot=time, workers=self.workers)
        if not any(trial.stacks for trial in trials):  # the plainest takes no time
            compare(trials[:1], part, repeats[:1], seed=seed, slot=self.slot)
        trials = [trial for trial in trials if trial.stacks]
        teachers = ranked(_furthest(trials), part)[:_TEACHERS]
        share = unseen_opinion(teachers, self.lesson, compared)
        with self._kept():
            trials += self._shrunk(trials, part, repeats)
        pupil = self._tried(part, share[compared], teachers, repeats[0])
        chosen, pool = self._choose(trials, pupil, part)
        stack = chosen.stacks[0]
        with self._kept():
            stack = self._last(chosen, share, teachers)
        known = held_out_of([*trials, pupil], pool, part, self.rng)
        return stack, replace(
            known,
            chosen=chosen.name,
            teachers=() if part.around else tuple(trial.name for trial in teachers),
            rows=compared,
            share=share[compared],
            size=partial(self.flash, stack),
        )

    @property
    def _is_tiny(self) -> bool:
        return len(self.lesson) < _FEWEST_PER_CLASS * self.lesson.n_classes

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Let Ctrl-C end the slot, so that what has been trained so far has to do."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted.set()

    def _fits(self, stack: Stack) -> bool:
        if self.max_bytes is not None:
            # To write the C of a network that is far too large takes long.
            if least_bytes(stack) > self.max_bytes:
                return False
            # Output thresholds that are shifted afterwards may need one byte more each.
            return self.flash(stack) + self.lesson.n_classes <= self.max_bytes
        # A shape that is given is as large as it is.
        return self.hidden is not None or stack_bytes(stack) <= _MOST_BYTES

    def _shrunk(
        self, trials: Sequence[Trial], part: Lesson, repeats: Sequence[IntArray]
    ) -> list[Trial]:
        """The best and the smallest of the too large, made to fit and tried on the same folds."""
        if self.max_bytes is None or self.hidden is not None:
            return []
        large = [trial for trial in trials if not self._fits(trial.stacks[0])]
        rounds = [(folds, fold) for folds in repeats for fold in range(int(folds.max()) + 1)]
        slot, found = self.slot.part(_SHRINKING), []
        chosen = ranked(_furthest(large), part)[:_SHRUNK] if large else []
        # Where next to nothing fits, what is small already has the shortest way to go.
        chosen += [trial for trial in sorted(large, key=_bytes)[:1] if trial not in chosen]
        for place, trial in enumerate(chosen):
            own = slot.part(1.0 / (len(chosen) - place))
            smaller = Trial.of(f"{trial.name}, shrunk", trial.candidate, part)
            smaller.seconds = trial.seconds
            for number, (folds, fold) in enumerate(rounds[: len(trial.stacks)]):
                lesson, outside = part.rows(np.flatnonzero(folds != fold)), folds == fold
                begun = self.slot.clock()
                time = own.part(1.0 / (len(trial.stacks) - number))
                stack = shrunk(trial.stacks[number], lesson, self._fits, seed=number, slot=time)
                if stack is None:
                    break
                smaller.add(stack, part, np.flatnonzero(outside), self.slot.clock() - begun)
            else:
                found.append(smaller)
        return found

    def _student(self, lesson: Lesson, teachers: Sequence[Trial]) -> Gradients | None:
        """The widest shape that fits, for the network that learns from the teachers."""
        # What others say of rows as they are is of no use where rows may change.
        if self.most_inputs is not None or lesson.around or self._is_tiny:
            return None
        for width in _WIDTHS:
            way = student(lesson.table, width)
            if self.hidden is not None:
                return replace(way, reads=teachers[0].candidate.reads, hidden=self.hidden)
            if self.slot.is_over():
                break
            drawn = replace(way, updates=0).fit(lesson, seed=0, slot=self.slot)
            if self._fits(drawn):
                return way
        return None

    def _tried(
        self, part: Lesson, share: Array, teachers: Sequence[Trial], folds: IntArray
    ) -> Trial:
        """Let a network learn from the teachers without one fold after the other, if time allows.

        New rows are those of teachers that have not seen the fold either.
        """
        way = self._student(part, teachers)
        half = way and replace(way, updates=way.updates // 2)
        own = half or teachers[0].candidate
        pupil = Trial.of("learnt from the best", own, part, is_taught=True)
        beside = max(trial.seconds / len(trial.stacks) for trial in teachers)
        with self._kept():
            n_folds = min(int(folds.max()) + 1, len(teachers[0].stacks))
            for first in range(0, n_folds, self.workers):
                # The last network takes as long as two of these, and may have another beside it,
                # for which there need not be time.
                left = self.slot.remaining - min(2.0 * beside, 0.5 * self.slot.remaining)
                left -= 3.0 * pupil.seconds / max(first, 1)
                if half is None or left <= 0 or self.slot.is_over():
                    break
                tasks: list[tuple[Candidate, Lesson, int]] = []
                for fold in range(first, min(first + self.workers, n_folds)):
                    inside = np.flatnonzero(folds != fold)
                    lesson = taught(
                        part.rows(inside),
                        share[inside],
                        [[trial.stacks[fold]] for trial in teachers],
                        self.column_of,
                        self.rng,
                    )
                    tasks.append((half, lesson, int(self.rng.integers(2**31))))
                for fold, (stack, seconds) in enumerate(self._fitted(tasks, _TRYING), first):
                    pupil.add(stack, part, np.flatnonzero(folds == fold), seconds)
        return pupil

    def _fitted(
        self, tasks: Sequence[tuple[Candidate, Lesson, int]], share: float
    ) -> Iterator[tuple[Stack, float]]:
        """Train several networks at a time, each with a share of what is left."""
        timely = ((*task, self.slot.part(share)) for task in tasks)
        return run_tasks(lambda task: timed(*task), timely, n_jobs=self.workers, prefer="processes")

    def _choose(
        self, trials: Sequence[Trial], pupil: Trial, part: Lesson
    ) -> tuple[Trial, list[Trial]]:
        """The way with the fewest mistakes that fits, and what it was chosen from."""
        fitting = [trial for trial in trials if self._fits(trial.stacks[0])]
        smallest = min(trials, key=_bytes)
        plain = ranked(_furthest(fitting or [smallest]), part)
        is_known = len(pupil.stacks) > 1 or np.count_nonzero(pupil.count) >= _TELLING_ROWS
        if not is_known or not self._fits(pupil.stacks[0]):
            return plain[0], plain
        pool = [*plain, pupil]
        is_open = self.hidden is None and not self.ternary
        if is_open and is_joinable(plain[0].stacks[0]):
            both = blend(f"{pupil.name}, and {plain[0].name}", [plain[0], pupil])
            n_bits = part.table.bits.shape[1]
            both.stacks.append(join([trial.stacks[0] for trial in both.parts], n_bits))
            pool += [both] if self._fits(both.stacks[0]) else []
        return ranked(pool, part)[0], pool

    def _folds(self, lesson: Lesson, together: IntArray) -> list[IntArray]:
        """Folds of the rows, twice where rows are few."""
        together = np.unique(together, return_inverse=True)[1].ravel()
        counts = np.bincount(lesson.labels, minlength=lesson.n_classes)
        n_folds = _FOLDS if len(lesson) < _MANY_ROWS else _FOLDS_OF_MANY
        n_folds = max(2, min(n_folds, int(counts[counts > 0].min())))
        repeats = 2 if len(lesson) < _FEW_ROWS else 1
        return [folds_of(lesson.labels, together, n_folds, self.rng) for _ in range(repeats)]

    def _last(self, chosen: Trial, share: Array, teachers: Sequence[Trial]) -> Stack:
        """Train the chosen way on all rows, or both of two ways side by side."""
        trials = chosen.parts or (chosen,)
        stacks = [trial.stacks[0] for trial in trials]  # better than those there is no time for
        tasks: dict[int, tuple[Candidate, Lesson, int]] = {}
        needed = 0.0
        for place, trial in enumerate(trials):
            lesson, way = self.lesson, trial.candidate
            needed += trial.seconds / len(trial.stacks) / min(self.workers, len(trials))
            if needed > self.slot.remaining or self.slot.is_over():
                continue
            if trial.is_taught:
                asked = [teacher.stacks for teacher in teachers]
                lesson = taught(lesson, share, asked, self.column_of, self.rng)
                way = self._student(self.lesson, teachers) or way
            tasks[place] = way, lesson, int(self.rng.integers(2**31))
        fitted = zip(tasks, self._fitted(list(tasks.values()), 1.0), strict=True)
        for place, (stack, seconds) in fitted:
            stacks[place] = stacks[place] if self.slot.is_stopped() else stack
            if isinstance(way, Gradients) and not chosen.parts:
                stacks += self._beside(stack, way, lesson, seconds)
        stack = join(stacks, self.lesson.table.bits.shape[1])
        # More rows may make more conditions; what was tried fits.
        if not self._fits(stack):
            stack = (
                shrunk(stack, self.lesson, self._fits, seed=0, slot=self.slot) or chosen.stacks[0]
            )
        return stack

    def _beside(self, stack: Stack, way: Gradients, lesson: Lesson, seconds: float) -> list[Stack]:
        """Networks of other seeds, as many as time and bytes allow."""
        found: list[Stack] = []
        if self.hidden is not None or self.ternary or not is_joinable(stack):
            return found
        most = min(_COPIES, _MOST_COPIED // stack_bytes(stack)) - 1
        while len(found) < most and 1.2 * seconds < self.slot.remaining:
            seeds = self.rng.integers(2**31, size=min(self.workers, most - len(found)))
            for more, _ in self._fitted([(way, lesson, int(seed)) for seed in seeds], 1.0):
                joined = join([stack, *found, more], lesson.table.bits.shape[1])
                if self.slot.is_over() or not self._fits(joined):
                    return found
                found.append(more)
        return found


def _bytes(trial: Trial) -> int:
    return trial.bytes


def _furthest(trials: Sequence[Trial]) -> list[Trial]:
    """Those that have come through the most folds."""
    most = max(len(trial.stacks) for trial in trials)
    return [trial for trial in trials if len(trial.stacks) == most]


def drawn(rows: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """All rows, or so many of them."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
