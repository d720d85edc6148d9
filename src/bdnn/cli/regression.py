"""``bdnn train --regression``, and what commands say of a regressor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdnn.cli.console import note, percent, print_json, print_pairs
from bdnn.errors import ModelError, UnsupportedFeatureError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn import BDNNRegressor
    from bdnn.activation import FloatArray
    from bdnn.datasets import Samples
    from bdnn.export.json import ModelRecord


def refuse_classifier_options(**options: tuple[Any, Any]) -> None:
    """Refuse options that only classifiers have, each given with its default."""
    for name, (value, default) in options.items():
        if value != default:
            raise ModelError(
                f"--{name.replace('_', '-')} is for classifiers, got it with --regression: leave "
                "one of them out."
            )


def refuse_regressor_options(**options: Any) -> None:
    """Refuse options that only regressors have."""
    for name, value in options.items():
        if value is not None:
            raise ModelError(f"--{name} is for --regression, which was not given: add it.")


def parse_amount(name: str, text: str | None) -> float | str:
    """Read a number or ``auto``."""
    if text in (None, "auto"):
        return "auto"
    try:
        return float(str(text))
    except ValueError:
        raise ModelError(f"--{name} must be a number or auto, got {text!r}: give one.") from None


def report_training(
    model: BDNNRegressor,
    samples: Samples,
    chosen: NDArray[np.intp],
    kept: NDArray[np.intp],
    *,
    data: str,
    out: Path | None,
    warned: list[str],
    as_json: bool,
) -> None:
    """Save a trained regressor and print what is known of it."""
    result = model.result_
    X, y = samples.X, samples.y
    if out is not None:
        from bdnn.export.certificate import format_rows

        table, used = samples.encoding.to_dict(), format_rows(chosen)
        model.save(out, extra={"table": table, "data": data, "rows": used})
    summary: dict[str, Any] = {
        "network": str(model.network_.architecture),
        "status": result.status,
        "loss": float(result.loss),
        "bound": float(result.bound),
        "gap": float(result.gap),
        "bound_origin": result.bound_origin,
        "method": result.method,
        "solver": result.solver,
        "seconds": float(result.seconds),
        "ridge": model.ridge_,
        "smoothing": model.smoothing_,
        "train_rows": len(chosen),
        "test_rows": len(kept),
        "train_r2": errors_of(y[chosen], model.predict(X[chosen]))["r2"],
        "test_r2": errors_of(y[kept], model.predict(X[kept]))["r2"] if len(kept) else None,
        "size_bits": int(model.network_.size_bits),
        "message": result.message,
        "out": None if out is None else str(out),
        "notes": [*samples.notes, *warned],
    }
    if as_json:
        print_json(summary)
    else:
        _print_summary(summary)


def _print_summary(summary: dict[str, Any]) -> None:
    solver = f", {summary['solver']}" if summary["solver"] else ""
    bits = summary["size_bits"]
    tested = f"{number(summary['test_r2'])} on {summary['test_rows']} rows"
    print_pairs(
        [
            ("network", summary["network"]),
            ("status", summary["status"]),
            ("loss", f"{summary['loss']:g}"),
            ("bound", f"{summary['bound']:g} ({summary['bound_origin']})"),
            ("gap", percent(summary["gap"])),
            ("ridge", f"{summary['ridge']:g}"),
            ("smoothing", f"{summary['smoothing']:g}"),
            ("method", f"{summary['method']}{solver}"),
            ("time", f"{summary['seconds']:.2f} s"),
            ("train R2", f"{number(summary['train_r2'])} on {summary['train_rows']} rows"),
            ("test R2", tested if summary["test_rows"] else "not measured"),
            ("size", f"{bits} bits ({-(-bits // 8)} bytes)"),
            *([("message", summary["message"])] if summary["message"] else []),
            ("saved", summary["out"] or "no (give --out model.json)"),
        ]
    )


def estimate(record: ModelRecord, X: FloatArray) -> FloatArray:
    """Predict as the estimator does, one column per output."""
    if record.targets is None:
        raise ModelError("the model's outputs stand for nothing: save the model again.")
    return record.targets.inverse(record.network.values(record.scaler.transform(X)))


def errors_of(y: NDArray[np.generic], predicted: FloatArray) -> dict[str, float | None]:
    """R2 (none for a constant target), root of the mean square and mean size of the errors."""
    import numpy as np

    errors = y.astype(float) - predicted
    spread = float(((y.astype(float) - y.astype(float).mean()) ** 2).sum())
    return {
        "r2": 1.0 - float((errors**2).sum()) / spread if spread > 0 else None,
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
    }


def evaluate_regressor(
    record: ModelRecord,
    X: FloatArray,
    y: NDArray[np.generic],
    notes: list[str],
    *,
    model: Path,
    data: str,
    as_json: bool,
) -> None:
    """Compare a regressor's answers with the targets of a table."""
    if record.network.architecture.n_outputs > 1:
        raise UnsupportedFeatureError(
            f"{model} predicts {record.network.architecture.n_outputs} numbers and DATA has one "
            "target: use 'bdnn predict' and compare in Python."
        )
    for text in notes:
        note(text)
    report = {"rows": len(y), **errors_of(y, estimate(record, X)[:, 0])}
    if as_json:
        print_json({"model": str(model), "data": data, **report, "notes": notes})
        return
    print_pairs(
        [
            ("rows", str(report["rows"])),
            ("R2", number(report["r2"])),
            ("RMSE", number(report["rmse"])),
            ("MAE", number(report["mae"])),
        ]
    )


def number(value: float | None) -> str:
    """Write a number in four digits."""
    return "unknown" if value is None else f"{value:.4g}"
