"""What ``bdnn train`` says at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bdnn.cli.console import percent, print_pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn import BDNNClassifier
    from bdnn.datasets import Samples


def summarise(
    model: BDNNClassifier,
    samples: Samples,
    chosen: NDArray[np.intp],
    kept: NDArray[np.intp],
) -> dict[str, Any]:
    """Collect what is known of a trained model, measured on both parts of the samples."""
    result = model.result_
    X, y = samples.X, samples.y
    return {
        "network": str(model.network_.architecture),
        "status": result.status,
        "loss": float(result.loss),
        "objective": result.objective,
        "bound": float(result.bound),
        "gap": float(result.gap),
        "bound_origin": result.bound_origin,
        "method": result.method,
        "solver": result.solver,
        "seconds": float(result.seconds),
        "train_rows": len(chosen),
        "test_rows": len(kept),
        "train_accuracy": float(model.score(X[chosen], y[chosen])),
        "test_accuracy": float(model.score(X[kept], y[kept])) if len(kept) else None,
        "size_bits": int(model.network_.size_bits),
        "classes": model.classes_.tolist(),
        "message": result.message,
    }


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
    if summary["objective"] is None:
        return []
    return [("objective", f"{summary['objective']:g} (loss and prices, which the bound is about)")]


def print_summary(summary: dict[str, Any]) -> None:
    """Print a summary for people."""
    tested = f"{percent(summary['test_accuracy'])} of {summary['test_rows']} rows"
    solver = f", {summary['solver']}" if summary["solver"] else ""
    bits = summary["size_bits"]
    print_pairs(
        [
            ("network", summary["network"]),
            *_smallest_pairs(summary),
            ("status", summary["status"]),
            ("loss", f"{summary['loss']:g}"),
            *_objective_pairs(summary),
            ("bound", f"{summary['bound']:g} ({summary['bound_origin']})"),
            ("gap", percent(summary["gap"])),
            ("method", f"{summary['method']}{solver}"),
            ("time", f"{summary['seconds']:.2f} s"),
            (
                "train accuracy",
                f"{percent(summary['train_accuracy'])} of {summary['train_rows']} rows",
            ),
            ("test accuracy", tested if summary["test_rows"] else "not measured"),
            ("size", f"{bits} bits ({-(-bits // 8)} bytes)"),
            *([("message", summary["message"])] if summary["message"] else []),
            ("saved", summary["out"] or "no (give --out model.json)"),
        ]
    )
