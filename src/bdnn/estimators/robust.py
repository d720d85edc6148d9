"""What an estimator says about perturbed inputs: guarantees, exact answers, attacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bdnn.activation import BoolArray
from bdnn.errors import DataError
from bdnn.estimators.validation import check_features
from bdnn.network import Network
from bdnn.robustness.attack import Attack, attack
from bdnn.robustness.certify import Certification, certify
from bdnn.robustness.domain import Domain
from bdnn.robustness.surroundings import Surroundings
from bdnn.robustness.verify import Verification, verify
from bdnn.scaling import Scaler

if TYPE_CHECKING:
    from bdnn.solvers.base import AbstractSolver


class RobustnessMixin:
    """The methods ``certify``, ``verify`` and ``attack`` of a fitted classifier."""

    network_: Network
    scaler_: Scaler
    classes_: NDArray[Any]

    def certify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
    ) -> Certification:
        """Guarantee radii within which no perturbation changes the predicted class.

        A fast bound for all rows at once that may be too small, never too large: ``predict`` gives
        the same class for every ``x'`` with ``||(x' - x) * scaler_.factor||`` up to the radius, or
        ``||x' - x||`` in raw units.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            Labels, for certified accuracy.
        radius : float or array of shape (n_samples,), optional
            For the question which samples are certified.
        norm : {"linf", "l1", "l2"}, default "linf"
        units : {"scaled", "raw"}, default "scaled"
            What the radius measures: scaled inputs, or ``X`` itself.
        domain : Domain, optional
            Ranges, whole numbers, fixed features and categories.

        Returns
        -------
        Certification
        """
        around = self._surroundings(X, norm, units, domain)
        return certify(around, radius, correct=self._correct(around, y))

    def verify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
        smallest: bool = True,
        method: str = "auto",
        solver: str | AbstractSolver = "auto",
        reference: ArrayLike | None = None,
        time_limit: float = math.inf,
        n_jobs: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Verification:
        """Find the smallest perturbation that changes the class of every sample.

        Parameters
        ----------
        X, y, norm, units, domain
            As in :meth:`certify`.
        radius : float or array of shape (n_samples,), optional
            How far to look; without it as far as it takes.
        smallest : bool, default True
            Whether the nearest counter-example is wanted; False ends with any within the radius.
        method : {"auto", "boxes", "program"}, default "auto"
            Bound, attacks, some boxes, then a mixed-integer program; or one exact method alone.
        solver : str or solver object, default "auto"
        reference : array, optional
            Samples from which an attack starts; by default ``X``.
        time_limit : float, default inf
            Seconds for all samples; then limits are returned instead of the exact answer.
        n_jobs : int or None, default None
            Samples at the same time.
        on_progress : callable, optional
            Told how many samples are settled, and of how many.

        Returns
        -------
        Verification
        """
        around = self._surroundings(X, norm, units, domain)
        return verify(
            around,
            radius,
            correct=self._correct(around, y),
            smallest=smallest,
            method=method,
            solver=solver,
            reference=None if reference is None else check_features(self, reference, reset=False),
            time_limit=time_limit,
            n_jobs=n_jobs,
            on_progress=on_progress,
        )

    def attack(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike,
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
        method: str = "greedy",
        draws: int = 1,
        reference: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        time_limit: float = math.inf,
        n_jobs: int | None = None,
    ) -> Attack:
        """Perturb samples within a radius so that their class changes.

        Parameters
        ----------
        X, y, norm, units, domain
            As in :meth:`certify`.
        radius : float or array of shape (n_samples,)
        method : {"random_sign", "greedy", "boundary", "optimal"}, default "greedy"
            The paper's attack, which moves every feature by the radius up or down at random; two
            quick ones; or the exact answer by :meth:`verify`.
        draws : int, default 1
            Random attacks per sample.
        reference : array, optional
            Samples from which the boundary attack starts; by default ``X``.
        random_state : int, RandomState or None, default None
        time_limit, n_jobs
            Of the optimal attack.

        Returns
        -------
        Attack
        """
        around = self._surroundings(X, norm, units, domain)
        return attack(
            around,
            radius,
            method=method,
            labels=self._codes(y, len(around.X)),
            draws=draws,
            reference=None if reference is None else check_features(self, reference, reset=False),
            seed=int(check_random_state(random_state).randint(2**31 - 1)),
            time_limit=time_limit,
            n_jobs=n_jobs,
        )

    def _surroundings(
        self, X: ArrayLike, norm: str, units: str, domain: Domain | None
    ) -> Surroundings:
        check_is_fitted(self, "network_")
        values = check_features(self, X, reset=False)
        return Surroundings.create(
            self.network_, self.scaler_, values, norm=norm, units=units, domain=domain
        )

    def _codes(self, y: ArrayLike | None, n_samples: int) -> NDArray[np.intp] | None:
        """Labels as numbers of outputs, -1 for one that the model does not know."""
        if y is None:
            return None
        labels = np.asarray(y)
        if labels.shape != (n_samples,):
            raise DataError(
                f"y must be one label per sample, got shape {labels.shape} for {n_samples} "
                "samples: check its length."
            )
        match = labels[:, None] == self.classes_
        return np.where(match.any(axis=1), match.argmax(axis=1), -1)

    def _correct(self, around: Surroundings, y: ArrayLike | None) -> BoolArray | None:
        codes = self._codes(y, len(around.X))
        return None if codes is None else around.classes == codes
