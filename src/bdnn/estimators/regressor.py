"""The regressor: a scikit-learn estimator around the training methods of regression."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from threadpoolctl import threadpool_limits

from bdnn.encoding import Encoder, Inputs
from bdnn.errors import ModelError
from bdnn.estimators.base import BDNNEstimator
from bdnn.estimators.problems import MakeProblem, Task, check_robust
from bdnn.estimators.samples import LabelledSamples
from bdnn.estimators.tables import check_targets, learn_table
from bdnn.learning.smoothing import smoothed
from bdnn.model import TargetScaler
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.problem.create import regression
from bdnn.problem.losses.distance import distance_loss
from bdnn.search.embedding import embed
from bdnn.training.base import AbstractMethod, get_method
from bdnn.training.limits import Budget, is_number

# What predicts new samples best, measured by benchmarks/regression.py: how much of a target is
# replaced by the smooth fit, and a ridge of so many samples, or of this share of a few samples.
_SMOOTHING = 0.9
_RIDGE, _RIDGE_SHARE = 10.0, 0.03
# Samples beyond which noise averages out by itself and a fit of a part of them has less to say.
_MANY = 5000


@dataclass(kw_only=True, eq=False, repr=False)
class BDNNRegressor(RegressorMixin, MultiOutputMixin, BDNNEstimator):  # type: ignore[misc]
    """A network of step units below identity outputs, trained by mixed-integer optimisation.

    Hidden units are 1 iff their weighted inputs reach their thresholds, else 0, or take one of
    more values likewise. Outputs are
    weighted sums of the last hidden units with a bias. Training minimises

        sum_i sum_l (e_il / s_l)^2 + ridge sum_l |a_l|^2    or    sum_i sum_l |e_il| / s_l

    over errors ``e`` of the training samples, in standard deviations ``s`` of the targets, with
    ``a_l`` the weights of output l in such deviations too; and says how far from the smallest
    possible value the result is.

    Parameters
    ----------
    hidden : tuple of int, default (50,)
        Widths of the hidden layers; empty for a linear model.
    weights : str or sequence of str, default "ternary"
        Weight set of the hidden layers, the last layer being continuous; or one set per layer, the
        last one included. Sets as in :class:`~bdnn.BDNNClassifier`.
    thresholds : {"neuron", "layer", "zero"}, default "neuron"
        Of hidden units; and the outputs' biases likewise.
    activation : str, Activation or sequence of these, default "step"
        Values of the hidden units, as in :class:`~bdnn.BDNNClassifier`. A search begins with steps,
        which other values can copy.
    loss : {"squared", "absolute"}, default "squared"
    ridge : float or "auto", default "auto"
        Weight of the penalty, in samples. ``"auto"`` is 10, or 3 % of the samples if that is less,
        with methods ``auto`` and ``descent`` and the squared loss, and 0 otherwise.
    smoothing : float or "auto", default "auto"
        Part of every target, from 0 to 1, that is replaced by a smooth fit of all targets before
        training (kernel ridge regression), so that noise is not learnt; loss and bound are then
        about these targets. ``"auto"`` is 0.9 with methods ``auto`` and ``descent``, the squared
        loss and up to 5000 samples, and 0 otherwise.
    method : str or method object, default "auto"
        ``"descent"`` searches; ``"exact"`` solves a mixed-integer program; ``"auto"`` searches and
        lets a solver go on where the problem is small.
    solver : str or solver object, default "auto"
        ``"scip"`` and ``"gurobi"`` take squares as they are, ``"highs"`` by tangents.
    inputs : {"auto", "scaled", "cuts", "both"} or Inputs, default "auto"
        How raw columns become inputs, part of the model; see :class:`bdnn.Inputs`. Numbers are
        scaled, or bits compare raw values, or both. ``"auto"`` scales to unit variance.
    limits : Limits or None, default None
        When to stop, see :class:`bdnn.Limits`; None for a minute.
    validation_fraction : float, default 0
        Share of the samples that is kept aside to choose by, among the networks trained on the
        others; the result counts these.
    robust : Robust or None, default None
        Balls around the training samples, see :class:`bdnn.Robust`: with ``loss="pattern"`` or
        ``"average"``. A number has no class that could be certified.
    constraints : constraint or sequence of constraints, default ()
        What the weights must keep: :class:`~bdnn.constraints.Sparsity` without a price,
        :class:`~bdnn.constraints.Forbid` and :class:`~bdnn.constraints.FixedWeight`.
    start : Network or None, default None
        A network of the same architecture to begin with.
    random_state : int, RandomState or None, default None
    n_jobs : int or None, default None
        Threads a solver may use; results are reproducible with one.
    verbose : int, default 0
        From 1 on, ``fit`` shows on standard error how far it is: a bar on a terminal, a line when
        something changed anywhere else.
    callback : callable or None, default None
        Called with a :class:`~bdnn.training.Progress` while training; return True to stop.

    Attributes
    ----------
    model_ : Model
        Encoder, network and what the outputs' values stand for.
    network_ : Network
    encoder_ : Encoder
        From raw columns to inputs of the network.
    result_ : TrainingResult
        Loss, bound, gap, status and history; its ``error`` is 1 minus the training R2 on the
        targets as given.
    ridge_, smoothing_ : float
        Those used.
    n_features_in_, n_outputs_ : int
    feature_names_in_ : array
        Only if ``X`` had column names.
    input_names_ : tuple of str or None

    Examples
    --------
    >>> import bdnn
    >>> model = bdnn.BDNNRegressor(hidden=(2,), random_state=0, smoothing=0, ridge=0)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, 5.0, 2.0]).predict([[2.0]]).round(6)
    array([5.])
    >>> model.result_.status
    'optimal within a tolerance of 4e-06'
    """

    hidden: int | Sequence[int] = (50,)
    loss: str = "squared"
    ridge: float | str = "auto"
    smoothing: float | str = "auto"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        encoder: Encoder | None = None,
    ) -> Self:
        """Train a network.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array of shape (n_samples,), optional
        radius : array of shape (n_samples,), optional
            Of the ball around every sample, instead of the one of ``robust``.
        feature_names : sequence of str, optional
            Names for the model file where ``X`` has no column names.
        encoder : Encoder, optional
            What the columns are, where ``X`` is codes of a table (see :mod:`bdnn.encoding`).

        Returns
        -------
        self
        """
        values, plain = learn_table(self, X, Inputs.of(self.inputs), feature_names, encoder)
        samples = self._samples(values, y, sample_weight, radius)
        return self._fit(samples, plain)

    def extend(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
    ) -> Self:
        """Train with further samples, from the network at hand.

        Encoder, scale of the targets and the shape of the network stay; ``result_`` is then about
        all samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Further samples only; the estimator refers to the array it was fitted with.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight, radius : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        began = time.perf_counter()
        values, budget = self._values(X), self._budget()
        if self._memory is None:
            raise ModelError(
                "a regressor that was read from a file does not hold the samples it was trained "
                "on: fit a new one."
            )
        known, architecture = self._recalled()
        further = check_robust(self.robust, self._samples(values, y, sample_weight, radius))
        further = further.split(self.validation_fraction, budget.seed, counts_all=False)
        samples, targets = known.joined(further), self.model_.targets
        task = self._task(samples, architecture, self.encoder_, budget, targets)
        return self._train(task, budget, began, start=embed(self.network_, architecture))

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train with samples that come in parts: the first are fitted, the others extend."""
        if hasattr(self, "model_"):
            return self.extend(X, y, sample_weight)
        return self.fit(X, y, sample_weight)

    def _samples(
        self, values: FloatArray, y: Any, sample_weight: Any, radius: Any
    ) -> LabelledSamples:
        targets = check_targets(y, len(values)).reshape(len(values), -1)
        return LabelledSamples.create(values, targets, np.zeros(0), sample_weight, radius=radius)

    def _loss(
        self,
        samples: LabelledSamples,
        architecture: Architecture,
        budget: Budget,
        targets: TargetScaler | None,
        /,
    ) -> tuple[MakeProblem, TargetScaler]:
        self._settle_numbers(samples, get_method(self.method))
        scaler = targets or TargetScaler.fit(
            samples.labels,
            weights=architecture.weights[-1],
            width=architecture.widths[-2] * _span(architecture),
            sample_weight=samples.weight,
        )
        scaled = scaler.transform(samples.labels)
        options: dict[str, Any] = {
            "unit": scaler.unit,
            "kind": self.loss,
            "ridge": self.ridge_,
            "tolerance": budget.tolerance,
        }
        return lambda X, rows, weight: regression(
            architecture, X, scaled[rows], weight, **options
        ), scaler

    def _finished(self, task: Task, budget: Budget) -> Task:
        """Smooth the targets; the error is that of the user's own."""
        task = replace(task, true_problem=task.problem)
        if not self.smoothing_:
            return task
        with threadpool_limits(budget.threads, "blas"):
            rng = np.random.default_rng(budget.seed)
            return replace(task, problem=smoothed(task.problem, self.smoothing_, rng))

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        return self.network_.architecture.n_outputs

    def predict(self, X: ArrayLike) -> FloatArray:
        """Values of samples, of shape (n_samples,) or (n_samples, n_outputs) as in ``fit``."""
        values = self._values(X)
        found = self.model_.predict(values)
        return found[:, 0] if self.n_outputs_ == 1 else found

    def _architecture(self, n_features: int, n_outputs: int) -> Architecture:
        weights: Any = self.weights
        if isinstance(weights, str | WeightSet):
            # The number of layers is what `create` makes of `hidden`.
            trial = Architecture.create(n_features, n_outputs, hidden=self.hidden, weights=weights)
            weights = [weights] * len(trial.hidden) + ["continuous"]
        return Architecture.create(
            n_features,
            n_outputs,
            hidden=self.hidden,
            weights=weights,
            thresholds=self.thresholds,
            activation=self.activation,
            output="identity",
        )

    def _settle_numbers(self, samples: LabelledSamples, method: AbstractMethod) -> None:
        """Refuse what makes no sense for numbers, and say what "auto" is."""
        for name, value, highest in (
            ("ridge", self.ridge, 1e15),
            ("smoothing", self.smoothing, 1.0),
        ):
            if value != "auto" and not (is_number(value) and 0 <= float(value) <= highest):
                raise ModelError(
                    f"{name} must be 'auto' or from 0 to {highest:g}, got {value!r}: give such a "
                    "number."
                )
        is_squared = distance_loss(self.loss).is_squared
        if not is_squared and not isinstance(self.smoothing, str) and self.smoothing:
            raise ModelError(
                f"smoothing is for the squared loss, got {self.smoothing!r} with the {self.loss} "
                "one: "
                "leave it at 0 or 'auto'."
            )
        if self.robust is not None and self.robust.loss == "certified":
            raise ModelError(
                "Robust(loss='certified') is about classes, which a regressor has none of: use "
                "loss 'pattern' or 'average'."
            )
        # Plain losses are what a proof is wanted of; predictions are better for a little less.
        plain = method.name == "exact" or not is_squared
        total = float(samples.weight_in(samples.counted).sum())
        automatic = 0.0 if plain else min(_RIDGE, _RIDGE_SHARE * total)
        self.ridge_ = automatic if isinstance(self.ridge, str) else float(self.ridge)
        automatic = 0.0 if plain or len(samples.values) > _MANY else _SMOOTHING
        self.smoothing_ = automatic if isinstance(self.smoothing, str) else float(self.smoothing)


def _span(architecture: Architecture) -> int:
    """Difference of the largest and the smallest value of a unit below the outputs."""
    values = architecture.activation_of(len(architecture.hidden) - 1).values
    return values[-1] - values[0]
