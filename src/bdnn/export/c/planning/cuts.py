"""Units that look at one feature: the raw input at which they change, found by bisection.

Scaling, rounding and multiplying by a weight are monotone, so such a unit is a comparison of the
raw input with one number, which is exact for every input there is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.export.c.planning.plan import Cut
from bdnn.export.inputs import InputFormat, Integers
from bdnn.network.activation import FloatArray


def find_cut(
    weights: Integers, threshold: int, scaler: Encoder, inputs: InputFormat, unit: float
) -> Cut:
    """Find the cut of a unit with one weight that is on for some inputs and off for others.

    Parameters
    ----------
    weights : array of int
        All 0 but one.
    threshold : int
        In multiples of ``unit``, what one level is worth.
    """
    feature = int(np.flatnonzero(weights)[0])
    weight = int(weights[feature])

    def is_on(raw: FloatArray | Integers) -> bool:
        values = inputs.values(feature, raw, scaler)
        return weight * round(float(values[0]) / unit) >= threshold

    if inputs.is_integer:
        low, high = inputs.ranges[feature]
        at = _bisect(low, high, lambda k: is_on(np.array([k])))
        return Cut(feature, is_on(np.array([high])), at)
    code, bits = ("<d", "<q") if inputs.kind == "double" else ("<f", "<i")
    top = _place(inputs.largest, code, bits)
    at = _bisect(-top, top, lambda n: is_on(np.array([_number(n, code, bits)])))
    return Cut(feature, is_on(np.array([_number(top, code, bits)])), _number(at, code, bits))


def _bisect(low: int, high: int, is_on: Callable[[int], bool]) -> int:
    """Least number whose answer is that of the largest one."""
    wanted = is_on(high)
    while high - low > 1:
        middle = (low + high) // 2
        if is_on(middle) == wanted:
            high = middle
        else:
            low = middle
    return high


def _place(number: float, code: str, bits: str) -> int:
    """Number a positive floating-point number so that neighbours differ by one and 0 is 0."""
    raw: int = struct.unpack(bits, struct.pack(code, number))[0]
    return raw


def _number(place: int, code: str, bits: str) -> float:
    value: float = struct.unpack(code, struct.pack(bits, abs(place)))[0]
    return value if place >= 0 else -value
