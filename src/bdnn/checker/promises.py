"""Promises of a model file beside its training result, each kind with its own way to check it.

A promise is an object with a ``kind``. Kinds that are not known here are claims and nothing more;
one that cannot be read makes the file one that cannot be checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bdnn.checker import constraints, training_promises
from bdnn.checker.claims import Claim, claimed, proven
from bdnn.checker.deadline import OutOfTimeError
from bdnn.checker.known import Known, PromiseError
from bdnn.checker.statements import shown
from bdnn.errors import ModelFileError

# What holds, in words; a problem says why it does not, or why nobody knows.
_Check = Callable[[Known, dict[str, Any]], str]

_KINDS: dict[str, _Check] = {
    "count": constraints.check_count,
    "error": training_promises.check_error,
    "monotone": constraints.check_monotone,
    "parity": training_promises.check_parity,
    "radius": training_promises.check_radius,
    "right": training_promises.check_right,
    "sparsity": constraints.check_sparsity,
    "unused": constraints.check_unused,
    "weight": constraints.check_weight,
}


def check_promises(known: Known) -> list[Claim]:
    """Check every promise; those about training data are only claims without the data."""
    promises = known.model.part("certificate").get("promises", [])
    return [_check(known, number, promise) for number, promise in enumerate(promises, start=1)]


def _check(known: Known, number: int, promise: dict[str, Any]) -> Claim:
    kind = promise.get("kind")
    name = f"promise {shown(kind)[1:-1]}" if isinstance(kind, str) else "promise"
    check = _KINDS.get(kind) if isinstance(kind, str) else None
    if check is None:
        return claimed(name, "of a kind that this checker does not know")
    try:
        known.deadline.check()
        return proven(name, check(known, promise))
    except PromiseError as problem:
        return Claim(name, problem.verdict, str(problem))
    except OutOfTimeError as error:
        return claimed(name, str(error))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"promise {number} of the model file ({kind}) cannot be read ({error}): save the "
            "model again."
        ) from error
