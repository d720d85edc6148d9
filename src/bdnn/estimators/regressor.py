"""The regressor: a scikit-learn estimator around the training methods of regression."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from threadpoolctl import threadpool_limits

from bdnn.constraints import AbstractConstraint
from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError
from bdnn.estimators.base import BDNNEstimator, warn_if_stopped
from bdnn.estimators.incremental import Memory, check_same_shape, recalled
from bdnn.estimators.problems import check_constraints, constrained
from bdnn.estimators.robust import Robust, seen, with_radii
from bdnn.estimators.samples import LabelledSamples
from bdnn.estimators.validation import check_features, check_targets
from bdnn.model import Model, TargetScaler
from bdnn.model_file import ModelRecord
from bdnn.network.activation import Activation, BoolArray, FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.problem.create import regression
from bdnn.problem.problem import Problem
from bdnn.search.embedding import embed
from bdnn.selection.smoothing import smoothed
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod, get_method
from bdnn.training.limits import Budget, Limits, is_number
from bdnn.training.result import Progress

# What predicts new samples best, measured by benchmarks/regression.py: how much of a target is
# replaced by the smooth fit, and a ridge of so many samples, or of this share of a few samples.
_SMOOTHING = 0.9
_RIDGE, _RIDGE_SHARE = 10.0, 0.03
# Samples beyond which noise averages out by itself and a fit of a part of them has less to say.
_MANY = 5000


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
    scale : {"standard", "common", "minmax"} or None, default "standard"
        Scaling of the inputs, part of the model.
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

    def __init__(
        self,
        *,
        hidden: int | Sequence[int] = (50,),
        weights: str | WeightSet | Sequence[str | WeightSet] = "ternary",
        thresholds: str = "neuron",
        activation: str | Activation | Sequence[str | Activation] = "step",
        loss: str = "squared",
        ridge: float | str = "auto",
        smoothing: float | str = "auto",
        method: str | AbstractMethod = "auto",
        solver: str | AbstractSolver = "auto",
        scale: str | None = "standard",
        limits: Limits | None = None,
        validation_fraction: float = 0.0,
        robust: Robust | None = None,
        constraints: AbstractConstraint | Sequence[AbstractConstraint] = (),
        start: Network | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        self.hidden = hidden
        self.weights = weights
        self.thresholds = thresholds
        self.activation = activation
        self.loss = loss
        self.ridge = ridge
        self.smoothing = smoothing
        self.method = method
        self.solver = solver
        self.scale = scale
        self.limits = limits
        self.validation_fraction = validation_fraction
        self.robust = robust
        self.constraints = constraints
        self.start = start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

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
            What made ``X`` of a table, instead of names; it becomes part of the model.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        values, budget = check_features(self, X, reset=True), self._budget()
        samples = self._samples(values, y, sample_weight, radius, budget.seed)
        architecture = self._architecture(values.shape[1], samples.labels.shape[1])
        encoder = Encoder.fit(
            values,
            self.scale,
            weights=architecture.weights[0],
            sample_weight=samples.weight,
            unscaled=self._unscaled(feature_names, encoder),
        )
        scaler = TargetScaler.fit(
            samples.labels,
            weights=architecture.weights[-1],
            width=architecture.widths[-2] * _span(architecture),
            sample_weight=samples.weight,
        )
        budget = budget.after(time.perf_counter() - began)
        return self._train(samples, architecture, encoder, scaler, self.start, budget)

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
        values, budget = self._values(X), self._budget()
        if self._memory is None:
            raise ModelError(
                "a regressor that was read from a file does not hold the samples it was trained "
                "on: fit a new one."
            )
        architecture = self._architecture(self.n_features_in_, self.n_outputs_)
        kept = self._memory.architecture
        check_same_shape(architecture, kept, self.scale, self.encoder_.scale)
        known = recalled(self._memory, None, {})
        samples = known.joined(self._samples(values, y, sample_weight, radius, budget.seed))
        start = embed(self.network_, architecture)
        assert self.model_.targets is not None
        scaler = self.model_.targets
        return self._train(samples, architecture, self.encoder_, scaler, start, budget)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train with samples that come in parts: the first are fitted, the others extend."""
        if hasattr(self, "model_"):
            return self.extend(X, y, sample_weight)
        return self.fit(X, y, sample_weight)

    def _samples(
        self, values: FloatArray, y: Any, sample_weight: Any, radius: Any, seed: int
    ) -> LabelledSamples:
        """Samples with what is asked of each, some of them held out."""
        targets = check_targets(y, len(values)).reshape(len(values), -1)
        nothing = np.zeros(0)
        samples = LabelledSamples.create(values, targets, nothing, sample_weight, radius=radius)
        samples = with_radii(samples, self.robust)
        if self.robust is not None and self.robust.loss == "certified":
            raise ModelError(
                "Robust(loss='certified') is about classes, which a regressor has none of: use "
                "loss 'pattern' or 'average'."
            )
        return samples.split(self.validation_fraction, seed, counts_all=False)

    def _train(
        self,
        samples: LabelledSamples,
        architecture: Architecture,
        encoder: Encoder,
        scaler: TargetScaler,
        start: Network | None,
        budget: Budget,
    ) -> Self:
        """Make the problem, let the method train, and take over what it gives."""
        started = time.perf_counter()
        method = get_method(self.method)
        self._check_numbers()
        # Plain losses are what a proof is wanted of; predictions are better for a little less.
        plain = method.name == "exact" or self.loss == "absolute"
        total = float(samples.weight_in(samples.counted).sum())
        automatic = 0.0 if plain else min(_RIDGE, _RIDGE_SHARE * total)
        self.ridge_ = automatic if isinstance(self.ridge, str) else float(self.ridge)
        automatic = 0.0 if plain or len(samples.values) > _MANY else _SMOOTHING
        self.smoothing_ = automatic if isinstance(self.smoothing, str) else float(self.smoothing)

        def make(part: BoolArray) -> Problem[Any]:
            inputs, rows, weight = seen(self.robust, samples, encoder, part, budget.seed)
            return regression(
                architecture,
                inputs,
                scaler.transform(samples.labels)[rows],
                weight,
                unit=scaler.unit,
                kind=self.loss,
                ridge=self.ridge_,
                tolerance=budget.tolerance,
            )

        problems = samples.problems(make)
        if self.robust is not None:
            method = self.robust.with_radii(method, problems.problem, samples)
        asked = check_constraints(self.constraints)
        problems = constrained(problems, samples, architecture, encoder, self.robust, asked)
        problem = given = problems.problem
        if self.smoothing_:
            with threadpool_limits(budget.threads, "blas"):
                problem = smoothed(given, self.smoothing_, np.random.default_rng(budget.seed))
        prepared = time.perf_counter() - started
        network, result = method.train(
            problem,
            validation=problems.validation,
            budget=budget.after(prepared),
            solver=self.solver,
            start=start,
            on_progress=self.callback,
        )
        result = replace(result, error=given.error(network), seconds=result.seconds + prepared)
        self._take(Model(encoder, network, targets=scaler), result, {})
        self._memory: Memory | None = Memory(samples, architecture)
        warn_if_stopped(result, stacklevel=4)
        return self

    @classmethod
    def from_record(cls, record: ModelRecord) -> Self:
        """Make a fitted regressor of what a model file holds."""
        regressor = super().from_record(record)
        regressor._memory = None
        return regressor

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

    def _check_numbers(self) -> None:
        """Refuse numbers out of range."""
        for name, value, highest in (
            ("ridge", self.ridge, 1e15),
            ("smoothing", self.smoothing, 1.0),
        ):
            if value != "auto" and not (is_number(value) and 0 <= float(value) <= highest):
                raise ModelError(
                    f"{name} must be 'auto' or from 0 to {highest:g}, got {value!r}: give such a "
                    "number."
                )
        if self.loss == "absolute" and not isinstance(self.smoothing, str) and self.smoothing:
            raise ModelError(
                f"smoothing is for the squared loss, got {self.smoothing!r} with the absolute one: "
                "leave it at 0 or 'auto'."
            )


def _span(architecture: Architecture) -> int:
    """Difference of the largest and the smallest value of a unit below the outputs."""
    values = architecture.activation_of(len(architecture.hidden) - 1).values
    return values[-1] - values[0]
