"""What is measured of a model, and what ``bdnn train`` says at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bdnn.cli.console import number, percent, print_pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn import BDNNClassifier, BDNNRegressor
    from bdnn.datasets import Samples
    from bdnn.network.activation import FloatArray


# What a regressor settles by itself.
_SETTLED = ("ridge", "smoothing")


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


def summarise(
    model: BDNNClassifier | BDNNRegressor,
    samples: Samples,
    chosen: NDArray[np.intp],
    kept: NDArray[np.intp],
) -> dict[str, Any]:
    """Collect what is known of a trained model, measured on both parts of the samples."""
    result = model.result_
    classes = getattr(model, "classes_", None)
    measure = "r2" if classes is None else "accuracy"

    def measured(rows: NDArray[np.intp]) -> float | None:
        if not len(rows):
            return None
        predicted, y = model.predict(samples.X[rows]), samples.y[rows]
        return errors_of(y, predicted)["r2"] if classes is None else float((predicted == y).mean())

    return {
        "network": str(model.network_.architecture),
        "status": result.status,
        "loss": float(result.loss),
        "bound": float(result.bound),
        "gap": float(result.gap),
        "bound_origin": result.bound_origin,
        "objective": result.objective,
        **{name: getattr(model, f"{name}_") for name in _SETTLED if hasattr(model, f"{name}_")},
        **({} if classes is None else {"classes": classes.tolist()}),
        "method": result.method,
        "solver": result.solver,
        "seconds": float(result.seconds),
        "train_rows": len(chosen),
        "test_rows": len(kept),
        f"train_{measure}": measured(chosen),
        f"test_{measure}": measured(kept),
        "size_bits": int(model.network_.size_bits),
        "message": result.message,
    }


def print_summary(summary: dict[str, Any]) -> None:
    """Print a summary for people."""
    bits = summary["size_bits"]
    pairs = [
        ("network", summary["network"]),
        *_smallest_pairs(summary),
        ("status", summary["status"]),
        ("loss", f"{summary['loss']:g}"),
        *_objective_pairs(summary),
        ("bound", f"{summary['bound']:g} ({summary['bound_origin']})"),
        ("gap", percent(summary["gap"])),
        *((name, f"{summary[name]:g}") for name in _SETTLED if name in summary),
        ("method", summary["method"] + (f", {summary['solver']}" if summary["solver"] else "")),
        ("time", f"{summary['seconds']:.2f} s"),
        *_measured_pairs(summary),
        ("size", f"{bits} bits ({-(-bits // 8)} bytes)"),
        *([("message", summary["message"])] if summary["message"] else []),
        ("saved", summary["out"] or "no (give --out model.json)"),
    ]
    print_pairs(pairs)


def _measured_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Accuracy or R2, of the rows trained on and of the others."""
    pairs = []
    for part in ("train", "test"):
        rows = summary[f"{part}_rows"]
        if f"{part}_r2" in summary:
            measure, told = "R2", f"{number(summary[f'{part}_r2'])} on {rows} rows"
        else:
            measure, told = "accuracy", f"{percent(summary[f'{part}_accuracy'])} of {rows} rows"
        pairs.append((f"{part} {measure}", told if rows else "not measured"))
    return pairs


def _smallest_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What was found out about narrower networks, if that was asked."""
    if "width" not in summary:
        return []
    width, ruled_out = summary["width"], summary["insufficient_width"]
    if ruled_out == width - 1:
        proof = "proven to be the smallest"
    else:
        proof = f"proven insufficient: {ruled_out}" if ruled_out else "no width is ruled out"
    return [("smallest width", f"{width} ({proof})")]


def _objective_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What was minimised, where that is more than the loss."""
    if summary.get("objective") is None:
        return []
    return [("objective", f"{summary['objective']:g} (loss and prices, which the bound is about)")]
