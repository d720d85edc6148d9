"""What a data set is, and what is known of it before it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import FloatArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their targets.

    Parameters
    ----------
    name : str
    X : array of shape (n_samples, n_features)
        Finite numbers.
    y : array of shape (n_samples,)
        Labels of the classes, or numbers where a regression target was asked for.
    feature_names : tuple of str
    target_name : str
    description : str
        One or two sentences: what a row is, where it comes from.
    """

    name: str
    X: FloatArray
    y: NDArray[np.generic]
    feature_names: tuple[str, ...]
    target_name: str
    description: str


@dataclass(frozen=True)
class Record:
    """What is known of a built-in data set before it is loaded.

    Parameters
    ----------
    name : str
    rows, attributes, classes : int
    source, licence : str
    load : callable
        Returns the :class:`Dataset`; its keywords are the options of the data set.
    is_offline : callable
        Tells whether loading needs no network.
    """

    name: str
    rows: int
    attributes: int
    classes: int
    source: str
    licence: str
    load: Callable[..., Dataset]
    is_offline: Callable[[], bool] = lambda: True

    def to_dict(self) -> dict[str, Any]:
        """List what is known as plain values."""
        shown = ("name", "rows", "attributes", "classes", "source", "licence")
        return {**{key: getattr(self, key) for key in shown}, "offline": self.is_offline()}
