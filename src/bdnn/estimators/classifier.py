"""The classifier: a scikit-learn estimator around a training method."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bdnn.activation import Activation, FloatArray
from bdnn.architecture import Architecture, WeightSet
from bdnn.constraints.base import AbstractConstraint
from bdnn.constraints.regularizer import Regularizer
from bdnn.constraints.sparsity import Sparsity
from bdnn.errors import DataError, ModelError
from bdnn.estimators.common import check_calls, choose_names
from bdnn.estimators.demands import demanded, is_demanding
from bdnn.estimators.incremental import IncrementalMixin, KnownSamples
from bdnn.estimators.model_file import ModelFileMixin
from bdnn.estimators.robust import RobustnessMixin
from bdnn.estimators.robust_training import RobustTraining
from bdnn.estimators.validation import check_features, check_weights
from bdnn.formulation.growth import GrowingModel
from bdnn.network import Network
from bdnn.scaling import Scaler
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver
from bdnn.training.base import AbstractMethod
from bdnn.training.budget import Budget, is_number
from bdnn.training.local_search import LocalSearch
from bdnn.training.registry import get_method
from bdnn.training.result import Progress

_BLOCK_ENTRIES = 1 << 17


class BDNNClassifier(
    IncrementalMixin,
    RobustnessMixin,
    ModelFileMixin,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A binarized deep neural network trained by mixed-integer optimisation.

    Every unit is 1 iff its weighted inputs reach its threshold, else 0. Training minimises

        sum_i sum_l | z_il - [y_i = l] |

    over the training samples, with one output z_l per class, and proves how far from the smallest
    possible value the result is.

    Parameters
    ----------
    hidden : tuple of int, default (25,)
        Widths of the hidden layers.
    weights : str or sequence of str, default "ternary"
        ``"continuous"`` for [-1, 1], ``"ternary"`` for {-1, 0, 1}, ``"binary"`` for {-1, 1},
        ``"int:P"`` for {-P, ..., P}; one for all layers or one per layer.
    thresholds : {"neuron", "layer", "zero"}, default "neuron"
        A threshold per unit, one shared by a layer, or none.
    ties : {"score", "first"}, default "score"
        Which class wins among equal outputs: by pre-activation, or the first.
    activation : str, Activation or sequence of these, default "step"
        Values of hidden units: ``"step"`` for {0, 1}, ``"sign"`` for {-1, 1}, ``"ternary"`` for
        {-1, 0, 1}, ``"levels:N"`` for {0, ..., N - 1}, or an
        :class:`~bdnn.activation.Activation`; one for all hidden layers or one per layer.
    method : str or method object, default "auto"
        ``"auto"`` searches, compares with the bound, and lets a solver continue where that is no
        proof; ``"descent"`` is the search alone, for large data; ``"gradients"`` are those alone,
        with wide margins, for noisy inputs; ``"exact"`` is one mixed-integer program;
        ``"local_search"`` and ``"data_splitting"`` are the paper's heuristics. Objects such as
        ``Auto(objectives=("margin",))`` configure.
    solver : str or solver object, default "auto"
        ``"cpsat"``, ``"highs"``, ``"scip"``, ``"gurobi"``, or whichever suits the model.
    scale : {"auto", "standard", "common", "minmax"} or None, default "auto"
        Scaling of the inputs, part of the model: unit variance, one power of two for all features,
        or the unit interval. ``"auto"`` takes the second where near neighbours among all
        samples are clearly more often of one class by it, and the first elsewhere and with
        ``robust_radius``, whose unit it is.
    time_limit : float, default 60
        Seconds after which the best network so far is returned.
    mip_gap : float, default 0
        Relative gap of loss and bound that is good enough.
    node_limit : int or None, default None
        Branch-and-bound nodes (CP-SAT: conflicts) after which to stop.
    loss_limit : float or None, default None
        Loss that is good enough.
    class_weight : dict, "balanced" or None, default None
    validation_fraction : float, default 0
        Share of the samples that is kept aside to choose by. Methods find out by them how to train
        and then train that way on all samples, which the result counts. With ``refit=False`` of the
        method they choose among networks trained on the others, and the result counts these; so
        they do with a guarantee for a radius, and in ``data_splitting`` as the paper states it or
        under constraints.
    robust_radius : float, array of shape (n_samples,) or None, default None
        Radius of the balls around the training samples, in units of scaled inputs.
    robust_norm : {"linf", "l1", "l2"}, default "linf"
    robust_loss : {"certified", "average", "pattern"}, default "certified"
        What holds in the balls: the classes of as many samples as possible, so that the loss counts
        the others; the loss for random perturbations, on average; or every first-layer activation
        of every sample, as in the paper.
    sparsity : Sparsity or None, default None
        Limits on weights, units and features, and a price per weight; see
        :class:`bdnn.constraints.Sparsity`.
    regularizer : Regularizer or None, default None
        Prices on the size of weights and on small margins, added to the loss; see
        :class:`bdnn.constraints.Regularizer`.
    constraints : constraint or sequence of constraints, default ()
        What the network must keep, see :mod:`bdnn.constraints`.
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
        The trained network.
    result_ : TrainingResult
        Loss, bound, gap and status.
    history_ : tuple of Progress
        Loss and bound over time, of the last run.
    scaler_ : Scaler
    classes_ : array
        Labels in the order of the outputs.
    n_features_in_ : int
    feature_names_in_ : array
        Only if ``X`` had column names.
    input_names_ : tuple of str or None
        Column names, or those given to ``fit``.

    References
    ----------
    J. Kurtz and B. Bah, Efficient and Robust Mixed-Integer Optimization Methods for Training
    Binarized Deep Neural Networks, arXiv:2110.11382.

    Examples
    --------
    >>> import bdnn
    >>> data = bdnn.datasets.load("iris")
    >>> model = bdnn.BDNNClassifier(hidden=(3,), random_state=0).fit(data.X[:100], data.y[:100])
    >>> model.result_.status, model.result_.loss
    ('optimal', 0.0)
    """

    def __init__(
        self,
        *,
        hidden: int | Sequence[int] = (25,),
        weights: str | WeightSet | Sequence[str | WeightSet] = "ternary",
        thresholds: str = "neuron",
        ties: str = "score",
        activation: str | Activation | Sequence[str | Activation] = "step",
        method: str | AbstractMethod = "auto",
        solver: str | AbstractSolver = "auto",
        scale: str | None = "auto",
        time_limit: float = 60.0,
        mip_gap: float = 0.0,
        node_limit: int | None = None,
        loss_limit: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        validation_fraction: float = 0.0,
        robust_radius: Any = None,
        robust_norm: str = "linf",
        robust_loss: str = "certified",
        sparsity: Sparsity | None = None,
        regularizer: Regularizer | None = None,
        constraints: AbstractConstraint | Sequence[AbstractConstraint] = (),
        start: Network | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        self.hidden = hidden
        self.weights = weights
        self.thresholds = thresholds
        self.ties = ties
        self.activation = activation
        self.method = method
        self.solver = solver
        self.scale = scale
        self.time_limit = time_limit
        self.mip_gap = mip_gap
        self.node_limit = node_limit
        self.loss_limit = loss_limit
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.robust_radius = robust_radius
        self.robust_norm = robust_norm
        self.robust_loss = robust_loss
        self.sparsity = sparsity
        self.regularizer = regularizer
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
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Train a network.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), optional
        feature_names : sequence of str, optional
            Names for the model file where ``X`` has no column names.

        Returns
        -------
        self
        """
        values = check_features(self, X, reset=True)
        labels = self._encode_labels(y, len(values))
        return self._fit_samples(values, labels, sample_weight, feature_names=feature_names)

    def _fit_samples(
        self,
        values: FloatArray,
        labels: NDArray[np.intp],
        sample_weight: ArrayLike | None,
        *,
        feature_names: Sequence[str] | None = None,
        fewest_classes: int = 2,
        models: GrowingModel | None = None,
    ) -> Self:
        """Train from nothing, with labels as indices into ``classes_``."""
        began = time.perf_counter()
        own_weight = check_weights(sample_weight, len(values))
        weight = self._weigh(labels, own_weight, fewest_classes=fewest_classes)
        architecture = self._architecture()
        method = get_method(self.method)
        budget = self._budget()
        if self.solver != "auto":
            get_solver(self.solver).check_available()
        self.input_names_ = choose_names(self, feature_names)
        fixed_unit = self.scale == "auto" and self.robust_radius is not None
        self.scaler_ = Scaler.fit(
            values,
            "standard" if fixed_unit else self.scale,
            weights=architecture.weights[0],
            sample_weight=weight,
            labels=labels,
        )
        held_out = self._held_out(labels, budget.seed)
        robust = RobustTraining.create(
            self.robust_radius, self.robust_norm, self.robust_loss, len(values), budget.seed
        )
        counts_all = (
            method.refits
            and (robust is None or robust.loss == "average")
            and not (method.validates_constrained and is_demanding(self))
        )
        samples = KnownSamples(values, labels, own_weight, weight, held_out, counts_all)
        scaler = self.scaler_
        if robust is None:
            parts = samples.problems(partial(samples.problem, architecture, scaler))
        else:
            method = robust.method(method)
            parts = samples.problems(
                partial(robust.problem, architecture, scaler, values, labels, weight)
            )
            scaled = scaler.transform(values)
            method = robust.with_radii(method, parts.problem, scaled, samples.counted)
        problem, validation, training_part = parts
        if isinstance(method, LocalSearch):
            method = method.for_rows(problem, self.scaler_.transform(values))
        problem = demanded(self, problem, values, labels)
        facts = samples.describe(len(self.classes_))
        self.network_, self.result_ = method.train(
            problem,
            validation=validation,
            training_part=training_part,
            # What comes before the training takes seconds where samples are many.
            budget=budget.after(time.perf_counter() - began),
            solver=self.solver,
            start=self.start,
            models=models,
            on_progress=self.callback,
        )
        self._remember(samples, models, problem, facts)
        return self

    def _architecture(self) -> Architecture:
        return Architecture.create(
            self.n_features_in_,
            len(self.classes_),
            hidden=self.hidden,
            weights=self.weights,
            thresholds=self.thresholds,
            ties=self.ties,
            activation=self.activation,
        )

    def _budget(self) -> Budget:
        check_calls(self.n_jobs, self.callback)
        return Budget(
            seconds=self.time_limit,
            gap=self.mip_gap,
            nodes=self.node_limit,
            loss=self.loss_limit,
            threads=effective_n_jobs(self.n_jobs),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    @property
    def history_(self) -> tuple[Progress, ...]:
        """Loss and bound over time: moments with ``seconds``, ``phase``, ``loss``, ``bound``."""
        return tuple(self.result_.history)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class labels of samples."""
        check_is_fitted(self, "network_")
        values = check_features(self, X, reset=False)
        found = np.empty(len(values), dtype=np.intp)
        # Blocks of rows stay in cache from the scaling to the class.
        block = max(1, _BLOCK_ENTRIES // values.shape[1])
        for first in range(0, len(values), block):
            rows = slice(first, first + block)
            found[rows] = self.network_.predict(self.scaler_.transform(values[rows]))
        return np.asarray(self.classes_[found])

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Scores of samples: one per class, for two classes that of the second minus the first."""
        scaled = self._scaled(X)
        scores = self.network_.scores(scaled)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _encode_labels(self, y: ArrayLike, n_samples: int) -> NDArray[np.intp]:
        """Learn the classes; return every sample's index among them."""
        self.classes_, codes = np.unique(self._check_labels(y, n_samples), return_inverse=True)
        return np.asarray(codes)

    @staticmethod
    def _check_labels(y: ArrayLike, n_samples: int) -> NDArray[Any]:
        if y is None:
            raise DataError("requires y to be passed, but the target y is None: give the labels.")
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise DataError("y must hold class labels, got NaN or inf: remove these rows.")
        check_classification_targets(labels)
        check_consistent_length(np.empty(n_samples), labels)
        return np.asarray(labels)

    def _weigh(
        self, labels: NDArray[np.intp], weight: FloatArray | None, *, fewest_classes: int
    ) -> FloatArray | None:
        """Weights of samples and classes together."""
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, self.classes_[labels])
            product = balance if weight is None else balance * weight
            weight = check_weights(product, len(labels), name="class_weight")
        used = np.ones(len(labels), dtype=bool) if weight is None else weight > 0
        present = np.unique(labels[used])
        if len(present) < fewest_classes:
            raise DataError(
                "y must hold at least two classes, got one class "
                f"({self.classes_[present].tolist()[0]!r}): check the target column."
            )
        return weight

    def _held_out(self, labels: NDArray[np.intp], seed: int) -> NDArray[np.bool_]:
        """Which samples are kept for validation: the wanted share of every class, at random."""
        share = self.validation_fraction
        if not is_number(share) or not 0 <= share < 1:
            raise ModelError(
                f"validation_fraction must be from 0 to below 1, got {share!r}: give for example "
                "0.2, or 0 for none."
            )
        held_out = np.zeros(len(labels), dtype=bool)
        rng = np.random.default_rng(seed)
        for label in np.unique(labels) if share else ():
            members = rng.permutation(np.flatnonzero(labels == label))
            held_out[members[: int(share * len(members))]] = True
        return held_out

    def _scaled(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self, "network_")
        return self.scaler_.transform(check_features(self, X, reset=False))
