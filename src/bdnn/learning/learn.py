"""From a raw table to an encoder and a network, by what networks say of rows they have not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.clock import Slot
from bdnn.encoding import Column, Encoder, Inputs
from bdnn.learning.around import Around, Surroundings
from bdnn.learning.candidates import WIDER, candidates, robust_candidates, student
from bdnn.learning.comparison import Trial, blend, compare, ranked
from bdnn.learning.flash import FlashSize, seen_network, with_short_scale
from bdnn.learning.folds import IntArray, folds_of, same_rows
from bdnn.learning.gradients import Gradients, load
from bdnn.learning.held_out import HeldOut, held_out_of
from bdnn.learning.joining import is_joinable, join
from bdnn.learning.shrinking import shrunk
from bdnn.learning.size import least_bytes, stack_bytes
from bdnn.learning.stack import Array, Lesson, Stack, Table
from bdnn.learning.tails import tail_cuts
from bdnn.learning.teaching import taught, unseen_opinion
from bdnn.model_file.data import describe_ranges
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.network.network import Network

# Rows that are learnt from, and those of them that candidates are compared on: in a second, and in
# any case.
_MOST_ROWS, _LEARNT_PER_SECOND, _COMPARED_PER_SECOND, _FEWEST_ROWS = 100_000, 10_000, 2000, 1000
_FOLDS, _FOLDS_OF_MANY, _MANY_ROWS = 5, 3, 1000
_FEW_ROWS = 200  # below which rows are folded twice
_COMPARING, _COMPARING_GUARDED = 0.5, 0.8  # part of the time
_TRYING = 0.3  # of what is left, the most for one fold of the network that learns from others
_TEACHERS = 3
_SHRINKING = 0.4  # of what is left, for networks that are too large
_SHRUNK = 2
_MOST_BYTES = 1 << 14  # of a network, unless more are allowed
# Where rows may change: rows that are learnt from, cuts of a column, and bits of all rows together.
_MOST_GUARDED, _MOST_CUTS, _MOST_CELLS = 20_000, 256, 4_000_000
_WIDTHS = (60, 40, 25, 15, 10, 6, 3)


@dataclass(frozen=True, eq=False)
class Learned:
    """A network, what it looks at, and what is known of rows that it has not seen.

    Parameters
    ----------
    encoder : Encoder
    network : Network
    held_out : HeldOut
    is_interrupted : bool
        Whether Ctrl-C or a request to stop ended it before its time.
    """

    encoder: Encoder
    network: Network
    held_out: HeldOut
    is_interrupted: bool = False


def learn(
    codes: FloatArray,
    columns: Sequence[Column],
    labels: IntArray,
    n_classes: int,
    sample_weight: FloatArray | None = None,
    *,
    slot: Slot,
    seed: int = 0,
    inputs: Inputs | None = None,
    hidden: tuple[int, ...] | None = None,
    ternary: bool = False,
    most_inputs: int | None = None,
    max_bytes: int | None = None,
    groups: IntArray | None = None,
    header: bool = False,
    surroundings: Surroundings | None = None,
) -> Learned:
    """Learn a table.

    Candidates of many kinds are trained without one fold of the rows after the other, and judged by
    these. One network then learns from the labels and from what the best of them say.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
    columns : sequence of Column
    labels : array of int of shape (n_rows,)
    n_classes : int
    sample_weight : array of shape (n_rows,), optional
    slot : Slot
        All of the time; what is known to be enough takes less.
    seed : int
    inputs : Inputs, optional
    hidden : tuple of int, optional
        Widths of the hidden layers, which are then kept.
    ternary : bool
        Whether all weights are to be -1, 0 or 1; else outputs may have larger ones.
    most_inputs : int, optional
        Makes scorecards: no hidden layer, and so many inputs that have weights.
    max_bytes : int, optional
        The most bytes of flash that the C export may take, by the estimate of
        :class:`~bdnn.learning.flash.FlashSize`. By default the weights, thresholds and cuts of the
        network take 16 KiB at most.
    groups : array of int of shape (n_rows,), optional
        Rows of a group are held out together; by default equal rows are.
    header : bool
        Whether the columns' names came with the data.
    surroundings : Surroundings, optional
        What rows may become. A row is then right if it is right in all of that, candidates are
        those that are trained for it, and the best of them is trained on all rows.
    """
    rng = np.random.default_rng(seed)
    weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, float)
    ranges = describe_ranges(codes[weight > 0])
    most = min(_MOST_ROWS, max(_FEWEST_ROWS, slot.remaining * _LEARNT_PER_SECOND))
    most = most if surroundings is None else min(most, _MOST_GUARDED)
    rows = _drawn(np.flatnonzero(weight > 0), int(most), rng)
    codes, labels, weight = codes[rows], labels[rows], weight[rows]
    encode = inputs or Inputs()
    if encode.encode == "auto":
        encode = replace(encode, encode="both")
    reach = None
    if surroundings is not None:
        encode = _finely(encode, codes)
        reach = partial(_reach, surroundings, rows)
    encoder = Encoder.learn(
        codes,
        columns,
        encode,
        weights=WeightSet.parse("ternary"),
        sample_weight=weight,
        wanted=None if surroundings else tail_cuts(codes, encode.cuts),
        reach=reach,
        header=header,
    )
    encoder = with_short_scale(encoder)
    values = encoder.transform(codes).astype(np.float32)
    table = Table(
        np.ascontiguousarray(values[:, : encoder.n_numbers]),
        np.ascontiguousarray(values[:, encoder.n_numbers :]),
    )
    around = {}
    if surroundings is not None:
        for wider in WIDER:
            around[wider] = Around.of(surroundings.regions(rows, encoder, wider), encoder)
    lesson = Lesson(table, labels, weight.astype(np.float32), n_classes, around=around)
    together = same_rows(codes) if groups is None else groups[rows]
    with threadpool_limits(1):
        if not around:
            load()
        flash = FlashSize(encoder, ranges)
        shape = hidden, ternary, most_inputs, max_bytes
        course = _Course(lesson, together, encoder.column_of, rng, slot, *shape, flash)
        stack, held_out = course.run()
    encoder, network = seen_network(stack, encoder)
    scores = network.scores(encoder.transform(codes[held_out.rows]))
    held_out = replace(held_out, rows=rows[held_out.rows], scores=scores)
    is_interrupted = course.is_interrupted or slot.is_stopped()
    return Learned(encoder, network, held_out, is_interrupted)


@dataclass(eq=False)
class _Course:
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
    is_interrupted: bool = False

    def run(self) -> tuple[Stack, HeldOut]:
        """Train the network, and tell what is known of held-out rows."""
        most = min(_MOST_ROWS, max(_FEWEST_ROWS, self.slot.remaining * _COMPARED_PER_SECOND))
        compared = _drawn(np.arange(len(self.lesson)), int(most), self.rng)
        part = self.lesson.rows(compared)
        ways = robust_candidates(part.table)
        if not part.around:
            ways = candidates(
                part.table, self.hidden, ternary=self.ternary, most_inputs=self.most_inputs
            )
        trials = [Trial.of(name, way, part) for name, way in ways.items()]
        repeats = self._folds(part, self.together[compared])
        seed = int(self.rng.integers(2**31))
        with self._kept():
            # A robust candidate takes no longer on all rows than on the folds.
            time = self.slot.part(_COMPARING_GUARDED if part.around else _COMPARING)
            compare(trials, part, repeats, seed=seed, slot=time)
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
            bytes=self.flash(stack),
        )

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Let Ctrl-C end the slot, so that what has been trained so far has to do."""
        try:
            yield
        except KeyboardInterrupt:
            self.slot, self.is_interrupted = replace(self.slot, deadline=-np.inf), True

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
        if self.most_inputs is not None or lesson.around:
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
            for fold in range(min(int(folds.max()) + 1, len(teachers[0].stacks))):
                # The last network takes as long as two of these, and may have another beside it.
                left = self.slot.remaining - 3.0 * pupil.seconds / max(fold, 1) - 2.0 * beside
                if half is None or left <= 0 or self.slot.is_over():
                    break
                inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
                begun = self.slot.clock()
                lesson = taught(
                    part.rows(inside),
                    share[inside],
                    [[trial.stacks[fold]] for trial in teachers],
                    self.column_of,
                    self.rng,
                )
                seed = int(self.rng.integers(2**31))
                stack = half.fit(lesson, seed=seed, slot=self.slot.part(_TRYING))
                pupil.add(stack, part, outside, self.slot.clock() - begun)
        return pupil

    def _choose(
        self, trials: Sequence[Trial], pupil: Trial, part: Lesson
    ) -> tuple[Trial, list[Trial]]:
        """The way with the fewest mistakes that fits, and what it was chosen from."""
        fitting = [trial for trial in trials if self._fits(trial.stacks[0])]
        smallest = min(trials, key=_bytes)
        plain = ranked(_furthest(fitting or [smallest]), part)
        if len(pupil.stacks) < 2 or not self._fits(pupil.stacks[0]):
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
        stacks = []
        for trial in chosen.parts or (chosen,):
            lesson, way = self.lesson, trial.candidate
            if trial.seconds / len(trial.stacks) > self.slot.remaining or self.slot.is_over():
                stacks.append(trial.stacks[0])  # better than one that there is no time for
                continue
            if trial.is_taught:
                asked = [teacher.stacks for teacher in teachers]
                lesson = taught(lesson, share, asked, self.column_of, self.rng)
                way = self._student(self.lesson, teachers) or way
            seed = int(self.rng.integers(2**31))
            stack = way.fit(lesson, seed=seed, slot=self.slot)
            stacks.append(trial.stacks[0] if self.slot.is_stopped() else stack)
        stack = join(stacks, self.lesson.table.bits.shape[1])
        # More rows may make more conditions; what was tried fits.
        if not self._fits(stack):
            stack = (
                shrunk(stack, self.lesson, self._fits, seed=0, slot=self.slot) or chosen.stacks[0]
            )
        return stack


def _bytes(trial: Trial) -> int:
    return trial.bytes


def _furthest(trials: Sequence[Trial]) -> list[Trial]:
    """Those that have come through the most folds."""
    most = max(len(trial.stacks) for trial in trials)
    return [trial for trial in trials if len(trial.stacks) == most]


def _drawn(rows: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """All rows, or so many of them."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _reach(surroundings: Surroundings, rows: IntArray, encoder: Encoder) -> FloatArray:
    """How far raw values of rows may move by the scale that the network will have."""
    return surroundings.reach(rows, with_short_scale(encoder))


def _finely(inputs: Inputs, codes: FloatArray) -> Inputs:
    """Inputs with more cuts to choose from: a robust network has few, but their places matter."""
    n_rows, n_columns = codes.shape
    bits = min(inputs.max_bits, _MOST_CELLS // max(1, n_rows))
    return replace(inputs, cuts=max(inputs.cuts, min(_MOST_CUTS, bits // n_columns)))
