"""The narrowest network with one hidden layer that does, and proofs that narrower ones do not."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError, NoSolutionError
from bdnn.estimators.classifier import BDNNClassifier
from bdnn.training.limits import Limits
from bdnn.training.result import Progress

# Share of the time for finding a narrow network; the rest is for proofs and the final training.
_FINDING = 0.5
_PROVING = 0.35


@dataclass(frozen=True)
class Attempt:
    """What was found out about one width."""

    width: int
    loss: float
    bound: float
    bound_origin: str


@dataclass(frozen=True, eq=False)
class SmallestNetwork:
    """The narrowest network that was found good enough.

    Attributes
    ----------
    classifier : BDNNClassifier
        Fitted, with one hidden layer of ``width`` units.
    width : int
    insufficient : int
        Largest width that is *proven* to have no network of so small a loss; 0 if nothing is
        proven. The network is the smallest possible where ``insufficient == width - 1``.
    attempts : tuple of Attempt
        Best loss and bound of every width that was tried, ascending.
    """

    classifier: BDNNClassifier
    width: int
    insufficient: int
    attempts: tuple[Attempt, ...]

    @property
    def is_proven(self) -> bool:
        """Whether no narrower network can do."""
        return self.insufficient == self.width - 1


def smallest_network(
    X: ArrayLike,
    y: ArrayLike,
    *,
    max_error: float = 0.0,
    max_width: int = 256,
    limits: Limits | None = None,
    sample_weight: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    encoder: Encoder | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    **parameters: Any,
) -> SmallestNetwork:
    """Find the narrowest network with one hidden layer that reaches a training error.

    Widths are doubled until one does, and halved between what does and what does not; whatever
    reaches the error is a network in hand. Then narrower widths are ruled out, one after the
    other, by lower bounds on their loss.

    Parameters
    ----------
    X, y : arrays
        Training samples.
    max_error : float, default 0
        Share of the samples' weight whose outputs may be wrong: half of the loss per sample. A
        sample is right where exactly the output of its class is on, so that predictions, which go
        by the largest score, can be better than this. Samples with equal inputs and different
        classes count too.
    max_width : int, default 256
        Where to give up.
    limits : Limits, optional
        Its seconds are for everything.
    sample_weight : array, optional
    feature_names : sequence of str, optional
    encoder : Encoder, optional
        As for :meth:`BDNNClassifier.fit`.
    callback : callable, optional
        As for :class:`BDNNClassifier`.
    **parameters
        Other parameters of :class:`BDNNClassifier`, such as ``weights`` and ``random_state``.

    Returns
    -------
    SmallestNetwork

    Raises
    ------
    NoSolutionError
        If no width up to ``max_width`` reached the error in time.
    """
    if not 0 <= max_error < 1:
        raise ModelError(f"max_error must be from 0 to below 1, got {max_error!r}: give a share.")
    if "hidden" in parameters:
        raise ModelError("hidden is what is looked for: leave it out, or give max_width.")
    for name in ("class_weight", "validation_fraction"):
        if parameters.get(name):
            raise ModelError(
                f"{name} changes what an error is, got {parameters[name]!r}: leave it out, or use "
                "sample_weight."
            )
    if parameters.get("constraints"):
        raise ModelError(
            "constraints cannot be combined with the search for the smallest width, whose proofs "
            "are about all networks: leave them out, or use Sparsity(units=...)."
        )
    limits = limits or Limits()
    if limits.loss is not None:
        raise ModelError("limits: loss is what max_error stands for here: leave it out.")
    if max_width < 1:
        raise ModelError(f"max_width must be positive, got {max_width!r}: give for example 64.")
    weight = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=float)
    total = float(np.broadcast_to(weight, len(np.asarray(y))).sum())
    allowed = 2.0 * max_error * total
    hunt = _Hunt(
        {
            "X": X,
            "y": y,
            "sample_weight": sample_weight,
            "feature_names": feature_names,
            "encoder": encoder,
        },
        # Sums of weights are rounded; a loss that is off by less than any sample is not a miss.
        allowed + 1e-9 * max(1.0, allowed),
        limits,
        callback,
        BDNNClassifier(**{**parameters, "objective": "loss"}),
    )
    width = hunt.find(max_width)
    insufficient = hunt.prove(width)
    return hunt.conclude(width, insufficient)


@dataclass
class _Hunt:
    """Fits of several widths on the same samples, under one time limit."""

    samples: dict[str, Any]
    allowed: float
    limits: Limits
    callback: Callable[[Progress], bool | None] | None
    model: BDNNClassifier
    started: float = field(default_factory=time.perf_counter)
    stopped: bool = False
    found: dict[int, BDNNClassifier] = field(default_factory=dict)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    ruled_out: set[int] = field(default_factory=set)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.started

    def fit(self, width: int, seconds: float, *, decide: bool = True) -> BDNNClassifier:
        """Train one width until it is known whether it does, or to the end."""
        decided = False

        def watch(moment: Progress) -> bool:
            nonlocal decided
            if self.callback is not None and self.callback(moment):
                self.stopped = True
            known = moment.loss <= self.allowed or moment.bound > self.allowed
            decided |= decide and known
            return self.stopped or decided

        limits = replace(self.limits, seconds=max(seconds, 0.05))
        model = clone(self.model).set_params(hidden=(width,), limits=limits, callback=watch)
        if width in self.found:
            model.set_params(start=self.found[width].network_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(**self.samples)
        result = model.result_
        old = self.attempts.get(width, Attempt(width, np.inf, -np.inf, ""))
        best = max((result.bound, result.bound_origin), (old.bound, old.bound_origin))
        self.attempts[width] = Attempt(width, min(result.loss, old.loss), *best)
        condition = result.condition
        if not condition.margin and result.proof.value - condition.tolerance > self.allowed:
            self.ruled_out.add(width)  # whatever margins networks keep
        if result.loss <= self.allowed:
            self.found[width] = model
        elif result.status == "interrupted" and not decided:
            self.stopped = True  # by Ctrl-C
        return cast(BDNNClassifier, model)

    def find(self, max_width: int) -> int:
        """Double the width until it does, then halve the interval between no and yes."""
        deadline = _FINDING * self.limits.seconds
        too_narrow, width = 0, 1
        while width not in self.found:
            left = deadline - self.elapsed
            if too_narrow >= max_width or left <= 0 or self.stopped:
                best = min(self.attempts.values(), key=lambda attempt: attempt.loss)
                raise NoSolutionError(
                    f"no network of up to {too_narrow} hidden units reached the wanted error in "
                    f"time, the best loss was {best.loss:g}: raise limits.seconds (--seconds), "
                    "max_width or max_error (--max-error)."
                )
            # A width that is too narrow should not use up the time of those that are not.
            self.fit(width, left / 4)
            if width not in self.found:
                too_narrow, width = width, min(2 * width, max_width)
        while width - too_narrow > 1 and self.elapsed < deadline and not self.stopped:
            middle = (width + too_narrow) // 2
            self.fit(middle, (deadline - self.elapsed) / 2)
            width, too_narrow = (middle, too_narrow) if middle in self.found else (width, middle)
        return width

    def prove(self, width: int) -> int:
        """Rule out widths from below; what is too narrow rules out all that is narrower."""
        deadline = self.elapsed + _PROVING * self.limits.seconds
        for narrow in range(1, width):
            left = deadline - self.elapsed
            known = self.attempts.get(narrow)
            if (known is None or known.bound <= self.allowed) and left > 0 and not self.stopped:
                self.fit(narrow, left)
            if narrow in self.found:
                continue
            if narrow not in self.ruled_out:
                break
        # Whether a wider network can always ignore a unit; binary weights need thresholds to.
        if self.model.weights != "binary" or self.model.thresholds == "neuron":
            return max(self.ruled_out, default=0)
        return next(width for width in count() if width + 1 not in self.ruled_out)

    def conclude(self, width: int, insufficient: int) -> SmallestNetwork:
        """Train the chosen width to the end, from the network in hand."""
        width = min(width, *self.found)
        model = self.found[width]
        left = self.limits.seconds - self.elapsed
        if left > 0.5 and not self.stopped:
            self.fit(width, left, decide=False)
            model = self.found[width]
        model.set_params(callback=None, start=None)
        attempts = tuple(self.attempts[key] for key in sorted(self.attempts))
        return SmallestNetwork(model, width, insufficient, attempts)
