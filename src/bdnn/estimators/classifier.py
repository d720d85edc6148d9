"""The classifier: a scikit-learn estimator around a training method."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from bdnn.clock import to_the_end
from bdnn.encoding import Encoder, Inputs
from bdnn.estimators.growing import GrowingEstimator
from bdnn.estimators.learning import (
    HIDDEN,
    WEIGHTS,
    RowScores,
    given_or,
    learn_samples,
    learned_result,
    learns,
    lowered,
    warn_if_too_large,
    with_probabilities,
)
from bdnn.estimators.problems import (
    MakeProblem,
    Task,
    certificate_of,
    check_constraints,
    check_robust,
)
from bdnn.estimators.samples import LabelledSamples, Memory
from bdnn.estimators.tables import check_labels, learn_table
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.problem.losses.output import classification
from bdnn.training.base import AbstractMethod
from bdnn.training.limits import Budget
from bdnn.training.result import TrainingResult


@dataclass(kw_only=True, eq=False, repr=False)
class BDNNClassifier(ClassifierMixin, GrowingEstimator):  # type: ignore[misc]
    """A binarized deep neural network trained by mixed-integer optimisation.

    Every unit is 1 iff its weighted inputs reach its threshold, else 0. Training minimises

        sum_i sum_l | z_il - [y_i = l] |

    over the training samples, with one output z_l per class, and proves how far from the smallest
    possible value the result is.

    Parameters
    ----------
    hidden : "auto" or tuple of int, default "auto"
        Widths of the hidden layers; by default chosen for the accuracy, and ``(25,)`` for the loss.
    objective : {"auto", "accuracy", "loss"}, default "auto"
        What training is for: rows that nobody has seen, so that held-out rows choose inputs, shape
        and training among trees, linear models and networks; or the smallest loss on the training
        rows, with a bound. ``"auto"`` is the accuracy where nothing is given that only the loss
        has, such as a method or constraints.
    max_bytes : int or None, default None
        The most flash that the C export may take, tables and code, by the estimate of
        ``to_c().flash_estimate``; with ``objective="accuracy"``.
    weights : str or sequence of str, default "auto"
        Chosen with ``objective="accuracy"``, and ``"ternary"`` otherwise;
        ``"continuous"`` for [-1, 1], ``"ternary"`` for {-1, 0, 1}, ``"binary"`` for {-1, 1},
        ``"int:P"`` for {-P, ..., P}; one for all layers or one per layer.
    thresholds : {"neuron", "layer", "zero"}, default "neuron"
        A threshold per unit, one shared by a layer, or none.
    ties : {"score", "first"}, default "score"
        Which class wins among equal outputs: by pre-activation, or the first.
    activation : str, Activation or sequence of these, default "step"
        Values of hidden units: ``"step"`` for {0, 1}, ``"sign"`` for {-1, 1}, ``"ternary"`` for
        {-1, 0, 1}, ``"levels:N"`` for {0, ..., N - 1}, or an
        :class:`~bdnn.network.activation.Activation`; one for all hidden layers or one per layer.
    method : str or method object, default "auto"
        ``"auto"`` searches, compares with the bound, and lets a solver continue where that is no
        proof; ``"descent"`` is the search alone, for large data; ``"gradients"`` are those alone,
        with wide margins, for noisy inputs; ``"exact"`` is one mixed-integer program;
        ``"local_search"`` and ``"data_splitting"`` are the paper's heuristics. Objects such as
        ``Auto(objectives=("margin",))`` configure.
    solver : str or solver object, default "auto"
        ``"cpsat"``, ``"highs"``, ``"scip"``, ``"gurobi"``, or whichever suits the model.
    inputs : {"auto", "scaled", "cuts", "both"} or Inputs, default "auto"
        How raw columns become inputs, part of the model; see :class:`bdnn.Inputs`. Numbers are
        scaled, or bits compare raw values, or both. ``"auto"`` scales; to unit variance, or by
        one power of two for all columns where near neighbours among all samples are clearly more
        often of one class by it, and not with ``robust``, whose unit it is.
    limits : Limits or None, default None
        When to stop, see :class:`bdnn.Limits`; None for a minute.
    class_weight : dict, "balanced" or None, default None
    validation_fraction : float, default 0
        Share of the samples that is kept aside to choose by. Methods find out by them how to train
        and then train that way on all samples, which the result counts. With ``refit=False`` of the
        method they choose among networks trained on the others, and the result counts these; so
        they do with a guarantee for a radius, under constraints, and for methods ``exact``,
        ``local_search`` and ``data_splitting`` as the paper states it.
    robust : Robust or None, default None
        Balls around the training samples and what holds in them, see :class:`bdnn.Robust`. With
        its certified loss and no ``hidden``, held-out rows choose the network that is right in
        most of their whole balls.
    constraints : constraint or sequence of constraints, default ()
        What the network must keep and prices it pays, see :mod:`bdnn.constraints`.
    start : Network or None, default None
        A network of the same architecture to begin with.
    random_state : int, RandomState or None, default None
    n_jobs : int or None, default None
        Trainings or restarts at a time, and threads that a solver may use; a solver is reproducible
        with one.
    verbose : int, default 0
        From 1 on, ``fit`` shows on standard error how far it is: a bar on a terminal, a line when
        something changed anywhere else.
    callback : callable or None, default None
        Called with a :class:`~bdnn.training.Progress` while training; return True to stop.

    Attributes
    ----------
    model_ : Model
        Encoder, network and classes, which certify, export and report are functions of.
    network_ : Network
        The trained network.
    encoder_ : Encoder
        From raw columns to inputs of the network.
    result_ : TrainingResult
        Loss, bound, gap and status.
    history_ : tuple of Progress
        Loss and bound over time, of the last run.
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
    >>> model = bdnn.BDNNClassifier(hidden=(3,), objective="loss", random_state=0)
    >>> model = model.fit(data.X[:100], data.y[:100])
    >>> model.result_.status, model.result_.loss
    ('optimal', 0.0)
    """

    hidden: str | int | Sequence[int] = "auto"  # type: ignore[assignment]
    weights: str | WeightSet | Sequence[str | WeightSet] = "auto"
    objective: str = "auto"
    max_bytes: int | None = None
    ties: str = "score"
    class_weight: Mapping[Any, float] | str | None = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
        must: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        encoder: Encoder | None = None,
    ) -> Self:
        """Train a network.

        What is about single samples is given here and not to the constructor, so that
        cross-validation and searches hand every fold its own part of it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), optional
        radius : array of shape (n_samples,), optional
            Of the ball around every sample, instead of the one of ``robust``.
        must : array of bool of shape (n_samples,), optional
            Which samples must be right: the output of their class is on and no other one.
        groups : array of shape (n_samples,), optional
            Group of every sample, for fairness constraints without a feature.
        feature_names : sequence of str, optional
            Names for the model file where ``X`` has no column names.
        encoder : Encoder, optional
            What the columns are, where ``X`` is codes of a table (see :mod:`bdnn.encoding`). Arrays
            of numbers are then codes in other methods, too.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        values, plain = learn_table(self, X, Inputs.of(self.inputs), feature_names, encoder)
        classes, labels = np.unique(check_labels(y, len(values)), return_inverse=True)
        samples = LabelledSamples.create(
            values,
            labels,
            classes,
            sample_weight,
            class_weight=self.class_weight,
            fewest_classes=2,
            radius=radius,
            must=must,
            groups=groups,
        )
        if learns(self, samples):
            return self._learn(samples, plain, began)
        return self._fit(samples, plain)

    def _learn(self, samples: LabelledSamples, plain: Encoder, began: float) -> Self:
        """Learn for rows that nobody has seen."""
        budget = self._budget()
        if self.robust is not None:
            samples = check_robust(self.robust, samples)
        with self.watched(budget) as watch:
            learned = learn_samples(self, samples, plain, budget, began, watch)
        shape = learned.network.architecture

        def finish() -> None:
            network, encoder = learned.network, learned.encoder
            if self.robust is not None or self.constraints:  # a limit of a scorecard
                task = self._task(samples, shape, encoder, budget, is_learnt=True)
                problem, certificate = task.problem, task.certificate
                network = lowered(network, problem.loss, network.scores(problem.inputs))
                unit = Fraction(problem.samples.unit)
                loss, error = problem.value(network), problem.error(network)
                figures = loss, problem.irreducible, error, unit
            else:
                seen, certificate = RowScores.of(network, encoder, samples), {}
                certificate["data"] = samples.describe()
                network = lowered(network, seen.loss, seen.sums - network.output_thresholds)
                figures = seen.figures(network)
            result = learned_result(learned, network, figures, certificate["data"], began)
            model = Model(encoder, network, samples.plain_classes)
            model = with_probabilities(model, learned, samples.labels, samples.weight)
            self._take(model, result, certificate, Memory(samples, shape, None))

        to_the_end(finish)
        warn_if_too_large(self.result_.held_out, self.max_bytes)
        return self

    def _counts_all(self, method: AbstractMethod, samples: LabelledSamples) -> bool:
        # Under constraints and for guarantees networks are compared, and not ways to train.
        is_constrained = bool(check_constraints(self.constraints)) or samples.must is not None
        is_plain = self.robust is None or self.robust.loss == "average"
        return method.refits and is_plain and not is_constrained

    def _loss(
        self, samples: LabelledSamples, architecture: Architecture, /, *_: object
    ) -> tuple[MakeProblem, None]:
        labels = samples.labels
        return lambda X, rows, weight: classification(architecture, X, labels[rows], weight), None

    def _finished(self, task: Task, budget: Budget) -> Task:
        return replace(task, certificate=certificate_of(task, self.robust))

    def _take(
        self,
        model: Model,
        result: TrainingResult,
        certificate: dict[str, Any],
        memory: Memory | None = None,
    ) -> None:
        super()._take(model, result, certificate, memory)
        self.classes_ = model.labels if memory is None else memory.samples.classes

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class labels of samples."""
        outcomes = self._outcomes(X)
        return self.model_.named(outcomes, self.classes_)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes; the predicted class is always the likeliest.

        They are learnt from rows that training has not seen where there are any; otherwise from
        the training rows, and then too sure of themselves. ``model_.calibration.origin`` says it.
        """
        values = self._values(X)
        return self.model_.probabilities(values)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Scores of samples: one per class, for two classes that of the second minus the first."""
        values = self._values(X)
        scores = self.network_.scores(self.model_.inputs(values))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _architecture(self, n_features: int, n_classes: int) -> Architecture:
        return Architecture.create(
            n_features,
            n_classes,
            hidden=given_or(self.hidden, HIDDEN),
            weights=given_or(self.weights, WEIGHTS),
            thresholds=self.thresholds,
            ties=self.ties,
            activation=self.activation,
        )
