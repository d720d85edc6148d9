"""How good answers are on labelled rows, every figure with its spread.

Spreads are standard errors. That of a share counts one more row right and one more row wrong, so
that all of a few rows is no certainty; that of the area under the ROC curve does the same in every
class where no row contradicts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bdnn.errors import ModelFileError
from bdnn.network.activation import BoolArray, FloatArray

Label = str | int | float | bool


@dataclass(frozen=True)
class ClassFigures:
    """Figures of one class.

    Parameters
    ----------
    label : str, int, float or bool
    precision, precision_error : float
        Share of the rows that were said to be of the class that are, and its standard error.
    recall, recall_error : float
        Share of the rows of the class that were said to be, and its standard error.
    f1 : float
    rows : int
        Of the class.
    """

    label: Label
    precision: float
    precision_error: float
    recall: float
    recall_error: float
    f1: float
    rows: int


@dataclass(frozen=True)
class Figures:
    """Figures of a classifier on labelled rows.

    Parameters
    ----------
    rows : int
    accuracy, error : float
        And its standard error.
    auc, auc_error : float or None
        Area under the ROC curve, one class against the rest, as the mean over classes; None where
        a class has no row or nothing says how likely classes are.
    log_loss : float or None
    classes : tuple of ClassFigures
    confusion : tuple of tuples of int
        Rows by true class (first) and predicted class.
    """

    rows: int
    accuracy: float
    error: float
    auc: float | None
    auc_error: float | None
    log_loss: float | None
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls,
        truth: NDArray[np.intp],
        said: NDArray[np.intp],
        classes: Sequence[Label],
        probabilities: FloatArray | None = None,
    ) -> Self:
        """Compare predicted classes with true ones, both as numbers of classes."""
        confusion = np.zeros((len(classes), len(classes)), dtype=np.intp)
        np.add.at(confusion, (truth, said), 1)
        right = int(np.trace(confusion))
        area = area_error = log_loss = None
        if probabilities is not None:
            is_true = truth[:, None] == np.arange(len(classes))
            area, area_error = area_under_curve(is_true, probabilities)
            with np.errstate(divide="ignore"):  # a forest may be sure and wrong
                log_loss = float(-np.log(probabilities[is_true]).mean())
        return cls(
            len(truth),
            right / len(truth),
            share_error(right, len(truth)),
            area,
            area_error,
            log_loss,
            tuple(_of_class(confusion, k, label) for k, label in enumerate(classes)),
            tuple(map(tuple, confusion.tolist())),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

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
            known["classes"] = tuple(ClassFigures(**each) for each in data["classes"])
            known["confusion"] = tuple(tuple(map(int, row)) for row in data["confusion"])
            found = cls(**known)
            _check_numbers(found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"the model file holds figures that cannot be read ({error}): train it again."
            ) from error
        return found


def _check_numbers(figures: Figures) -> None:
    numbers = [figures.rows, figures.accuracy, figures.error]
    numbers += [each or 0 for each in (figures.auc, figures.auc_error, figures.log_loss)]
    for each in figures.classes:
        numbers += [value for key, value in asdict(each).items() if key != "label"]
    wrong = [value for value in numbers if type(value) not in (int, float)]
    if wrong or len(figures.confusion) != len(figures.classes):
        raise TypeError(f"{wrong[0]!r} is no number" if wrong else "a class is missing")


def _of_class(confusion: NDArray[np.intp], k: int, label: Label) -> ClassFigures:
    """Precision, recall and F1 of a class, 0 where nothing was said or true."""
    right, said, true = (
        int(count) for count in (confusion[k, k], confusion[:, k].sum(), confusion[k].sum())
    )
    return ClassFigures(
        label,
        right / said if said else 0.0,
        share_error(right, said),
        right / true if true else 0.0,
        share_error(right, true),
        2 * right / (said + true) if said + true else 0.0,
        true,
    )


def share_error(count: int, total: int) -> float:
    """Standard error of a share, with one more row that counts and one more that does not."""
    share = (count + 1) / (total + 2)
    return float(np.sqrt(share * (1.0 - share) / (total + 2)))


def area_under_curve(
    is_true: BoolArray, scores: FloatArray
) -> tuple[float, float] | tuple[None, None]:
    """Mean area of all classes against their rests, and its standard error.

    Parameters
    ----------
    is_true : array of shape (n_rows, n_classes)
    scores : array of shape (n_rows, n_classes)

    Notes
    -----
    A row moves the area by how often it is on the right side of rows of the other kind; the error
    is the root of the sum of these influences squared, as DeLong, DeLong and Clarke-Pearson have
    it for two classes.
    """
    if not is_true.any(axis=0).all() or is_true.all(axis=0).any():
        return None, None
    area, error = _mean_area(is_true, scores)
    if not error and (scores != scores[0]).any():  # of a constant the area is known
        # One row of every class that is as right as can be, and one that is as wrong.
        own = np.eye(is_true.shape[1], dtype=bool)
        signs = np.where(own, np.inf, -np.inf)
        both = np.vstack([scores, signs, -signs])
        error = _mean_area(np.vstack([is_true, own, own]), both)[1]
    return area, error


def _mean_area(is_true: BoolArray, scores: FloatArray) -> tuple[float, float]:
    pairs = [_influences(*columns) for columns in zip(is_true.T, scores.T, strict=True)]
    moved = np.mean([influence for _, influence in pairs], axis=0)
    return float(np.mean([area for area, _ in pairs])), float(np.sqrt(np.square(moved).sum()))


def _influences(is_true: BoolArray, scores: FloatArray) -> tuple[float, FloatArray]:
    """Area under the curve of one class, and by how much every row moves it."""
    n_true = int(is_true.sum())
    counts = np.where(is_true, n_true, len(is_true) - n_true)
    ranks, own = rankdata(scores), np.empty(len(scores))
    own[is_true], own[~is_true] = rankdata(scores[is_true]), rankdata(scores[~is_true])
    # Share of the rows of the other kind that are below, or of a row of the rest: above.
    below = (ranks - own) / (len(is_true) - counts)
    placed = np.where(is_true, below, 1.0 - below)
    area = float(placed[is_true].mean())
    return area, (placed - area) / counts


@dataclass(frozen=True)
class NumberFigures:
    """Figures of a regressor on rows with known numbers.

    Parameters
    ----------
    rows : int
    r2, error : float or None
        And its standard error; None for a constant target.
    rmse, mae : float
        Root of the mean square, and mean size, of the errors.
    """

    rows: int
    r2: float | None
    error: float | None
    rmse: float
    mae: float

    @classmethod
    def of(cls, truth: FloatArray, said: FloatArray) -> Self:
        """Compare predicted numbers with true ones."""
        squares, around = np.square(truth - said), np.square(truth - truth.mean())
        spread = float(around.sum())
        r2 = error = None
        if spread > 0:
            r2 = 1.0 - float(squares.sum()) / spread
            error = float(np.sqrt(np.square(squares - (1.0 - r2) * around).sum())) / spread
        size = float(np.abs(truth - said).mean())
        return cls(len(truth), r2, error, float(np.sqrt(squares.mean())), size)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`; raises a ``TypeError``."""
        found = cls(**data)
        wrong = [value for value in asdict(found).values() if type(value or 0) not in (int, float)]
        if wrong:
            raise TypeError(f"{wrong[0]!r} is no number")
        return found
