"""Training with further samples: classes that come in parts, from the network at hand."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bdnn.bounds.previous import PreviousFit
from bdnn.encoding import Encoder, Inputs
from bdnn.errors import DataError
from bdnn.estimators.base import BDNNEstimator
from bdnn.estimators.learning import learns
from bdnn.estimators.problems import check_robust, continued
from bdnn.estimators.samples import LabelledSamples, recalled
from bdnn.estimators.tables import check_classes, known_labels, learn_table
from bdnn.mip.model import GrowingModel
from bdnn.problem.losses.output import classification
from bdnn.search.embedding import embed
from bdnn.training.base import get_method


@dataclass(kw_only=True, eq=False, repr=False)
class GrowingEstimator(BDNNEstimator):
    """A classifier whose training goes on."""

    class_weight: Mapping[Any, float] | str | None = None

    @abstractmethod
    def _learn(self, samples: LabelledSamples, plain: Encoder, began: float) -> Self:
        """Learn for rows that nobody has seen."""

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
        must: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train with samples that come in parts; the network is that of all of them together.

        The first part makes the encoder and sets the classes; the others :meth:`extend`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        classes : array of shape (n_classes,), optional
            All labels that will ever come; needed in the first call only.
        sample_weight : array of shape (n_samples,), optional
        radius, must, groups
            As in :meth:`fit`.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        given = check_classes(classes, getattr(self, "classes_", None))
        if given is None or hasattr(self, "model_"):
            return self.extend(X, y, sample_weight, radius=radius, must=must, groups=groups)
        values, plain = learn_table(self, X, Inputs.of(self.inputs), None, None)
        labels = known_labels(y, len(values), given)
        samples = LabelledSamples.create(
            values,
            labels,
            given,
            sample_weight,
            class_weight=self.class_weight,
            radius=radius,
            must=must,
            groups=groups,
        )
        if learns(self, samples):
            return self._learn(samples, plain, began)
        return self._fit(samples, plain, models=GrowingModel())

    def extend(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        old: tuple[ArrayLike, ArrayLike] | None = None,
        radius: ArrayLike | None = None,
        must: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train with further samples, from the network and the bound at hand.

        Encoder, classes and the shape of the network stay; ``result_`` is then about all samples.
        A network that was trained for accuracy is learnt anew from all of them, columns as before.
        The earlier bound counts where it holds for the networks that are asked for now.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Further samples only. The estimator knows the others: it refers to the array it was
            fitted with, which must not have changed since.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        old : tuple of arrays (X, y), optional
            The samples that the model was trained on, for a model that was read from a file, which
            does not hold them.
        radius, must, groups
            Of the further samples, as in :meth:`fit`.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        check_is_fitted(self, "model_")
        budget, given = self._budget(), None
        if old is not None:
            if not isinstance(old, tuple | list) or len(old) != 2:
                raise DataError("old must be the pair (X, y) of the samples trained on: give both.")
            given = self._further(*old, None, budget.seed, class_weight=self.class_weight)
        rows = {"radius": radius, "must": must, "groups": groups}
        further = self._further(X, y, sample_weight, budget.seed, **rows)
        if learns(self, further):
            # What was chosen by some rows is chosen anew by all of them.
            known = recalled(self._memory, given, self._certificate.get("data", {}))
            plain = Encoder(self.encoder_.columns, header=self.encoder_.header)
            return self._learn(known.joined(further, self.class_weight), plain, began)
        known, architecture = self._recalled(given)
        samples = known.joined(further, self.class_weight)
        task = self._task(samples, architecture, self.encoder_, budget)
        robust = None if self.robust is None else self.robust.describe(known, self.encoder_)
        inputs = task.inputs[: len(known.values)]
        earlier = PreviousFit(
            classification(architecture, inputs, known.labels, known.weight_in(known.counted)),
            embed(self.network_, architecture),
            continued(self.result_.proof, task.problem, robust, self._certificate),
        )
        models = (self._memory and self._memory.models) or GrowingModel()
        return self._train(task, budget, began, earlier=earlier, models=models)

    def _further(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, seed: int, **given: Any
    ) -> LabelledSamples:
        """Samples for the fitted model, of which the same share is held out.

        Weights of classes are those of all samples together.
        """
        values = self._values(X)
        labels = known_labels(y, len(values), self.classes_)
        samples = LabelledSamples.create(values, labels, self.classes_, sample_weight, **given)
        counts_all = get_method(self.method).refits
        return check_robust(self.robust, samples).split(
            self.validation_fraction, seed, counts_all=counts_all
        )
