"""Keys in C: small integers that each say what several bits are.

A key is a place in a table of what its bits add to all units of a layer, so that one addition of
rows, which compilers make one of vectors, does for many bits at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bdnn.encoding import Bit, Encoder
from bdnn.export.c.text import Code, constants, integer, size_of, table
from bdnn.export.inputs import InputFormat
from bdnn.network.activation import BoolArray

# Bits of a key of bits; with more of them tables outgrow the first cache of a processor.
_BITS = 4
#: Bytes of a vector.
VECTOR = 16


@dataclass(frozen=True)
class Keys:
    """What stands for several bits each.

    Attributes
    ----------
    names : sequence of str
        Expressions in C.
    places : sequence of sequences of int
        Which bits every key speaks of.
    patterns : sequence of arrays of shape (n_values, n_bits)
        What these bits are for every value of the key.
    """

    names: Sequence[str]
    places: Sequence[Sequence[int]]
    patterns: Sequence[BoolArray]


def keys_of_words(code: Code, words: str, n_bits: int) -> Keys:
    """Write keys of neighbouring bits, which stand in a word or in an array of words."""
    name, n_keys = f"k{words.removeprefix('h')}", -(-n_bits // _BITS)
    per_word = 32 // _BITS
    word = f"{words}[i / {per_word}] >> i % {per_word}" if n_bits > 32 else f"{words} >> i"
    _declare(code, "uint8_t", name, n_keys)
    code.add(
        f"for (i = 0; i < {n_keys}; ++i)",
        f"    {name}[i] = (uint8_t)({word} * {_BITS} & {(1 << _BITS) - 1}u);",
    )
    return _of_digits(name, _neighbours(n_bits))


def keys_of_tests(code: Code, tests: Sequence[str], name: str) -> Keys:
    """Write keys of units that have an expression each, neighbouring ones together."""
    groups = _neighbours(len(tests))
    _declare(code, "uint8_t", name, len(groups))
    for place, group in enumerate(groups):
        code.add(f"{name}[{place}] = (uint8_t)({_joined([f'({tests[i]})' for i in group])});")
    return _of_digits(name, groups)


def keys_of_signs(code: Code, sums: tuple[str, str, int], n_units: int, name: str) -> Keys:
    """Write keys of units that are on where a sum is not negative.

    Sums are an array, its type and its length, which may be more than there are units. Units of a
    key stand as far apart as there are keys: keys are made side by side, and are as wide as sums.
    """
    array, kind, length = sums
    n_keys = length // _BITS
    tests = [f"({array}[i{f' + {b * n_keys}' if b else ''}] >= 0)" for b in range(_BITS)]
    _declare(code, f"u{kind}", name, n_keys)
    code.add(
        f"for (i = 0; i < {n_keys}; ++i)",
        f"    {name}[i] = (u{kind})({_joined(tests)});",
    )
    return _of_digits(name, [range(first, n_units, n_keys) for first in range(n_keys)])


def _declare(code: Code, kind: str, name: str, length: int) -> None:
    """Declare an array that a loop over ``i`` fills."""
    code.counters.add("i")
    code.stack += size_of(kind) * length
    code.add(f"{kind} {name}[{length}];")


def _neighbours(n_bits: int) -> list[range]:
    return [range(i, min(i + _BITS, n_bits)) for i in range(0, n_bits, _BITS)]


def _joined(parts: Sequence[str]) -> str:
    """Truth values as the digits of a number."""
    return " | ".join(f"{part} << {b}" if b else part for b, part in enumerate(parts))


def _of_digits(name: str, groups: Sequence[Sequence[int]]) -> Keys:
    """Keys whose binary digits are bits; other digits may be there too where no unit is."""
    patterns = [
        (np.arange(1 << len(group))[:, None] >> np.arange(len(group)) & 1).astype(bool)
        for group in groups
    ]
    return Keys([f"{name}[{i}]" for i in range(len(groups))], groups, patterns)


@dataclass(frozen=True)
class _Column:
    """What bits are between the least inputs that change one, and last without a value, if so."""

    changes: list[int]
    patterns: BoolArray


def keys_of_columns(
    code: Code,
    encoder: Encoder,
    bits: Sequence[Bit],
    inputs: InputFormat,
    cuts: Mapping[Bit, float],
) -> Keys:
    """Write a key for every column of integers: how many changes of its bits are not above it.

    Changes stand in rows with one for each column, so that columns are compared side by side.
    ``cuts`` are the least inputs that reach one.
    """
    used = sorted({bit.column for bit in bits})
    own = {j: [i for i, bit in enumerate(bits) if bit.column == j] for j in used}
    found = {j: _column(encoder, [bits[i] for i in own[j]], inputs, cuts) for j in used}
    if inputs.missing is None and not any(column.changes for column in found.values()):
        return Keys(["0"] * len(used), [own[j] for j in used], [found[j].patterns for j in used])
    # To compare columns that nothing looks at takes less than to pick the others, up to some point.
    chosen = list(range(encoder.n_columns)) if 2 * len(used) >= encoder.n_columns else used
    size = size_of(inputs.c_type)
    length = -(-len(chosen) * size // VECTOR) * VECTOR // size
    given = _write_inputs(code, encoder, chosen, inputs, length)
    n_values = max(len(column.patterns) for column in found.values())
    kind = f"uint{8 * size}_t" if n_values <= 256 else "uint16_t"
    _declare(code, kind, "k0", length)
    none = _Column([], np.zeros((1, 0), dtype=bool))
    columns = [found.get(j, none) for j in chosen]
    _write_counts(code, [column.changes for column in columns], inputs, given, kind, length)
    if inputs.missing is not None:
        gaps = [len(column.patterns) - 1 for column in columns]
        code.tables += constants("GAP", gaps + [0] * (length - len(gaps)))
        missing = f"{given}[i] == {code.prefix.upper()}_MISSING"
        code.add(f"for (i = 0; i < {length}; ++i)", f"    k0[i] = {missing} ? GAP[i] : k0[i];")
    names = [f"k0[{chosen.index(j)}]" for j in used]
    return Keys(names, [own[j] for j in used], [found[j].patterns for j in used])


def _column(
    encoder: Encoder, bits: Sequence[Bit], inputs: InputFormat, cuts: Mapping[Bit, float]
) -> _Column:
    j = bits[0].column
    column, (low, high) = encoder.columns[j], inputs.ranges[j]
    codes = {bit: column.values.index(str(bit.value)) for bit in bits if bit.kind == "is"}
    ends = {int(cuts[bit]) for bit in bits if bit.kind == "ge"}
    ends |= {end for at in codes.values() for end in (at, at + 1)}

    def is_on(bit: Bit, value: float) -> bool:
        if bit.kind == "is":
            return value == codes[bit]
        return bit.kind == "ge" and value >= cuts[bit]

    changes: list[int] = []
    patterns = [[is_on(bit, low) for bit in bits]]
    for end in sorted(end for end in ends if low < end <= high):
        pattern = [is_on(bit, end) for bit in bits]
        if pattern != patterns[-1]:
            changes.append(end)
            patterns.append(pattern)
    if inputs.missing is None:
        return _Column(changes, np.array(patterns))
    # Raw values decide what a fill reaches, as no input may be equal to it.
    fill = np.nan if column.missing == "bit" else column.filling
    patterns.append(
        [
            bit.kind == "missing"
            or (fill == codes[bit] if bit in codes else fill >= float(bit.value or 0.0))
            for bit in bits
        ]
    )
    return _Column(changes, np.array(patterns))


def _write_inputs(
    code: Code, encoder: Encoder, chosen: list[int], inputs: InputFormat, length: int
) -> str:
    """Copy the inputs of columns where they are not all, or no whole vectors."""
    if len(chosen) == encoder.n_columns == length:
        return "x"
    place = "i"
    if len(chosen) < encoder.n_columns:
        code.tables += constants("COLUMN", chosen)
        place = "COLUMN[i]"
    code.counters.add("i")
    code.stack += size_of(inputs.c_type) * length
    code.add(
        f"{inputs.c_type} v[{length}] = {{0}};",
        f"for (i = 0; i < {len(chosen)}; ++i)",
        f"    v[i] = x[{place}];",
    )
    return "v"


def _write_counts(
    code: Code, changes: list[list[int]], inputs: InputFormat, given: str, kind: str, length: int
) -> None:
    """Write how many changes are not above the inputs, of a vector of columns at a time.

    That is the number of the last one. To add up comparisons would say it too, and is what gcc 12
    makes wrong code of where it vectorises.
    """
    most = max(map(len, changes))
    # Inputs are compared with the largest one below a change; none is above the largest of all.
    none = inputs.ranges[0][1]
    rows = [
        [integer(own[level] - 1 if level < len(own) else none) for own in changes]
        + [integer(none)] * (length - len(changes))
        for level in range(most)
    ]
    if rows:
        code.tables += table("BELOW", inputs.c_type, rows)
    lanes = VECTOR // size_of(inputs.c_type)
    code.counters.add("j")
    code.add(
        f"for (j = 0; j < {length}; j += {lanes}) {{",
        f"    {kind} k[{lanes}] = {{0}};",
    )
    for level in range(most):
        code.add(
            f"    for (i = 0; i < {lanes}; ++i)",
            f"        k[i] = {given}[j + i] > BELOW[{level}][j + i] ? {level + 1} : k[i];",
        )
    code.add(f"    for (i = 0; i < {lanes}; ++i)", "        k0[j + i] = k[i];", "}")
