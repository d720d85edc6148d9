"""How good a model is, as commands print it: figures with their spread, beside other models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from bdnn.cli.output import decimals, number, percent, print_pairs, print_table


def spread(value: float | None, error: float | None, write: Any = percent) -> str:
    """Write a figure with its standard error."""
    return write(value) if error is None else f"{write(value)} +- {write(error)}"


def print_assessment(found: Mapping[str, Any]) -> None:
    """Print what is known of rows that were not trained on."""
    figures, rows = found["figures"], found["figures"]["rows"]
    by = found["origin"]
    if by == "cross-validation":
        folds = f" of {found['folds']} networks" if found["folds"] > 1 else ""
        title = f"{rows} rows by cross-validation{folds}, each by a network that has not seen it"
    else:
        title = f"{rows} rows that were not trained on"
    typer.echo(f"\n{title}:")
    print_figures(figures)
    print_rivals(found)
    for text in found["warnings"]:
        typer.echo(f"warning: {text}")


def print_figures(figures: Mapping[str, Any]) -> None:
    """Print figures of classes or of numbers."""
    if "confusion" not in figures:
        pairs = [("R2", spread(figures["r2"], figures.get("error"), decimals))]
        print_pairs([*pairs, *((key.upper(), number(figures[key])) for key in ("rmse", "mae"))])
        return
    auc = None if figures["auc"] is None else spread(figures["auc"], figures["auc_error"], decimals)
    log_loss = None if figures["log_loss"] is None else number(figures["log_loss"])
    print_pairs(
        [
            ("accuracy", spread(figures["accuracy"], figures["error"])),
            ("AUC", auc),
            ("log loss", log_loss),
        ]
    )
    classes = figures["classes"]
    # Of a class that is never said there is no precision.
    said = [sum(counts) for counts in zip(*figures["confusion"], strict=True)]
    print_table(
        ["class", "precision", "recall", "F1", "rows"],
        [
            [
                str(entry["label"]),
                spread(entry["precision"], entry["precision_error"]) if n_said else "never said",
                spread(entry["recall"], entry["recall_error"]),
                percent(entry["f1"]),
                str(entry["rows"]),
            ]
            for entry, n_said in zip(classes, said, strict=True)
        ],
    )
    names = [str(entry["label"]) for entry in classes]
    print_table(
        ["true class \\ predicted", *names],
        [
            [name, *(str(count) for count in row)]
            for name, row in zip(names, figures["confusion"], strict=True)
        ],
    )


def print_rivals(found: Mapping[str, Any]) -> None:
    """Print other models on the same rows."""
    if not found["rivals"]:
        return
    figures = found["figures"]
    is_number = "confusion" not in figures
    ours = figures["r2"] if is_number else figures["accuracy"]
    own = ["this network", ours, figures["error"], figures.get("auc"), figures.get("auc_error")]
    lines: Sequence[Sequence[Any]] = [
        own,
        *(
            [rival[key] for key in ("name", "score", "error", "auc", "auc_error")]
            for rival in found["rivals"]
        ),
    ]
    print_table(
        ["on the same rows", "R2" if is_number else "accuracy", *([] if is_number else ["AUC"])],
        [
            [
                name,
                spread(score, error, decimals if is_number else percent),
                *([] if is_number else ["" if auc is None else spread(auc, auc_error, decimals)]),
            ]
            for name, score, error, auc, auc_error in lines
        ],
    )


def print_next(suggestions: Sequence[str]) -> None:
    """Print what to try."""
    for text in suggestions:
        typer.echo(f"next: {text}")
