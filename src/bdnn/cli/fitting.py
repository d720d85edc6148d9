"""The training itself: which estimator, how it is watched, where it is saved, how good it is."""

from __future__ import annotations

import math
import secrets
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bdnn import BDNNClassifier, BDNNRegressor, smallest_network
from bdnn.cli.commands.predict import errors_of
from bdnn.cli.options.learning import Learning, Limits
from bdnn.cli.output import ModelOutput, number, percent
from bdnn.cli.progress import ProgressDisplay, undisturbed
from bdnn.datasets import Samples
from bdnn.errors import ModelError
from bdnn.model_file.data import format_rows
from bdnn.network.activation import FloatArray
from bdnn.training.result import Progress

# What a regressor settles by itself.
SETTLED = ("ridge", "smoothing")

Estimator = BDNNClassifier | BDNNRegressor
# Rows to train on, and to test on.
Parts = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Task:
    """An estimator with its parameters, and whether its width is looked for."""

    kind: type[Estimator]
    parameters: dict[str, Any]
    max_error: float | None = None

    @classmethod
    def create(cls, learning: Learning, parameters: dict[str, Any]) -> Task:
        """Choose the estimator, and refuse what it does not know."""
        kind = BDNNRegressor if learning.regression else BDNNClassifier
        known = [*signature(kind).parameters, *([] if learning.regression else ["smallest"])]
        asked = [*parameters, *(["smallest"] if learning.smallest else [])]
        foreign = [name for name in asked if name not in known]
        if foreign:
            option = f"--{foreign[0].replace('_', '-')}"
            raise ModelError(
                f"{option} is for classifiers, got it with --regression: leave one of them out."
            )
        if learning.smallest and "hidden" in parameters:
            raise ModelError(
                "--smallest looks for the width itself, got --hidden too: leave one out."
            )
        return cls(kind, parameters, (learning.max_error or 0.0) if learning.smallest else None)

    def fit(
        self, samples: Samples, rows: Parts, data: str, limits: Limits, output: ModelOutput
    ) -> tuple[dict[str, Any], str | None]:
        """Train with a display of the progress, and save the model before anything else.

        Returns what is known of the model, and what kept it from being saved where it was wanted.
        """
        chosen, _ = rows
        display = None if output.quiet else ProgressDisplay(describe, limits.seconds)
        X, y = samples.X[chosen], samples.y[chosen]
        target = {"name": samples.target, "place": samples.target_place}
        extra = {"target": target, "data": data, "rows": format_rows(chosen)}
        with _convergence_warnings() as messages, display or nullcontext():
            model, facts = self._train(X, y, encoder=samples.encoder, callback=display)
            with undisturbed():
                path, problem = _save(
                    model, output.out, {"extra": extra, "proof": not output.no_proof}
                )
        output.tell(messages)
        summary = {
            **_summarise(model, samples, rows),
            **facts,
            "out": None if path is None else str(path),
            "notes": [*samples.notes, *messages],
        }
        return summary, problem

    def _train(
        self, X: FloatArray, y: NDArray[np.generic], **options: Any
    ) -> tuple[Estimator, dict[str, Any]]:
        if self.max_error is None:
            callback = options.pop("callback")
            model = self.kind(**self.parameters, callback=callback).fit(X, y, **options)
            return model.set_params(callback=None), {}
        started = time.perf_counter()
        found = smallest_network(X, y, max_error=self.max_error, **options, **self.parameters)
        return found.classifier, {
            "seconds": time.perf_counter() - started,
            "width": found.width,
            "insufficient_width": found.insufficient,
            "widths": [vars(attempt) for attempt in found.attempts],
        }


def describe(moment: Progress) -> str:
    """Write a moment of training in one line."""
    if math.isinf(moment.loss):  # nothing of this is looked at on the way
        return moment.phase
    loss, bound = number(moment.loss, 6), number(moment.bound, 6)
    return f"{moment.phase:<8}  loss {loss}  bound {bound}  gap {percent(moment.gap)}"


def _save(
    model: Estimator, out: Path | None, options: dict[str, Any]
) -> tuple[Path | None, str | None]:
    """Save a trained model where it was wanted, or else where it can be; say where, and why.

    Training may have taken hours, in which a disk fills up or a folder is taken away.
    """
    if out is None:
        return None, None
    try:
        model.save(out, **options)
    except OSError as problem:
        for folder in (tempfile.gettempdir, Path.home):
            with suppress(OSError, RuntimeError):  # there is no such folder
                place = Path(folder()) / f"bdnn-{secrets.token_hex(4)}.json"
                model.save(place, **options)
                return place, f"cannot write {out}: {problem.strerror or problem}"
        raise
    return out, None


@contextmanager
def _convergence_warnings() -> Iterator[list[str]]:
    """Collect the warnings that a limit was reached; they are no fault of the program."""
    messages: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning

        def take(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, ConvergenceWarning):
                messages.append(str(message))
            else:
                show(message, category, *place)

        warnings.showwarning = take  # type: ignore[assignment]
        warnings.simplefilter("always", ConvergenceWarning)
        yield messages


def _summarise(model: Estimator, samples: Samples, rows: Parts) -> dict[str, Any]:
    """Collect what is known of a trained model, measured on both parts of the samples."""
    chosen, kept = rows
    result = model.result_
    classes = getattr(model, "classes_", None)
    measure = "r2" if classes is None else "accuracy"

    def measured(rows: NDArray[np.intp]) -> float | None:
        if not len(rows):
            return None
        predicted, y = model.model_.predict(samples.X[rows]), samples.y[rows]
        if classes is None:
            return errors_of(y, predicted[:, 0])["r2"]
        return float((predicted == y).mean())

    return {
        "network": str(model.network_.architecture),
        "status": result.status,
        "loss": float(result.loss),
        "bound": float(result.bound),
        "gap": float(result.gap),
        "bound_origin": result.bound_origin,
        "objective": result.objective,
        **{name: getattr(model, f"{name}_") for name in SETTLED if hasattr(model, f"{name}_")},
        **({} if classes is None else {"classes": classes.tolist()}),
        "method": result.method,
        "solver": result.solver,
        "seconds": float(result.seconds),
        "train_rows": len(chosen),
        "test_rows": len(kept),
        f"train_{measure}": measured(chosen),
        f"test_{measure}": measured(kept),
        "held_out": result.held_out and result.held_out.to_dict(),
        "size_bits": int(model.network_.size_bits),
        "message": result.message,
    }
