"""What a user may say about the inputs of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from bdnn.errors import ModelError
from bdnn.limits import BITS, CATEGORIES

Encode = Literal["auto", "scaled", "cuts", "both"]
MissingRule = Literal["auto", "mean", "median", "most-frequent", "error"]
UnknownRule = Literal["none", "error"]


@dataclass(frozen=True)
class Inputs:
    """How raw columns become inputs.

    Parameters
    ----------
    encode : {"auto", "scaled", "cuts", "both"}
        Columns as scaled numbers, with a 0/1 number per text; as bits that compare the raw value,
        ``age >= 42``, ``job = cook``, ``age is missing``; or numbers first and bits after them.
    scale : {"auto", "standard", "common", "minmax"} or None
        Scaling of the numbers.
    cuts : int
        The most bits ``column >= c`` of a column.
    drop : sequence of str or int
        Columns that are left out, by name or by place from 0.
    categories : sequence of str or int
        Columns of numbers that are names: a zip code, a kind.
    missing : {"auto", "mean", "median", "most-frequent", "error"}
        What stands in for a missing value. With "auto" the median, or the most frequent text; and
        bits tell missing values from others by a bit of their own where training rows had some.
    unknown : {"none", "error"}
        Whether a text that was not seen in training is none of the known ones, or refused.
    max_categories : int
        The most texts of a column that are told apart, the most frequent ones.
    max_bits : int
        The most bits of all columns; there are fewer cuts per column if need be.
    """

    encode: Encode = "auto"
    scale: str | None = "auto"
    cuts: int = 16
    drop: Sequence[str | int] = ()
    categories: Sequence[str | int] = ()
    missing: MissingRule = "auto"
    unknown: UnknownRule = "none"
    max_categories: int = 64
    max_bits: int = 4096

    def __post_init__(self) -> None:
        for name, value, known in (
            ("encode", self.encode, get_args(Encode)),
            ("missing", self.missing, get_args(MissingRule)),
            ("unknown", self.unknown, get_args(UnknownRule)),
        ):
            if value not in known:
                others = ", ".join(map(repr, known[:-1]))
                raise ModelError(
                    f"inputs: {name} must be {others} or {known[-1]!r}, got {value!r}: choose one "
                    "of these."
                )
        for name, count, most in (
            ("cuts", self.cuts, BITS),
            ("max_categories", self.max_categories, CATEGORIES),
            ("max_bits", self.max_bits, BITS),
        ):
            if type(count) is not int or not 1 <= count <= most:
                raise ModelError(
                    f"inputs: {name} must be a whole number from 1 to {most}, got {count!r}: give "
                    "one."
                )
        for name, listed in (("drop", self.drop), ("categories", self.categories)):
            is_list = isinstance(listed, list | tuple)
            if not is_list or not all(type(each) in (str, int) for each in listed):
                raise ModelError(
                    f"inputs: {name} must be a list of columns, by name or place, got {listed!r}: "
                    f"give for example {name}=['id']."
                )
            object.__setattr__(self, name, tuple(listed))

    @classmethod
    def of(cls, inputs: object) -> Inputs:
        """Inputs of what a user gives: an object, or a way to encode."""
        if isinstance(inputs, cls):
            return inputs
        if isinstance(inputs, str):
            return cls(encode=inputs)  # type: ignore[arg-type]
        raise ModelError(
            f"inputs must be a way to encode or Inputs, got {inputs!r}: give for example 'cuts' or "
            "Inputs(scale='minmax')."
        )

    @property
    def has_numbers(self) -> bool:
        """Whether there are scaled numbers."""
        return self.encode != "cuts"

    @property
    def has_bits(self) -> bool:
        """Whether there are bits."""
        return self.encode in ("cuts", "both")
