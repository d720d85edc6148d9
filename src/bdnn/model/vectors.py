"""Instructions on vectors that numba has no names for, and that compilers do not find by loops."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

#: Rows and columns of a block of :func:`turn`.
TILE = 8
#: Bytes of :func:`copy`, and cells of a mask.
WIDTH = 64

_LANE = ir.IntType(32)
_WORD = ir.IntType(64)


def _pointer(target: Any, builder: Any, given: Any, place: Any, vector: Any) -> Any:
    """Where a vector begins in an array, as if that had one axis."""
    kind, value = given
    data = target.make_array(kind)(target, builder, value).data
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def turn(
    context: Any, cells: Any, first: Any, n_columns: Any, lines: Any, to: Any, length: Any
) -> Any:
    """Write eight doubles of eight rows as eight doubles of eight lines.

    Rows are ``cells[first + n_columns * r]`` and on, lines ``lines[to + length * q]`` and on.
    """

    def generate(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), TILE)
        given = list(zip(signature.args, values, strict=True))

        def line(array: int, i: int) -> Any:
            place, step = values[array + 1], values[array + 2]
            place = builder.add(place, builder.mul(step, ir.Constant(step.type, i)))
            return _pointer(target, builder, given[array], place, vector)

        def mixed(a: Any, b: Any, size: int, half: int) -> Any:
            """From both in turns runs of ``size`` cells, lower or upper halves of their pairs."""
            starts = range(half * size, TILE, 2 * size)
            places = [i + k for i in starts for side in (0, TILE) for k in range(side, side + size)]
            order = ir.Constant(ir.VectorType(_LANE, TILE), places)
            return builder.shuffle_vector(a, b, order)

        some = [builder.load(line(0, i), align=8) for i in range(TILE)]
        # Blocks of two, four and eight are turned: what is off their diagonals is exchanged.
        for size in (1, 2, 4):
            for i in range(TILE):
                if i & size == 0:
                    a, b = some[i], some[i + size]
                    some[i], some[i + size] = (mixed(a, b, size, half) for half in (0, 1))
        for i in range(TILE):
            builder.store(some[i], line(3, i), align=8)
        return target.get_dummy_value()

    return types.void(cells, first, n_columns, lines, to, length), generate


def _mask(relation: str) -> Any:
    """Make the function that compares 64 cells with a number and gives a bit for each."""

    @intrinsic  # type: ignore[untyped-decorator]
    def mask(context: Any, cells: Any, first: Any, number: Any) -> Any:
        kind = cells.dtype

        def generate(target: Any, builder: Any, signature: Any, values: Any) -> Any:
            width = WIDTH * 8 // kind.bitwidth
            vector = ir.VectorType(target.get_data_type(kind), width)
            compare = builder.fcmp_ordered if kind == types.float64 else builder.icmp_signed
            none, place = ir.Constant(vector, ir.Undefined), ir.Constant(_LANE, 0)
            one = builder.insert_element(none, values[2], place)
            order = ir.Constant(ir.VectorType(_LANE, width), [0] * width)
            numbers = builder.shuffle_vector(one, none, order)
            word = ir.Constant(_WORD, 0)
            for i in range(0, WIDTH, width):
                at = builder.add(values[1], ir.Constant(values[1].type, i))
                pointer = _pointer(target, builder, (signature.args[0], values[0]), at, vector)
                found = compare(relation, builder.load(pointer, align=1), numbers)
                bits = builder.zext(builder.bitcast(found, ir.IntType(width)), _WORD)
                word = builder.or_(word, builder.shl(bits, ir.Constant(_WORD, i)))
            return word

        return types.uint64(cells, first, kind), generate

    return mask


#: Which of 64 cells from a place on are at least a number, and which are equal to it.
at_least, equal = _mask(">="), _mask("==")


@intrinsic  # type: ignore[untyped-decorator]
def copy(context: Any, given: Any, first: Any, cells: Any, to: Any) -> Any:
    """Copy 64 bytes from a place in an array of bytes to one in another."""

    def generate(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), WIDTH)
        pairs = list(zip(signature.args, values, strict=True))
        some = builder.load(_pointer(target, builder, pairs[0], values[1], vector), align=1)
        builder.store(some, _pointer(target, builder, pairs[2], values[3], vector), align=1)
        return target.get_dummy_value()

    return types.void(given, first, cells, to), generate
