"""``bdnn train``: train a network on a table and save it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bdnn.cli import constraints as asked
from bdnn.cli.console import note, print_json
from bdnn.cli.method import configured_method
from bdnn.cli.options import DataArgument, HeaderOption, JsonOption, TargetOption
from bdnn.cli.summary import print_summary, summarise
from bdnn.errors import DataError, ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn import BDNNClassifier, BDNNRegressor
    from bdnn.datasets import Samples


def train(
    data: DataArgument,
    target: TargetOption = None,
    hidden: Annotated[
        list[str] | None,
        typer.Option(
            help="Width of a hidden layer, once per layer; or all as in 50,50; or none.",
            show_default="25",
        ),
    ] = None,
    weights: Annotated[
        str,
        typer.Option(
            help="continuous, ternary, binary or int:P; one for all layers, or one per layer as in "
            "int:3,ternary."
        ),
    ] = "ternary",
    thresholds: Annotated[str, typer.Option(help="neuron, layer or zero.")] = "neuron",
    ties: Annotated[str, typer.Option(help="score or first.")] = "score",
    activation: Annotated[
        str,
        typer.Option(
            help="step, sign, ternary, levels:N or values:V/V/...; one for all hidden layers, or "
            "one per hidden layer as in ternary,step."
        ),
    ] = "step",
    method: Annotated[
        str | None,
        typer.Option(
            help="auto, exact, descent, gradients, local_search or data_splitting.",
            show_default="the estimator's",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Of data_splitting.", show_default="20")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Of data_splitting.", show_default="64")
    ] = None,
    starts: Annotated[int | None, typer.Option(help="Of local_search.", show_default="4")] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="local_search or data_splitting as the paper has them.")
    ] = False,
    validation: Annotated[
        float, typer.Option(help="Share of the training rows kept aside to choose by.")
    ] = 0.0,
    robust_radius: Annotated[
        float | None,
        typer.Option(help="Train for balls of this radius around the scaled training rows."),
    ] = None,
    robust_norm: Annotated[str, typer.Option(help="linf, l1 or l2.")] = "linf",
    robust_loss: Annotated[
        str,
        typer.Option(
            help="certified: classes hold; average: random noise of that size; pattern: "
            "first-layer activations hold."
        ),
    ] = "certified",
    max_weights: asked.MaxWeights = None,
    max_weights_per_unit: asked.MaxWeightsPerUnit = None,
    max_features: asked.MaxFeatures = None,
    max_units: asked.MaxUnits = None,
    weight_price: asked.WeightPrice = 0.0,
    l1: asked.L1 = 0.0,
    l2: asked.L2 = 0.0,
    forbid: asked.ForbidFeatures = None,
    monotone: asked.MonotoneFeatures = None,
    parity: asked.Parity = None,
    opportunity: asked.Opportunity = None,
    solver: Annotated[str, typer.Option(help="auto, or one of 'bdnn solvers'.")] = "auto",
    scale: Annotated[
        str,
        typer.Option(
            help="auto (for regression the same as standard), standard, common, minmax or none."
        ),
    ] = "auto",
    time_limit: Annotated[float, typer.Option(help="Seconds.")] = 60.0,
    gap: Annotated[float, typer.Option(help="Relative gap that is good enough.")] = 0.0,
    loss_limit: Annotated[
        float | None, typer.Option(help="Loss that is good enough.", show_default="none")
    ] = None,
    node_limit: Annotated[
        int | None,
        typer.Option(help="Branch-and-bound nodes of the solver.", show_default="none"),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help="Train on the first so many rows and test on the others.", show_default="all"
        ),
    ] = None,
    test_size: Annotated[
        float,
        typer.Option(help="Share of every class to test on, 0 for no test; see also --rows."),
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Of the test rows and of the training.")] = 0,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced: every class counts the same.", show_default="none")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Threads of the solver; -1 for all cores.")] = 1,
    missing: Annotated[
        str | None,
        typer.Option(
            help="Fill missing values by mean, median or most-frequent.", show_default="refused"
        ),
    ] = None,
    smallest: Annotated[
        bool,
        typer.Option(
            "--smallest", help="Find the narrowest hidden layer that reaches --max-error."
        ),
    ] = False,
    max_error: Annotated[
        float | None,
        typer.Option(help="Share of training rows whose outputs may be wrong with --smallest."),
    ] = None,
    regression: Annotated[
        bool,
        typer.Option(
            "--regression", help="Predict a number: identity outputs, a distance as loss."
        ),
    ] = False,
    loss: Annotated[
        str | None,
        typer.Option(help="squared or absolute, of --regression.", show_default="squared"),
    ] = None,
    ridge: Annotated[
        str | None,
        typer.Option(help="Penalty on output weights, of --regression.", show_default="auto"),
    ] = None,
    smoothing: Annotated[
        str | None,
        typer.Option(help="Part of the noise taken off, of --regression.", show_default="auto"),
    ] = None,
    header: HeaderOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to save.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")] = False,
) -> None:
    """Train a binarized network and say how far from optimal it is.

    DATA is a CSV file (separator , ; or tab, with or without header) or a built-in data set. Text
    columns are one-hot encoded. Ctrl-C ends training and keeps the best network so far.
    """
    from bdnn.cli.output import check_writable
    from bdnn.cli.regression import (
        parse_amount,
        refuse_classifier_options,
        refuse_regressor_options,
        report_training,
    )
    from bdnn.cli.smallest import fit_smallest
    from bdnn.cli.source import training_samples

    _check_numbers(seed=seed, jobs=jobs)
    widths = _parse_hidden(hidden or ["50" if regression else "25"])
    if regression:
        refuse_classifier_options(
            ties=(ties, "score"),
            validation=(validation, 0.0),
            robust_radius=(robust_radius, None),
            robust_norm=(robust_norm, "linf"),
            robust_loss=(robust_loss, "certified"),
            class_weight=(class_weight, None),
            smallest=(smallest, False),
            max_error=(max_error, None),
        )
    else:
        refuse_regressor_options(loss=loss, ridge=ridge, smoothing=smoothing)
    chosen_method = configured_method(
        method, epochs=epochs, batch_size=batch_size, starts=starts, paper=paper
    )
    if smallest and hidden:
        raise ModelError("--smallest looks for the width itself, got --hidden too: leave one out.")
    if max_error is not None and not smallest:
        raise ModelError(
            "--max-error is for --smallest, which was not given: add it or leave both."
        )
    if robust_radius is None and (robust_norm, robust_loss) != ("linf", "certified"):
        raise ModelError(
            "--robust-norm and --robust-loss are for --robust-radius, which was not given: add it "
            "or leave them out."
        )
    constraints = asked.constraint_options(
        regression=regression,
        max_weights=max_weights,
        max_weights_per_unit=max_weights_per_unit,
        max_features=max_features,
        max_units=max_units,
        weight_price=weight_price,
        l1=l1,
        l2=l2,
        forbid=forbid,
        monotone=monotone,
        parity=parity,
        opportunity=opportunity,
    )
    if out is not None:
        check_writable(out)
    samples = training_samples(
        data, target=target, missing=missing, header=header, regression=regression
    )
    chosen, kept = _split(samples, rows=rows, test_size=test_size, seed=seed, regression=regression)
    _tell(samples.notes, quiet=quiet)
    options: dict[str, Any] = {} if chosen_method is None else {"method": chosen_method}
    from bdnn import BDNNClassifier, BDNNRegressor

    if regression:
        regressor = BDNNRegressor(
            hidden=widths,
            weights=weights.split(",") if "," in weights else weights,
            thresholds=thresholds,
            activation=activation.split(",") if "," in activation else activation,
            loss=loss or "squared",
            ridge=parse_amount("ridge", ridge),
            smoothing=parse_amount("smoothing", smoothing),
            solver=solver,
            scale={"none": None, "auto": "standard"}.get(scale, scale),
            time_limit=time_limit,
            mip_gap=gap,
            loss_limit=loss_limit,
            node_limit=node_limit,
            random_state=seed,
            n_jobs=jobs,
            **constraints,
            **options,
        )
        warned = _fit(regressor, samples, chosen, quiet=quiet)
        _tell(warned, quiet=quiet)
        report_training(
            regressor, samples, chosen, kept, data=data, out=out, warned=warned, as_json=as_json
        )
        return
    model = BDNNClassifier(
        hidden=widths,
        weights=weights.split(",") if "," in weights else weights,
        thresholds=thresholds,
        ties=ties,
        activation=activation.split(",") if "," in activation else activation,
        solver=solver,
        scale=None if scale == "none" else scale,
        time_limit=time_limit,
        mip_gap=gap,
        loss_limit=loss_limit,
        node_limit=node_limit,
        class_weight=None if class_weight == "none" else _check_class_weight(class_weight),
        validation_fraction=validation,
        robust_radius=robust_radius,
        robust_norm=robust_norm,
        robust_loss=robust_loss,
        random_state=seed,
        n_jobs=jobs,
        **constraints,
        **options,
    )
    widths_tried: dict[str, Any] = {}
    if smallest:
        model, widths_tried = fit_smallest(model, samples, chosen, max_error or 0.0, quiet=quiet)
        warned = []
    else:
        warned = _fit(model, samples, chosen, quiet=quiet)
    _tell(warned, quiet=quiet)
    summary = summarise(model, samples, chosen, kept) | widths_tried
    if out is not None:
        from bdnn.export.certificate import format_rows

        table, used = samples.encoding.to_dict(), format_rows(chosen)
        model.save(out, extra={"table": table, "data": data, "rows": used})
    summary |= {"out": None if out is None else str(out), "notes": [*samples.notes, *warned]}
    if as_json:
        print_json(summary)
    else:
        print_summary(summary)


def _tell(notes: Iterable[str], *, quiet: bool) -> None:
    for text in () if quiet else notes:
        note(text)


def _parse_hidden(values: list[str]) -> tuple[int, ...]:
    words = [word.strip() for value in values for word in value.split(",")]
    if words == ["none"]:
        return ()
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        raise ModelError(
            f"--hidden must be whole numbers, got {', '.join(values)!r}: give for example 25 or "
            "50,50."
        ) from None


def _check_class_weight(value: str | None) -> str | None:
    if value not in (None, "balanced"):
        raise ModelError(f"--class-weight must be balanced or none, got {value!r}: choose one.")
    return value


def _check_numbers(*, seed: int, jobs: int) -> None:
    if not 0 <= seed < 2**32:
        raise ModelError(f"--seed must be from 0 to {2**32 - 1}, got {seed}: give such a number.")
    if jobs == 0:
        raise ModelError("--jobs must be 1 or more, or -1 for all cores, got 0: give one of these.")


def _split(
    samples: Samples, *, rows: int | None, test_size: float, seed: int, regression: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose the rows to train on and those to test on."""
    import numpy as np

    from bdnn.datasets.holdout import split_holdout
    from bdnn.datasets.tables.samples import check_classes

    strata = np.zeros(len(samples.y)) if regression else samples.y
    chosen, kept = split_holdout(strata, test_size, seed)
    if rows is not None:
        n_rows = len(samples.y)
        if not 2 <= rows <= n_rows:
            raise DataError(
                f"--rows must be from 2 to {n_rows}, the number of rows, got {rows}: give "
                "such a number or leave it out."
            )
        chosen = np.arange(rows)
        kept = np.arange(rows, n_rows if test_size else rows)
    if not regression:
        check_classes(samples.y[chosen], "the training part")
    return chosen, kept


def _fit(
    model: BDNNClassifier | BDNNRegressor,
    samples: Samples,
    chosen: NDArray[np.intp],
    *,
    quiet: bool,
) -> list[str]:
    """Train with a display of the progress, and return what training warned of."""
    from bdnn.cli.progress import ProgressDisplay

    display = None if quiet else ProgressDisplay(model.time_limit)
    model.set_params(callback=display)
    with _convergence_warnings() as messages, display or nullcontext():
        model.fit(
            samples.X[chosen], samples.y[chosen], feature_names=samples.encoding.feature_names
        )
    model.set_params(callback=None)
    return messages


@contextmanager
def _convergence_warnings() -> Iterator[list[str]]:
    """Collect the warnings that a limit was reached; they are no fault of the program."""
    from sklearn.exceptions import ConvergenceWarning

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
