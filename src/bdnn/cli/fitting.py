"""The training itself: which estimator, how it is watched, where it is saved, how good it is."""

from __future__ import annotations

import secrets
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bdnn import BDNNClassifier, BDNNRegressor, smallest_network
from bdnn.cli.options.data import Judging
from bdnn.cli.options.learning import Learning, Limits
from bdnn.cli.output import ModelOutput
from bdnn.cli.requests import undisturbed
from bdnn.datasets import Samples
from bdnn.errors import ModelError
from bdnn.evaluation.assessment import Assessment, assess, by_shares
from bdnn.evaluation.doubts import Doubt, find_doubts
from bdnn.evaluation.figures import NumberFigures
from bdnn.evaluation.leaks import find_leaks
from bdnn.evaluation.next_steps import suggest
from bdnn.model_file.data import format_rows
from bdnn.network.activation import FloatArray
from bdnn.progress import ProgressDisplay
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
        self,
        samples: Samples,
        rows: Parts,
        data: str,
        limits: Limits,
        judging: Judging,
        output: ModelOutput,
    ) -> tuple[dict[str, Any], str | None]:
        """Train with a display of the progress, save the model, and judge it.

        Returns what is known of the model, and what kept it from being saved where it was wanted.
        """
        is_number = self.kind is BDNNRegressor
        parts = judging.parts(samples, rows, seed=limits.seed, regression=is_number)
        chosen, _ = rows
        display = None if output.quiet else ProgressDisplay(describe, limits.seconds)
        X, y = samples.X[chosen], samples.y[chosen]
        target = {"name": samples.target, "place": samples.target_place}
        extra = {"target": target, "data": data, "rows": format_rows(chosen)}
        with convergence_warnings() as messages, display or nullcontext():
            model, facts = self._train(X, y, encoder=samples.encoder, callback=display)
            with undisturbed():
                path, problem = _save(
                    model, output.out, {"extra": extra, "proof": not output.no_proof}
                )
        output.tell(messages)
        place = None if path is None else str(path)
        found, next_steps = self._judged(
            model, samples, chosen, parts, limits, judging, output, place
        )
        if path is not None and found is not None:
            extra["assessment"] = found.to_dict()
            with undisturbed(), suppress(OSError):  # the model is there, as it was trained
                model.save(path, extra=extra, proof=not output.no_proof)
        summary = {
            **_summarise(model, samples, rows),
            **facts,
            "assessment": found and found.to_dict(),
            "next": list(next_steps),
            "out": place,
            "notes": [*samples.notes, *messages],
        }
        return summary, problem

    def _judged(
        self,
        model: Estimator,
        samples: Samples,
        chosen: NDArray[np.intp],
        parts: Sequence[Parts],
        limits: Limits,
        judging: Judging,
        output: ModelOutput,
        saved: str | None,
    ) -> tuple[Assessment | None, tuple[str, ...]]:
        """What is known of rows that were not trained on, and what to do next."""
        found: Assessment | None = None
        doubts: list[Doubt] = []
        try:
            if model.result_.status != "interrupted":
                found = self._assessed(model, samples, chosen, parts, limits, judging, output)
        except KeyboardInterrupt:
            output.tell(["judging was interrupted; the network is as it was trained"])
        if found is not None:
            labels = None
            if isinstance(model, BDNNClassifier):
                labels = np.unique(samples.y, return_inverse=True)[1].ravel()
            leaks = find_leaks(samples.X, samples.encoder.columns, labels)
            used = model.model_.used_columns
            leaks = [leak for leak in leaks if leak.column in used]
            is_weighted = self.parameters.get("class_weight") is not None
            doubts = find_doubts(found, leaks, samples.X, parts, is_weighted=is_weighted)
        next_steps = suggest(
            model.result_,
            found,
            doubts,
            hidden=model.network_.architecture.hidden,
            settings=self.parameters,
            saved=saved,
        )
        if found is not None:
            warned = tuple(doubt.text for doubt in doubts)
            found = replace(found, warnings=warned, suggestions=next_steps)
        return found, next_steps

    def _assessed(
        self,
        model: Estimator,
        samples: Samples,
        chosen: NDArray[np.intp],
        parts: Sequence[Parts],
        limits: Limits,
        judging: Judging,
        output: ModelOutput,
    ) -> Assessment | None:
        """Judge the model by its test rows; or the way it was trained, by folds."""
        X, y = samples.X, samples.y
        known = model.result_.held_out
        if not parts:
            if known is None or not len(known.rows) or known.is_worst_case:
                return None
            labels = model.classes_.tolist()
            truth = np.searchsorted(model.classes_, y[chosen][known.rows])
            return by_shares(truth, known.share.astype(float), labels)
        models = [model.model_]
        if judging.cv is not None:
            models = []
            for k, (trained, _) in enumerate(parts, start=1):
                output.tell([f"cross-validation, part {k} of {len(parts)}"])
                with convergence_warnings():
                    fold, _ = self._train(
                        X[trained], y[trained], encoder=samples.encoder, callback=None
                    )
                if fold.result_.status == "interrupted":
                    raise KeyboardInterrupt
                models.append(fold.model_)
        return assess(
            models,
            parts,
            X,
            y,
            is_compared=not judging.no_baselines,
            class_weight=self.parameters.get("class_weight"),
            seed=limits.seed,
            n_jobs=effective_n_jobs(limits.jobs),
        )

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
    return moment.text


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
def convergence_warnings() -> Iterator[list[str]]:
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
            return NumberFigures.of(y.astype(float), predicted[:, 0].astype(float)).r2
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
        "class_weight": getattr(model, "class_weight", None),
        "size_bits": int(model.network_.size_bits),
        "message": result.message,
    }
