"""Which inputs exist at all: ranges, whole numbers, what may change, what may be missing."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bdnn.errors import DataError, ModelError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.norms import check_radius


@dataclass(frozen=True, eq=False)
class Domain:
    """The inputs that a perturbation may lead to, in raw units.

    Build one with :meth:`create`. A sample outside the range keeps its own value available.

    Parameters
    ----------
    lower, upper : arrays of shape (n_features,)
        Range of every feature, infinite where there is none.
    integer, fixed : 0/1 arrays of shape (n_features,)
        Features that take whole numbers only, and features that nobody can change.
    groups : tuple of tuples of int
        Features that are the one-hot code of one category: exactly one of each group is 1.
    change : array of shape (n_features,)
        How far away another truth value or text is, infinite where it is out of reach.
    may_be_missing, may_be_known : 0/1 arrays of shape (n_features,)
        Columns in which a value may get lost, and those in which a missing one may be any.
    """

    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    fixed: BoolArray
    groups: tuple[tuple[int, ...], ...]
    change: FloatArray
    may_be_missing: BoolArray
    may_be_known: BoolArray

    @classmethod
    def create(
        cls,
        n_features: int,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        integer: Sequence[int | str] = (),
        fixed: Sequence[int | str] = (),
        groups: Sequence[Sequence[int | str]] = (),
        change: Sequence[int | str] | Mapping[int | str, float] = (),
        may_be_missing: Sequence[int | str] = (),
        may_be_known: Sequence[int | str] = (),
        names: Sequence[str] = (),
    ) -> Domain:
        """Check what a user gives.

        Parameters
        ----------
        n_features : int
        lower, upper : float or array of shape (n_features,), optional
            Range of raw values.
        integer, fixed, groups
            Features by their numbers, from 0, or by name.
        change : sequence, or mapping of features to float
            Truth values and texts that may change: at no cost, or by a move of the given length.
            The others stay what they are.
        may_be_missing, may_be_known
            Features whose value may get lost, and those whose missing value may be any that
            exists; at no cost.
        names : sequence of str
            Names of all features, to speak of them by name.
        """
        given = {name: j for j, name in enumerate(names)}
        low = _bounds(lower, n_features, "lower", -np.inf)
        high = _bounds(upper, n_features, "upper", np.inf)
        whole = _mask(integer, n_features, "integer", given)
        still = _mask(fixed, n_features, "fixed", given)
        parsed = tuple(_members(group, n_features, "groups", given) for group in groups)
        members = [j for group in parsed for j in group]
        if len(set(members)) != len(members):
            raise ModelError(
                "a feature can be in one group only, got one that is in two: check groups."
            )
        whole[members] = True
        low[members], high[members] = np.maximum(low[members], 0), np.minimum(high[members], 1)
        if not (low <= high).all():
            raise ModelError(
                f"lower must not be above upper, got that for feature "
                f"{int(np.flatnonzero(~(low <= high))[0])}: check both."
            )
        lost = _mask(may_be_missing, n_features, "may_be_missing", given)
        known = _mask(may_be_known, n_features, "may_be_known", given)
        prices = _prices(change, n_features, given)
        return cls(low, high, whole, still, parsed, prices, lost, known)

    def check(self, X: FloatArray) -> None:
        """Refuse samples that no whole number or category stands for."""
        if X.shape[1] != len(self.lower):
            raise ModelError(
                f"the domain is one of {len(self.lower)} features, got samples of {X.shape[1]}: "
                "make one for these."
            )
        broken = self.integer & (np.rint(X) != X) & ~np.isnan(X)
        if broken.any():
            row, feature = np.argwhere(broken)[0]
            raise DataError(
                f"feature {feature} takes whole numbers only, got {X[row, feature]:g} in row "
                f"{row}: correct it or leave the feature out of integer and groups."
            )
        for group in self.groups:
            part = X[:, list(group)]
            wrong = ((part != 0) & (part != 1)).any(axis=1) | (part.sum(axis=1) != 1)
            if wrong.any():
                raise DataError(
                    f"features {list(group)} are the code of one category, got none or several "
                    f"in row {int(np.flatnonzero(wrong)[0])}: correct it or the group."
                )

    def to_dict(self) -> dict[str, Any]:
        """The domain as plain data, None for what has no limit."""
        return {
            "lower": [value if np.isfinite(value) else None for value in self.lower.tolist()],
            "upper": [value if np.isfinite(value) else None for value in self.upper.tolist()],
            "integer": _places(self.integer),
            "fixed": _places(self.fixed),
            "groups": [list(group) for group in self.groups],
            "change": {str(j): float(self.change[j]) for j in _places(np.isfinite(self.change))},
            "may_be_missing": _places(self.may_be_missing),
            "may_be_known": _places(self.may_be_known),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_features: int) -> Domain:
        """Read what :meth:`to_dict` wrote."""
        known = {name: values[name] for name in ("integer", "fixed", "groups")}
        for name, none in (("lower", -np.inf), ("upper", np.inf)):
            known[name] = [none if value is None else float(value) for value in values[name]]
        # Certificates of earlier versions know nothing of these.
        for name in ("may_be_missing", "may_be_known"):
            known[name] = values.get(name, ())
        known["change"] = {int(j): price for j, price in values.get("change", {}).items()}
        return cls.create(n_features, **known)


def _bounds(values: ArrayLike | None, n_features: int, name: str, none: float) -> FloatArray:
    if values is None:
        return np.full(n_features, none)
    bounds = np.asarray(values, dtype=float)
    if bounds.shape not in ((), (n_features,)) or np.isnan(bounds).any():
        raise ModelError(
            f"{name} must be one number or one per feature ({n_features}) and not NaN, got shape "
            f"{bounds.shape}: check it."
        )
    return np.broadcast_to(bounds, (n_features,)).copy()


def _members(
    features: Sequence[int | str], n_features: int, name: str, given: Mapping[str, int]
) -> tuple[int, ...]:
    try:
        numbers = tuple(
            given.get(j, -1) if isinstance(j, str) else operator.index(j) for j in features
        )
    except TypeError:
        numbers = (-1,)
    if any(not 0 <= j < n_features for j in numbers):
        shown = list(features) if isinstance(features, Sequence) else features
        raise ModelError(
            f"{name} must hold numbers of features from 0 to {n_features - 1}, or names that are "
            f"given as names, got {shown!r}: check it."
        )
    return numbers


def _mask(
    features: Sequence[int | str], n_features: int, name: str, given: Mapping[str, int]
) -> BoolArray:
    mask = np.zeros(n_features, dtype=bool)
    mask[list(_members(features, n_features, name, given))] = True
    return mask


def _prices(
    change: Sequence[int | str] | Mapping[int | str, float],
    n_features: int,
    given: Mapping[str, int],
) -> FloatArray:
    """Lengths of changes of truth values and texts."""
    prices = np.full(n_features, np.inf)
    places = list(_members(tuple(change), n_features, "change", given))
    lengths = change.values() if isinstance(change, Mapping) else [0.0] * len(places)
    prices[places] = check_radius(list(lengths), name="change") if places else ()
    return prices


def _places(mask: BoolArray) -> list[int]:
    found: list[int] = np.flatnonzero(mask).tolist()
    return found
