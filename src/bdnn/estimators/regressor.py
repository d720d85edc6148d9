"""The regressor: a scikit-learn estimator around the training methods of regression."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from bdnn.activation import Activation, FloatArray
from bdnn.architecture import Architecture, WeightSet
from bdnn.constraints.base import AbstractConstraint
from bdnn.constraints.regression import constrain_regression
from bdnn.constraints.sparsity import Sparsity
from bdnn.errors import ModelError, ModelFileError
from bdnn.estimators.common import (
    check_calls,
    choose_names,
    plain_parameter,
    warn_if_stopped,
)
from bdnn.estimators.validation import check_features, check_targets, check_weights
from bdnn.export.json import ModelRecord, write_model
from bdnn.network import Network
from bdnn.regression_problem import RegressionProblem
from bdnn.scaling import Scaler, TargetScaler
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver
from bdnn.training.budget import Budget, is_number
from bdnn.training.regression.base import RegressionMethod
from bdnn.training.regression.registry import get_regression_method
from bdnn.training.regression.smoothing import smoothed
from bdnn.training.result import Progress, TrainingResult

# What predicts new samples best, measured by benchmarks/regression.py: how much of a target is
# replaced by the smooth fit, and a ridge of so many samples, or of this share of a few samples.
_SMOOTHING = 0.9
_RIDGE, _RIDGE_SHARE = 10.0, 0.03
# Samples beyond which noise averages out by itself and a fit of a part of them has less to say.
_MANY = 5000


class BDNNRegressor(RegressorMixin, MultiOutputMixin, BaseEstimator):  # type: ignore[misc]
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
        Of hidden units; and the outputs' biases likewise. ``"layer"`` is for method ``"exact"``.
    activation : str, Activation or sequence of these, default "step"
        Values of the hidden units, as in :class:`~bdnn.BDNNClassifier`. Other values than 0 and 1
        are for methods ``"exact"`` and ``"auto"``, which is a solver alone then.
    sparsity : Sparsity or None, default None
        Limits on weights, units and features, see :class:`~bdnn.constraints.Sparsity`; not a price.
        For methods ``"exact"`` and ``"auto"`` as above, as are constraints.
    constraints : sequence of Forbid and FixedWeight, or None, default None
        What else the weights must keep, see :mod:`bdnn.constraints`.
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
    time_limit : float, default 60
        Seconds after which the best network so far is returned.
    mip_gap : float, default 0
        Relative gap of loss and bound that is good enough.
    tolerance : float, default 1e-6
        Difference of loss and bound per sample, in variances (absolute loss: standard deviations)
        of the targets, up to which a network counts as optimal.
    loss_limit : float or None, default None
        Loss that is low enough to stop at.
    node_limit : int or None, default None
        Branch-and-bound nodes after which to stop.
    start : Network or None, default None
        A network of the same architecture to begin with.
    random_state : int, RandomState or None, default None
    n_jobs : int or None, default None
        Threads a solver may use; results are reproducible with one.
    callback : callable or None, default None
        Called with a :class:`~bdnn.training.Progress` while training; return True to stop.

    Attributes
    ----------
    network_ : Network
    result_ : TrainingResult
        Loss, bound, gap, status and history; its ``error`` is 1 minus the training R2 on the
        targets as given.
    scaler_ : Scaler
        Of the inputs.
    target_scaler_ : TargetScaler
        What the outputs' values stand for.
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
    'optimal'
    """

    def __init__(
        self,
        *,
        hidden: int | Sequence[int] = (50,),
        weights: str | WeightSet | Sequence[str | WeightSet] = "ternary",
        thresholds: str = "neuron",
        activation: str | Activation | Sequence[str | Activation] = "step",
        sparsity: Sparsity | None = None,
        constraints: AbstractConstraint | Sequence[AbstractConstraint] | None = None,
        loss: str = "squared",
        ridge: float | str = "auto",
        smoothing: float | str = "auto",
        method: str | RegressionMethod = "auto",
        solver: str | AbstractSolver = "auto",
        scale: str | None = "standard",
        time_limit: float = 60.0,
        mip_gap: float = 0.0,
        tolerance: float = 1e-6,
        loss_limit: float | None = None,
        node_limit: int | None = None,
        start: Network | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        self.hidden = hidden
        self.weights = weights
        self.thresholds = thresholds
        self.activation = activation
        self.sparsity = sparsity
        self.constraints = constraints
        self.loss = loss
        self.ridge = ridge
        self.smoothing = smoothing
        self.method = method
        self.solver = solver
        self.scale = scale
        self.time_limit = time_limit
        self.mip_gap = mip_gap
        self.tolerance = tolerance
        self.loss_limit = loss_limit
        self.node_limit = node_limit
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
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Train a network.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array of shape (n_samples,), optional
        feature_names : sequence of str, optional
            Names for the model file where ``X`` has no column names.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        values = check_features(self, X, reset=True)
        y = check_targets(y, len(values))
        targets = y.reshape(len(y), -1)
        weight = check_weights(sample_weight, len(values))
        architecture = self._architecture(values.shape[1], targets.shape[1])
        method = get_regression_method(self.method)
        check_calls(self.n_jobs, self.callback)
        budget = Budget(
            seconds=self.time_limit,
            gap=self.mip_gap,
            nodes=self.node_limit,
            loss=self.loss_limit,
            threads=effective_n_jobs(self.n_jobs),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        if self.solver != "auto":
            get_solver(self.solver).check_available()
        self._check_numbers()
        # Plain losses are what a proof is wanted of; predictions are better for a little less.
        plain = method.name == "exact" or self.loss == "absolute"
        total = float(len(values) if weight is None else weight.sum())
        automatic = 0.0 if plain else min(_RIDGE, _RIDGE_SHARE * total)
        self.ridge_ = automatic if isinstance(self.ridge, str) else float(self.ridge)
        automatic = 0.0 if plain or len(values) > _MANY else _SMOOTHING
        self.smoothing_ = automatic if isinstance(self.smoothing, str) else float(self.smoothing)
        self.input_names_ = choose_names(self, feature_names)
        self.n_outputs_ = targets.shape[1]
        self._is_flat = y.ndim == 1
        self.scaler_ = Scaler.fit(
            values, self.scale, weights=architecture.weights[0], sample_weight=weight
        )
        self.target_scaler_ = TargetScaler.fit(
            targets,
            weights=architecture.weights[-1],
            width=architecture.widths[-2] * _span(architecture),
            sample_weight=weight,
        )
        scaled = self.scaler_.transform(values)
        wanted = self.target_scaler_.transform(targets)
        given = RegressionProblem.from_samples(
            architecture,
            scaled,
            wanted,
            weight,
            unit=self.target_scaler_.unit,
            kind=self.loss,
            ridge=self.ridge_,
            tolerance=self.tolerance,
        )
        given = constrain_regression(
            given, self.input_names_, sparsity=self.sparsity, constraints=self.constraints
        )
        method.check_supports(given)
        problem = given
        if self.smoothing_:
            with threadpool_limits(budget.threads, "blas"):
                problem = smoothed(given, self.smoothing_, np.random.default_rng(budget.seed))
        prepared = time.perf_counter() - started
        self.network_, result = method.train(
            problem,
            budget=budget.after(prepared),
            solver=self.solver,
            start=self.start,
            on_progress=self.callback,
        )
        self.result_: TrainingResult = replace(
            result, error=given.error(self.network_), seconds=result.seconds + prepared
        )
        warn_if_stopped(self.result_)
        return self

    @property
    def history_(self) -> tuple[Progress, ...]:
        """Loss and bound over time: moments with ``seconds``, ``phase``, ``loss``, ``bound``."""
        return tuple(self.result_.history)

    def predict(self, X: ArrayLike) -> FloatArray:
        """Values of samples, of shape (n_samples,) or (n_samples, n_outputs) as in ``fit``."""
        check_is_fitted(self, "network_")
        values = check_features(self, X, reset=False)
        found = self.target_scaler_.inverse(self.network_.values(self.scaler_.transform(values)))
        return found[:, 0] if self._is_flat else found

    def save(self, path: str | os.PathLike[str], *, extra: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a JSON file, with ``extra`` plain data."""
        check_is_fitted(self, "network_")
        settings = {
            key: plain_parameter(value) for key, value in self.get_params(deep=False).items()
        }
        settings["has_column_names"] = hasattr(self, "feature_names_in_")
        settings["has_flat_target"] = self._is_flat
        record = ModelRecord(
            "regressor",
            self.network_,
            self.scaler_,
            (),
            self.input_names_,
            settings,
            self.result_.to_dict(),
            dict(extra or {}),
            targets=self.target_scaler_,
        )
        write_model(record, path)

    @classmethod
    def from_record(cls, record: ModelRecord) -> BDNNRegressor:
        """Make a fitted regressor of what a model file holds."""
        settings = dict(record.settings)
        has_column_names = settings.pop("has_column_names", False)
        is_flat = settings.pop("has_flat_target", True)
        try:
            model = cls(**settings)
            model.result_ = TrainingResult.from_dict(record.result)
        except (TypeError, KeyError) as error:
            raise ModelFileError(
                f"the model file has settings that are not known ({error})."
            ) from error
        if record.targets is None:
            raise ModelFileError("the model file does not say what its outputs stand for.")
        model.network_ = record.network
        model.scaler_ = record.scaler
        model.target_scaler_ = record.targets
        model.n_outputs_ = record.network.architecture.n_outputs
        model._is_flat = bool(is_flat)
        model.n_features_in_ = record.network.architecture.n_features
        model.input_names_ = record.feature_names
        if has_column_names:
            model.feature_names_in_ = np.array(record.feature_names, dtype=object)
        model.extra_ = dict(record.extra)
        return model

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
        if not is_number(self.tolerance) or not 0 < self.tolerance < 1:
            raise ModelError(
                f"tolerance must be above 0 and below 1, got {self.tolerance!r}: give for example "
                "1e-6."
            )


def _span(architecture: Architecture) -> int:
    """Difference of the largest and the smallest value of a unit below the outputs."""
    values = architecture.activation_of(len(architecture.hidden) - 1).values
    return values[-1] - values[0]
