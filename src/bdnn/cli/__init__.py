"""The command line: ``bdnn train``, ``predict``, ``evaluate``, ``info``, ``check``, ``export``, ...

Exit codes: 0 for success, 1 where the answer to a question is no, 2 for bad input, which is told in
one sentence on standard error.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import Annotated, cast

import typer

from bdnn.cli.commands.check import check
from bdnn.cli.commands.compare import compare
from bdnn.cli.commands.curve import curve
from bdnn.cli.commands.explain import explain
from bdnn.cli.commands.export import export
from bdnn.cli.commands.info import datasets, info, solvers
from bdnn.cli.commands.plot import plot
from bdnn.cli.commands.predict import evaluate, predict
from bdnn.cli.commands.report import report
from bdnn.cli.commands.reproduce import bench, reproduce
from bdnn.cli.commands.robustness import attack, certify
from bdnn.cli.commands.train import train
from bdnn.cli.output import error
from bdnn.cli.requests import as_ctrl_c, ignore
from bdnn.errors import BDNNError

__all__ = ["app", "main"]

_BAD_INPUT = 2
_INTERRUPTED = 130
_STDOUT = 1

# Typer uses the click that is installed or a copy of its own, depending on its version. The base
# class of its usage errors is reached through the one class that every version exports.
_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[2])

app = typer.Typer(
    name="bdnn",
    help="Train binarized neural networks by mixed-integer optimisation, with a proof of how good "
    "they are.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from bdnn import __version__

        typer.echo(f"bdnn {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True, epilog="Example: bdnn train iris --hidden 5 --out model.json"
)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _command, _example in (
    (train, "bdnn train breast-cancer --hidden 3 --weights ternary --out model.json"),
    (predict, "bdnn predict model.json new.csv --out predictions.csv"),
    (evaluate, "bdnn evaluate model.json test.csv --target class"),
    (info, "bdnn info model.json"),
    (explain, "bdnn explain model.json test.csv --row 3"),
    (report, "bdnn report model.json data.csv --out model.html"),
    (certify, "bdnn certify model.json test.csv --radius 0.1 --norm linf --exact"),
    (attack, "bdnn attack model.json test.csv --radius 0.1 --method random-sign"),
    (check, "bdnn check model.json breast-cancer"),
    (export, "bdnn export model.json --to c --out model.h"),
    (curve, "bdnn curve breast-cancer --budgets 512,1024,2048 --out curve.png"),
    (compare, "bdnn compare breast-cancer --seconds 30 --out compare.png"),
    (plot, "bdnn plot model.json breast-cancer --what regions --out regions.png"),
    (reproduce, "bdnn reproduce all --quick --out results"),
    (bench, "bdnn bench proof --out results"),
    (datasets, "bdnn datasets --json"),
    (solvers, "bdnn solvers"),
):
    app.command(epilog=f"Example: {_example}")(_command)


def main(
    arguments: Sequence[str] | None = None,  # those of the process if not given
) -> None:
    """Run the command line and exit."""
    with as_ctrl_c():
        code = _run(None if arguments is None else list(arguments))
        if arguments is None:
            ignore()
    if arguments is None and (threading.active_count() > 1 or code == _INTERRUPTED):
        # A compiler or solver that was left behind may take long to end, and crashes an interpreter
        # that ends without waiting. One that was interrupted within `exec`, as imports call it,
        # ends itself by a signal whatever its exit code is. All files are written by now.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _run(arguments: list[str] | None) -> int:
    try:
        code = app(arguments, standalone_mode=False)
        if code == _INTERRUPTED:  # what newer versions of typer make of Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit):
        # Whoever reads has had enough, as in `bdnn predict ... | head`, which typer turns into an
        # exit. Python must not try to write the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        return 0
    except BDNNError as problem:
        error(str(problem))
    except OSError as problem:
        error(f"{problem.filename or 'a file'}: {problem.strerror or problem}.")
    except _UsageError as problem:
        error(problem.format_message())
    except (KeyboardInterrupt, typer.Abort):
        error("interrupted, nothing was written.")
        return _INTERRUPTED
    return _BAD_INPUT
