"""A model on rows that it has not seen, beside plain models that were trained on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bdnn.errors import ModelFileError
from bdnn.evaluation.figures import Figures, Label, NumberFigures
from bdnn.model import Model
from bdnn.network.activation import BoolArray, FloatArray

IntArray = NDArray[np.intp]
#: Rows that a model was trained on, and rows that it is judged by.
Part = tuple[IntArray, IntArray]
Origin = Literal["test rows", "cross-validation"]


@dataclass(frozen=True)
class Rival:
    """Another model on the same rows.

    Parameters
    ----------
    name : str
    score, error : float or None
        Accuracy, or R2 of numbers, and its standard error.
    auc, auc_error : float or None
    lead, lead_error : float or None
        Accuracy of the network minus that of the rival, by the rows that one of them alone has
        right.
    """

    name: str
    score: float | None
    error: float | None
    auc: float | None = None
    auc_error: float | None = None
    lead: float | None = None
    lead_error: float | None = None


@dataclass(frozen=True)
class Assessment:
    """What is known of a model on rows that it has not seen.

    Parameters
    ----------
    origin : {"test rows", "cross-validation"}
    folds : int
        Models that were trained to be judged; 1 for test rows.
    figures : Figures or NumberFigures
    trained : float or None
        Accuracy, or R2, on the rows that were trained on.
    rivals : tuple of Rival
    warnings, suggestions : tuple of str
    is_right : array of bool
        Which of the judged rows are right; a file does not hold it.
    """

    origin: Origin
    folds: int
    figures: Figures | NumberFigures
    trained: float | None = None
    rivals: tuple[Rival, ...] = ()
    warnings: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    is_right: BoolArray = field(default_factory=lambda: np.zeros(0, bool), compare=False)

    @property
    def score(self) -> float | None:
        """Accuracy, or R2."""
        known = self.figures
        return known.accuracy if isinstance(known, Figures) else known.r2

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        data = {
            key: getattr(self, key)
            for key in ("origin", "folds", "trained", "warnings", "suggestions")
        }
        lists = {key: list(data[key]) for key in ("warnings", "suggestions")}
        rivals = [asdict(rival) for rival in self.rivals]
        return {**data, **lists, "figures": self.figures.to_dict(), "rivals": rivals}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`.

        Raises
        ------
        ModelFileError
            If it is not what :meth:`to_dict` makes.
        """
        try:
            known = dict(data)
            kind = Figures if "confusion" in known["figures"] else NumberFigures
            known["figures"] = kind.from_dict(known["figures"])
            known["rivals"] = tuple(Rival(**each) for each in known["rivals"])
            for key in ("warnings", "suggestions"):
                known[key] = tuple(map(str, known[key]))
            for each in known["rivals"]:
                for value in list(vars(each).values())[1:]:
                    if value is not None and type(value) not in (int, float):
                        raise TypeError(f"{value!r} is no number")
            return cls(**known)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"the model file holds figures that cannot be read ({error}): train it again."
            ) from error


def assess(
    models: Sequence[Model],
    parts: Sequence[Part],
    codes: FloatArray,
    y: NDArray[Any],
    *,
    is_compared: bool = True,
    class_weight: str | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> Assessment:
    """Judge models by rows that they were not trained on, one model per part.

    Parameters
    ----------
    models : sequence of Model
    parts : sequence of pairs of arrays of int
        For every model the rows it was trained on, and the rows to judge it by.
    codes : array of shape (n_rows, n_columns)
    y : array of shape (n_rows,)
        Labels, or numbers.
    is_compared : bool
        Whether to train plain models on the same rows.
    class_weight, seed, n_jobs
        Of the plain models.
    """
    rows = np.concatenate([judged for _, judged in parts])
    origin: Origin = "test rows" if len(parts) == 1 else "cross-validation"
    is_number = models[0].kind == "regressor"
    labels: list[Label] = [] if is_number else np.unique(y).tolist()
    truth = y.astype(float) if is_number else np.unique(y, return_inverse=True)[1].ravel()
    pairs = list(zip(models, parts, strict=True))
    answers = [_answers(model, codes[judged], labels) for model, (_, judged) in pairs]
    found = _judged(origin, truth[rows], *_joined(answers), labels)
    own = np.concatenate([trained for trained, _ in parts])
    answers = [_answers(model, codes[trained], labels) for model, (trained, _) in pairs]
    score = _judged(origin, truth[own], _joined(answers)[0], None, labels).score
    found = replace(found, trained=score, folds=len(parts))
    if not is_compared:
        return found
    from bdnn.evaluation.baselines import fit_baselines  # scikit-learn takes a second to load

    columns = models[0].encoder.columns
    rivals: dict[str, list[tuple[NDArray[Any], FloatArray | None]]] = {}
    for part, judged in parts:
        for each in fit_baselines(
            codes[part],
            columns,
            truth[part],
            n_classes=len(labels),
            class_weight=class_weight,
            seed=seed,
            n_jobs=n_jobs,
        ):
            shares = None if is_number else each.probabilities(codes[judged])
            answer = each.predict(codes[judged]), shares
            rivals.setdefault(each.name, []).append(answer)
    told = [
        _rival(name, found, _judged(origin, truth[rows], *_joined(given), labels))
        for name, given in rivals.items()
    ]
    return replace(found, rivals=tuple(told))


def by_shares(truth: IntArray, shares: FloatArray, labels: Sequence[Label]) -> Assessment:
    """What networks that had not seen the rows said of them in the course of learning."""
    return _judged("cross-validation", truth, shares.argmax(axis=1), shares, labels)


def _answers(
    model: Model, codes: FloatArray, labels: Sequence[Label]
) -> tuple[NDArray[Any], FloatArray | None]:
    """Predicted classes and probabilities, among all labels; or numbers."""
    if model.kind == "regressor":
        return model.predict(codes)[:, 0].astype(float), None
    places = np.searchsorted(np.array(labels), model.labels)
    shares = None
    if model.calibration is not None:
        shares = np.zeros((len(codes), len(labels)))
        shares[:, places] = model.probabilities(codes)
    return places[model.outcomes(codes)], shares


def _joined(
    answers: Sequence[tuple[NDArray[Any], FloatArray | None]],
) -> tuple[NDArray[Any], FloatArray | None]:
    shares = [share for _, share in answers if share is not None]
    said = np.concatenate([said for said, _ in answers])
    return said, np.concatenate(shares) if len(shares) == len(answers) else None


def _judged(
    origin: Origin,
    truth: NDArray[Any],
    said: NDArray[Any],
    shares: FloatArray | None,
    labels: Sequence[Label],
) -> Assessment:
    if not labels:
        return Assessment(origin, 1, NumberFigures.of(truth, said))
    figures = Figures.of(truth, said, labels, shares)
    return Assessment(origin, 1, figures, is_right=said == truth)


def _rival(name: str, ours: Assessment, theirs: Assessment) -> Rival:
    known = theirs.figures
    if isinstance(known, NumberFigures):
        return Rival(name, known.r2, known.error)
    lead = ours.is_right.astype(float) - theirs.is_right
    # One more row that only one of them has right, each.
    spread = float(np.sqrt((np.abs(lead).sum() + 2) / (len(lead) + 2) ** 2))
    return Rival(
        name,
        known.accuracy,
        known.error,
        known.auc,
        known.auc_error,
        float(lead.mean()),
        spread,
    )
