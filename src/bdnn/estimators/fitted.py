"""What can be asked of a fitted model: thin methods over it, for classifier and regressor."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from bdnn import limits
from bdnn.encoding import Encoder, Inputs
from bdnn.errors import DataError
from bdnn.estimators.problems import Robust
from bdnn.estimators.tables import known_codes, known_outcomes
from bdnn.evaluation.explanation import Explanation, explain
from bdnn.evaluation.importance import Importance, importances
from bdnn.export.c import CExport, export_c
from bdnn.export.javascript import to_javascript
from bdnn.export.onnx import to_onnx
from bdnn.export.rules import to_rules
from bdnn.export.spreadsheet import to_spreadsheet
from bdnn.export.sql import to_sql
from bdnn.files import write_whole
from bdnn.model import Model
from bdnn.model_file import ModelRecord, write_model
from bdnn.model_file.data import SeenRows
from bdnn.network.activation import Activation, FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.network.network import Network
from bdnn.progress import Words
from bdnn.report import Subject, make_card, make_page
from bdnn.robustness import Attack, Certification, PerturbationSet, Verification
from bdnn.robustness import attack as attack_samples
from bdnn.robustness import certify as certify_samples
from bdnn.robustness import verify as verify_samples
from bdnn.robustness.domain import Domain
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod
from bdnn.training.limits import Limits
from bdnn.training.result import Progress, TrainingResult

if TYPE_CHECKING:
    from bdnn.model.predictor import Predictor


class FittedModel(BaseEstimator):  # type: ignore[misc]
    """A fitted model and what can be asked of it.

    Attributes
    ----------
    model_ : Model
    result_ : TrainingResult
    extra_ : dict
        What a model file held beside the model.
    """

    model_: Model
    result_: TrainingResult

    def _repr_html_(self) -> str:
        """A card of a fitted model, scikit-learn's box before."""
        if not hasattr(self, "model_"):
            return str(estimator_html_repr(self))
        return make_card(type(self).__name__, self.model_, self.result_)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What a notebook shows."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def network_(self) -> Network:
        """The trained network."""
        return self.model_.network

    @property
    def encoder_(self) -> Encoder:
        """From raw columns to inputs of the network."""
        return self.model_.encoder

    @property
    def input_names_(self) -> tuple[str, ...] | None:
        """Column names, or those given to ``fit``."""
        return self.model_.names

    @property
    def history_(self) -> tuple[Progress, ...]:
        """Loss and bound over time: moments with ``seconds``, ``phase``, ``loss``, ``bound``."""
        return tuple(self.result_.history)

    def certify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike | Mapping[str | int, float] | None = None,
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
    ) -> Certification:
        """Guarantee radii within which no perturbation changes the predicted class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            Labels, for certified accuracy.
        radius : float, array of shape (n_samples,) or mapping, optional
            For the question which samples are certified. A mapping of columns to lengths moves
            every column by its own, in raw units, and the other columns stand still.
        norm : {"linf", "l1", "l2"}, default "linf"
        units : {"scaled", "raw"}, default "scaled"
            What the radius measures: scaled inputs, or ``X`` itself.
        domain : Domain, optional
            Ranges, whole numbers, fixed features, and texts, truth values and gaps that may
            change, which they do not otherwise.

        Returns
        -------
        Certification
            See :func:`bdnn.robustness.certify`.
        """
        around, radius = self._around(X, y, radius, norm, units, domain)
        return certify_samples(around, radius)

    def verify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike | Mapping[str | int, float] | None = None,
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
        reference: ArrayLike | None = None,
        **options: Any,
    ) -> Verification:
        """Find the smallest perturbation that changes the class of every sample.

        Parameters
        ----------
        X, y, radius, norm, units, domain
            As for :meth:`certify`; without a radius as far as it takes.
        reference : array, optional
            Samples from which an attack starts; by default ``X``.
        **options
            ``smallest``, ``method``, ``solver``, ``time_limit``, ``n_jobs`` and ``on_progress`` of
            :func:`bdnn.robustness.verify`.

        Returns
        -------
        Verification
        """
        around, radius = self._around(X, y, radius, norm, units, domain)
        return verify_samples(around, radius, reference=self._optional_values(reference), **options)

    def attack(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike | Mapping[str | int, float],
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
        reference: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        **options: Any,
    ) -> Attack:
        """Perturb samples within a radius so that their class changes.

        Parameters
        ----------
        X, y, radius, norm, units, domain
            As for :meth:`certify`.
        reference : array, optional
            Samples from which the boundary attack starts; by default ``X``.
        random_state : int, RandomState or None, default None
        **options
            ``method``, ``draws``, ``time_limit`` and ``n_jobs`` of
            :func:`bdnn.robustness.attack`.

        Returns
        -------
        Attack
        """
        around, size = self._around(X, y, radius, norm, units, domain)
        assert size is not None
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return attack_samples(
            around, size, reference=self._optional_values(reference), seed=seed, **options
        )

    def predictor(self) -> Predictor:
        """The model as compiled code that answers a row in microseconds, for services.

        See :class:`bdnn.model.predictor.Predictor`.
        """
        check_is_fitted(self, "model_")
        return self.model_.predictor

    def rules(self, form: str = "text") -> str:
        """The network in words of the raw columns; see :func:`bdnn.export.rules.to_rules`."""
        check_is_fitted(self, "model_")
        return Words(to_rules(self.model_, form))

    def explain(self, row: ArrayLike, *, time_limit: float = 10.0) -> Explanation:
        """Tell why a row got its class, and the smallest change of raw values that changes it.

        Parameters
        ----------
        row : array of shape (n_features,), or a table of one row
        time_limit : float, default 10
            Seconds; what is not settled by then is told as found, not as proven.

        Returns
        -------
        Explanation
            See :class:`bdnn.evaluation.explanation.Explanation`; printed it is a text.
        """
        single: Any = row
        if np.ndim(row) == 1:  # a line of a table of pandas keeps its names
            is_named = hasattr(row, "to_frame")
            single = row.to_frame().T.infer_objects() if is_named else [row]  # type: ignore[union-attr]
        codes = self._values(single)
        if len(codes) != 1:
            raise DataError(f"explain takes one row, got {len(codes)}: give one of them.")
        data = self._certificate.get("data")
        return explain(self.model_, codes[0], data=data, time_limit=time_limit)

    def importances(self, X: ArrayLike, y: ArrayLike | None = None) -> list[Importance]:
        """Columns by how often another value of theirs changes the answer, the first the most.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Best rows that were not trained on.
        y : array of shape (n_samples,), optional
            Labels, for the accuracy that is lost.
        """
        return importances(self.model_, self._values(X), y)

    def to_c(self, **options: Any) -> CExport:
        """The model as a C99 header; options as for :func:`bdnn.export.c.export_c`."""
        check_is_fitted(self, "model_")
        if options.get("rows") is not None:
            options["rows"] = self._values(options["rows"])
        return export_c(self.model_, data=self._certificate.get("data"), **options)

    def to_sql(self, table: str = "data", **options: Any) -> str:
        """The model as a query; see :func:`bdnn.export.sql.to_sql`."""
        check_is_fitted(self, "model_")
        return Words(to_sql(self.model_, table, **options))

    def to_javascript(self, name: str = "predict") -> str:
        """The model as a function; see :func:`bdnn.export.javascript.to_javascript`."""
        check_is_fitted(self, "model_")
        return Words(to_javascript(self.model_, name))

    def to_spreadsheet(self, rows: int = 100) -> bytes:
        """The model as an ``.xlsx``; see :func:`bdnn.export.spreadsheet.to_spreadsheet`."""
        check_is_fitted(self, "model_")
        return to_spreadsheet(self.model_, rows)

    def to_onnx(self) -> bytes:
        """The model as an ONNX file; see :func:`bdnn.export.onnx.to_onnx`."""
        check_is_fitted(self, "model_")
        return to_onnx(self.model_)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        extra: Mapping[str, Any] | None = None,
        promises: Sequence[Mapping[str, Any]] = (),
        proof: bool = True,
    ) -> None:
        """Write the fitted model to a JSON file.

        Parameters
        ----------
        path : path
        extra : mapping, optional
            Plain data to keep with the model.
        promises : sequence of mappings
            What else ``bdnn check`` should find true, each with its ``kind``; see the format of
            model files.
        proof : bool
            Whether to write the proof of the bound too, if there is one of at most 2 MiB. Without
            it ``bdnn check`` may have to take the bound on trust.
        """
        write_model(self._record(extra, promises, proof=proof), path)

    def report(
        self,
        path: str | os.PathLike[str] = "model.html",
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        title: str | None = None,
    ) -> Path:
        """Write a page about the model: one HTML file that needs nothing else.

        Parameters
        ----------
        path : path, default "model.html"
        X, y : arrays, optional
            Labelled rows to show the model on, best such that were not trained on; rows that were
            are left out if there are others.
        title : str, optional

        Returns
        -------
        Path
            Of the page.
        """
        if not isinstance(path, str | os.PathLike):
            raise DataError(
                f"report takes a path first, got {type(path).__name__}: write "
                "report('model.html', X, y)."
            )
        record = self._record(getattr(self, "extra_", None))
        codes = self._optional_values(X)
        labels = None if y is None else np.asarray(y)
        if (codes is None) != (labels is None):
            raise DataError("a page needs X and y or neither, got one of them: give both.")
        subject = Subject.of(record, title or type(self).__name__, codes, labels)
        write_whole(Path(path), make_page(subject))
        return Path(path)

    def _record(
        self,
        extra: Mapping[str, Any] | None = None,
        promises: Sequence[Mapping[str, Any]] = (),
        *,
        proof: bool = True,
    ) -> ModelRecord:
        """What a model file holds."""
        check_is_fitted(self, "model_")
        settings = {
            key: _plain_parameter(value) for key, value in self.get_params(deep=False).items()
        }
        # Constraints are about the data and live on as promises.
        settings["constraints"] = []
        settings["has_column_names"] = hasattr(self, "feature_names_in_")
        if self._columns_in != self.encoder_.names:
            settings["columns_in"] = list(self._columns_in)
        certificate = dict(self._certificate)
        if self._memory is not None:
            certificate["seen"] = SeenRows.of(self._memory.samples.values).to_dict()
        if certificate or promises:
            certificate["promises"] = [*certificate.get("promises", ()), *map(dict, promises)]
        result = self.result_.to_dict()
        if not (proof and len(json.dumps(result.get("certificate"))) <= limits.PROOF_CHARACTERS):
            result.pop("certificate", None)
        return ModelRecord(self.model_, settings, result, dict(extra or {}), certificate)

    def _values(self, X: ArrayLike) -> FloatArray:
        """Raw features for the fitted model."""
        check_is_fitted(self, "model_")
        return known_codes(self, X, self.encoder_)

    def _outcomes(self, X: ArrayLike) -> NDArray[np.intp]:
        """Index of every row's predicted class."""
        check_is_fitted(self, "model_")
        return known_outcomes(self, X, self.model_)

    def _optional_values(self, X: ArrayLike | None) -> FloatArray | None:
        return None if X is None else self._values(X)

    def _around(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        radius: ArrayLike | Mapping[str | int, float] | None,
        norm: str,
        units: str,
        domain: Domain | None,
    ) -> tuple[PerturbationSet, ArrayLike | None]:
        """What surrounds samples, and the radius; one per column is a unit, of which 1 is asked."""
        measure: Any = units
        if isinstance(radius, Mapping):
            measure, radius = radius, 1.0
        around = PerturbationSet.create(
            self.model_, self._values(X), y, norm=norm, units=measure, domain=domain
        )
        return around, radius


def _plain_parameter(value: Any) -> Any:
    """Parameter as JSON: names of methods and solvers, nothing for networks and functions."""
    named = AbstractMethod | AbstractSolver | WeightSet | Activation
    if isinstance(value, named):
        return value.name
    if isinstance(value, Inputs | Limits | Robust):
        return asdict(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_parameter(item) for item in value]
    if isinstance(value, Mapping):
        # JSON turns keys into strings, so a class weight per label is kept as readable text only.
        return None
    return value if isinstance(value, str | int | float | bool | None) else None
