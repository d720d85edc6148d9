"""``bdnn export``: a model in another language, or in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from bdnn.cli.options import option, options
from bdnn.cli.options.data import ModelFile, Table
from bdnn.cli.output import Output, print_pairs
from bdnn.errors import ModelError
from bdnn.files import check_writable, write_whole

if TYPE_CHECKING:
    from bdnn.export.c import CExport
    from bdnn.model import Model

_FORMATS = {
    **{"c": ".h", "onnx": ".onnx", "sql": ".sql", "js": ".js", "xlsx": ".xlsx"},
    **{"rules": ".txt", "table": ".table.txt", "html": ".html"},
}
_DIFFERENT = 1


@options
def export(
    file: ModelFile,
    output: Output,
    to: str = option(
        "c, onnx, sql, js, xlsx (a spreadsheet); or in words: rules, table (of decisions), html.",
        "c",
    ),
    name: str | None = option(
        "C: before every name; sql: the table, else 'data'; js: the function, else 'predict'.",
        shown="that of the file",
    ),
    input_: str = option(
        "C: type of the inputs: auto, uint8, int8, uint16, int16, int32, double, float; or scaled: "
        "multiples of the scaler's step.",
        "auto",
        "--input",
    ),
    per_unit: str | None = option(
        "C: counts per unit of integer inputs, as 10 for tenths; or data: as found there.",
        shown="1",
    ),
    range_: str | None = option(
        "C: range of integer inputs; or data: that of the training data.",
        None,
        "--range",
        metavar="LOW:HIGH",
        shown="all of the type",
    ),
    optimise: str = option("C: size or speed.", "size"),
    labels: bool = option("C: add a table of the class labels.", False),
    probabilities: bool = option(
        "C: add a function that writes the weights of all classes, over their sum the "
        "probabilities.",
        False,
    ),
    self_test: int = option("C: add so many test vectors.", 0, metavar="N"),
    main: bool = option("C: add a main that runs the test vectors.", False),
    csv_main: bool = option(
        "C: add an encoder of texts, and a main that reads rows of a CSV file and prints answers.",
        False,
    ),
    rows: str | None = option(
        "C: a CSV file whose rows are the test vectors.", metavar="DATA", shown="random ones"
    ),
    verify: int = option(
        "C, ONNX: run beside Python on N random, boundary and extreme inputs each.",
        0,
        metavar="N",
    ),
) -> None:
    """Write a model for a device or another runtime, beside the model if --out is not given.

    C is one C99 header without allocation or dependencies whose every answer equals Python's; with
    integer weights and inputs it has no floating point.
    """
    from bdnn.model_file import read_model

    if to not in _FORMATS:
        raise ModelError(f"--to must be {', '.join(_FORMATS)}, got {to!r}: choose one of these.")
    model, target = file.model, output.out or file.model.with_suffix(_FORMATS[to])
    if target == model or (target.exists() and model.exists() and target.samefile(model)):
        raise ModelError(f"{target} is the model itself: give another --out.")
    check_writable(target)
    record = read_model(model)
    facts: dict[str, Any] = {"model": str(model), "to": to, "out": str(target)}
    if to == "c":
        from bdnn.cli.source import model_features
        from bdnn.export.c import export_c
        from bdnn.export.c.text import make_name

        header = export_c(
            record.model,
            data=record.certificate.get("data"),
            name=name or make_name(target.stem),
            input=input_,
            per_unit=_count(per_unit),
            limits=_range(range_),
            class_names=labels,
            probabilities=probabilities,
            tests=self_test,
            main="csv" if csv_main else main,
            rows=None if rows is None else model_features(record, Table(rows))[0],
            optimise=optimise,
        )
        facts |= _measure(record.model, header, verify)
        write_whole(target, header.text)
    elif to == "onnx":
        from bdnn.export.onnx import differences, to_onnx

        content = to_onnx(record.model)
        facts["bytes"] = len(content)
        if verify:
            facts["differences"] = differences(record.model, content, verify)
        write_whole(target, content)
    else:
        if verify:
            raise ModelError(f"--verify is for c and onnx, got --to {to}: leave it out.")
        write_whole(target, _written(record.model, to, name))
    pairs = [(key.replace("_", " "), str(value)) for key, value in facts.items()]
    output.show(facts, lambda: print_pairs(pairs))
    if facts.get("differences"):
        raise typer.Exit(_DIFFERENT)


def _written(model: Model, to: str, name: str | None) -> str | bytes:
    """The model in a language that is not run here, or in words."""
    if to == "sql":
        from bdnn.export.sql import to_sql

        return to_sql(model, name or "data")
    if to == "js":
        from bdnn.export.javascript import to_javascript

        return to_javascript(model, name or "predict")
    if to == "xlsx":
        from bdnn.export.spreadsheet import to_spreadsheet

        return to_spreadsheet(model)
    from bdnn.export.rules import to_rules

    return to_rules(model, {"rules": "text"}.get(to, to)) + "\n"


def _measure(model: Model, header: CExport, verify: int) -> dict[str, Any]:
    """What is known of a header: inputs, arithmetic, size, differences from Python."""
    from bdnn.export.c.compiler import count_differences, measure

    size = measure(header)
    facts: dict[str, Any] = {
        "function": header.signature,
        "arithmetic": ("integers only" if header.is_integer else "integers and doubles")
        + ("" if header.has_products else ", no multiplication"),
        "flash_bytes": header.flash_estimate if size is None else size.flash,
        "stack_bytes": header.stack if size is None else size.stack,
        "measured": "estimated, for want of a compiler" if size is None else size.target,
    }
    if verify:
        facts["differences"] = count_differences(model, header, verify)
        facts["compared_inputs"] = f"{verify} random, {verify} boundary, {verify} extreme"
    return facts


def _count(text: str | None) -> int | str | None:
    if text is None or text == "data":
        return text
    if not text.isdigit():
        raise ModelError(f"--per-unit must be a number or data, got {text!r}: give for example 10.")
    return int(text)


def _range(text: str | None) -> tuple[int, int] | str | None:
    if text is None or text == "data":
        return text
    try:
        low, high = (int(part) for part in text.split(":"))
    except ValueError:
        raise ModelError(
            f"--range must be LOW:HIGH or data, got {text!r}: give for example 0:255."
        ) from None
    return low, high
