"""Codes of tables for an encoder that is known, with notes on what was not as in training."""

from __future__ import annotations

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.encoding.table import Table, list_names, list_rows
from bdnn.errors import DataError
from bdnn.limits import LARGEST_INPUT
from bdnn.network.activation import FloatArray


def read_codes(
    encoder: Encoder,
    table: Table,  # columns may be in another order and among others if they have names
    target: int | None = None,  # where the target stands, or stood in training: it is no input
) -> tuple[FloatArray, list[str]]:
    """Codes of a table.

    Also returns ``notes``, what was left aside or assumed. Raises DataError if a column or a value
    is not as it was learned.
    """
    places, notes = _match(encoder, table, target)
    pairs = list(zip(encoder.columns, places, strict=True))
    codes = np.column_stack([column.codes(table, place) for column, place in pairs])
    for j, (column, place) in enumerate(pairs):
        is_new = codes[:, j] == -1
        if column.kind != "category" or not is_new.any():
            continue
        example = table.texts(place)[int(np.argmax(is_new))]
        what = (
            f"column {table.names[place]!r} of {table.source} holds {example!r} in "
            f"{list_rows(is_new)}, which did not occur in training"
        )
        if encoder.unknown == "error":
            raise DataError(f"{what}: use one of {list_names(column.values)}.")
        notes.append(
            f"column {table.names[place]!r} holds {int(is_new.sum())} values that were not "
            f"learned, such as {example!r}: they count as none of the known ones"
        )
    return codes, [*table.notes, *notes, *note_gaps(encoder, codes, table.source)]


def check_codes(codes: FloatArray) -> bool:
    """Refuse what is no number of ordinary size, and tell whether no cell is missing."""
    # Comparisons with NaN are false, so that one look at the extremes settles the usual case.
    if codes.size and max(-codes.min(), codes.max()) <= LARGEST_INPUT:
        return True
    for is_bad, what in (
        (np.isinf(codes), "inf"),
        (np.abs(codes) > LARGEST_INPUT, f"a value beyond {LARGEST_INPUT:g}"),
    ):
        if is_bad.any():
            row, column = np.argwhere(is_bad)[0]
            raise DataError(
                f"X must hold finite numbers of ordinary size, got {what} in row {row + 1}, "
                f"column {column + 1}: remove, fill or rescale it."
            )
    return False


def note_gaps(encoder: Encoder, codes: FloatArray, source: str = "X") -> list[str]:
    """Tell of missing values in columns that had none in training; refuse what must not be."""
    gaps = np.isnan(codes)
    notes = []
    for j in np.flatnonzero(gaps.any(axis=0)).tolist():
        column, count = encoder.columns[j], int(gaps[:, j].sum())
        if column.missing == "error" or column.fill is None:
            raise DataError(
                f"column {column.name!r} of {source} has no value in {list_rows(gaps[:, j])}: "
                "remove these rows, or train with missing='auto' (--missing auto)."
            )
        if column.missing == "none":
            notes.append(
                f"filled {count} missing values of column {column.name!r}, which had none in "
                f"training, with {column.fill!r}"
            )
    return notes


def _match(encoder: Encoder, table: Table, target: int | None) -> tuple[list[int], list[str]]:
    """Find the columns in a table, by name if both sides have names, else by place."""
    wanted = [column.name for column in encoder.columns]
    if encoder.header and table.header:
        lost = [name for name in wanted if name not in table.names]
        if lost:
            what, them = ("columns", "them") if len(lost) > 1 else ("column", "it")
            raise DataError(
                f"{table.source} lacks the {what} {list_names(lost)} that the model needs: "
                f"add {them} (there is {list_names(table.names)})."
            )
        known = wanted if target is None else [*wanted, *table.names[target : target + 1]]
        extra = [name for name in table.names if name not in known]
        note = f"took no input from the column{'s' * (len(extra) > 1)} {list_names(extra)}"
        return [table.names.index(name) for name in wanted], [note] if extra else []
    places = list(range(table.n_columns))
    notes = []
    if table.n_columns == len(wanted) + 1 and target is not None:
        places.remove(target)
        notes.append(f"column {target + 1} is left out, as the place of the target in training")
    elif not (encoder.header or table.header) and set(wanted) <= set(table.names):
        places = [table.names.index(name) for name in wanted]  # which tell the places
    elif table.n_columns != len(wanted):
        raise DataError(
            f"{table.source} has {table.n_columns} columns where the model needs "
            f"{len(wanted)}: give the same columns as in training."
        )
    if encoder.header != table.header:
        notes.append("took the columns by their place, for want of names to compare")
    return places, notes
