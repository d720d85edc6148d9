"""What comes of a combination: fit, and compare with what was asked for."""

from __future__ import annotations

import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bdnn.checker import check_model, make_samples, read_model, training_samples
from bdnn.errors import BDNNError, ModelError, NoSolutionError
from bdnn.network.activation import FloatArray
from tests.combinations.case import FIRST, LABELS, NUMBERS, RADIUS, Case, Fitted, X
from tests.combinations.checks import in_set
from tests.combinations.values import Value

# Seconds after which a network that keeps what was asked must be there, whatever the machine does.
_PATIENCE = 30.0


class Outcome(NamedTuple):
    """What came of a combination.

    Attributes
    ----------
    kind : str
        ``works``, ``refused`` (a sentence of ours) or ``broken`` (anything else).
    text : str
        The sentence, or what is wrong.
    place : str
        File and line that refused.
    """

    kind: str
    text: str = ""
    place: str = ""


def case_of(*values: Value) -> Case:
    """A case that asks for all of them; the method comes last, because it may imply a loss."""
    case = Case()
    for value in sorted(values, key=lambda value: value.dimension == "method"):
        case = value.change(case)
    return case


def run(*values: Value, seconds: float = 1.0) -> Outcome:
    """Fit, and look at what comes back."""
    case = case_of(*values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = Fitted(_fit(case, seconds), case)
    except NoSolutionError as error:
        if seconds < _PATIENCE:
            return run(*values, seconds=_PATIENCE)
        return Outcome("broken", str(error), _place(error))
    except BDNNError as error:
        return Outcome("refused", str(error), _place(error))
    except (TypeError, AttributeError) as error:
        # What an estimator has no word for is refused by Python itself.
        is_refusal = "unexpected keyword" in str(error) or "has no attribute 'extend'" in str(error)
        return Outcome("refused" if is_refusal else "broken", str(error), _place(error))
    except Exception as error:
        return Outcome("broken", f"{type(error).__name__}: {error}", _place(error))
    wrong = list(_faults(fitted, values))
    return Outcome("broken", "; ".join(wrong)) if wrong else Outcome("works")


def contradictions(*values: Value, methods: Sequence[Value], seconds: float) -> Iterator[str]:
    """Bounds of one method that a network of another one refutes."""
    results = []
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                results.append(_fit(case_of(*values, method), seconds).result_)
            except (NoSolutionError, ModelError):
                continue  # nothing is claimed
    for a, b in permutations(results, 2):
        slack = float(a.condition.tolerance) + 1e-9 * max(1.0, abs(a.bound))
        if not a.condition.margin and a.bound > b.minimised + slack:
            yield f"{a.method} proves {a.bound}, {b.method} reaches {b.minimised}"


def _fit(case: Case, seconds: float) -> Any:
    estimator, y = case.estimator(seconds), case.targets
    if not case.extends:
        return estimator.fit(X, y, **case.fit)
    first = {name: rows[:FIRST] for name, rows in case.fit.items()}
    later = {name: rows[FIRST:] for name, rows in case.fit.items() if name == "sample_weight"}
    return estimator.fit(X[:FIRST], y[:FIRST], **first).extend(X[FIRST:], y[FIRST:], **later)


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/bdnn/" in frame.filename] or list(frames)
    return f"{ours[-1].filename.split('/bdnn/')[-1]}:{ours[-1].lineno}"


def _faults(fitted: Fitted, values: tuple[Value, ...]) -> Iterator[str]:
    result = fitted.model.result_
    if not in_set(fitted):
        yield "a weight is not of its set"
    for value in values:
        if not value.holds(fitted):
            yield f"{value} does not hold"
    if "failed" in result.message:
        yield result.message
    if result.bound > result.minimised + 1e-9 * max(1.0, abs(result.minimised)):
        yield f"the bound {result.bound} is above {result.minimised}"
    if result.status == "optimal" and result.bound != result.minimised:
        yield f"optimal with bound {result.bound} below {result.minimised}"
    if not fitted.case.numbers:
        yield from _false_claims(fitted.model)
    loss = _loss(fitted)
    if loss is None:
        return
    # Held-out rows are no part of the loss where they choose among networks.
    counts_some = "validation_fraction" in fitted.case.parameters
    if abs(loss - result.loss) > 1e-6 and not (counts_some and result.loss <= loss):
        yield f"the loss is {loss}, the result says {result.loss}"


def _false_claims(model: Any) -> Iterator[str]:
    """What the separate checker finds false in the model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        checked = read_model(path)
    rows = zip(X.tolist(), LABELS.tolist(), strict=True)
    samples = training_samples(checked, make_samples(checked, rows))
    for claim in check_model(checked, samples):
        if claim.verdict == "false":
            yield f"{claim.name} is false: {claim.detail}"


def _loss(fitted: Fitted) -> float | None:
    """The loss by its definition; None where it is of copies drawn at random."""
    model, weight = fitted.model, fitted.weight
    robust = fitted.case.parameters.get("robust")
    if robust is not None and robust.loss == "average":
        return None
    if fitted.case.numbers:
        # Targets are measured by what was there when the first rows came.
        first = slice(FIRST if fitted.case.extends else None)
        error = np.abs(model.predict(X) - NUMBERS) / _deviation(NUMBERS[first], weight[first])
        squared = fitted.case.parameters["loss"] == "squared"
        return float((weight * (error**2 if squared else error)).sum())
    if robust is None or robust.loss == "pattern":
        wanted = LABELS[:, None] == np.arange(2)
        return float((weight[:, None] * (model.network_.outputs(fitted.inputs) != wanted)).sum())
    found = model.certify(X, LABELS, radius=RADIUS, norm=robust.norm)
    return float(weight[~(found.certified & (model.predict(X) == LABELS))].sum())


def _deviation(numbers: FloatArray, weight: FloatArray) -> float:
    mean = np.average(numbers, weights=weight)
    return float(np.sqrt(np.average((numbers - mean) ** 2, weights=weight)))
