"""The shape of a network: widths, weight sets, kind of thresholds, rule for ties."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from bdnn.errors import ModelError
from bdnn.network.activation import STEP, Activation, FloatArray

ThresholdKind = Literal["neuron", "layer", "zero"]
TieRule = Literal["score", "first"]
OutputKind = Literal["step", "identity"]

_LARGEST_INTEGER_WEIGHT = 1024


@dataclass(frozen=True)
class WeightSet:
    """The values a weight may take.

    Parameters
    ----------
    name : str
        ``continuous``, ``ternary``, ``binary`` or ``int:P``.
    limit : int
        Weights lie in ``[-limit, limit]``.
    integer : bool
        Whether only integers are allowed.
    zero : bool
        Whether 0 is allowed; the binary set {-1, 1} leaves it out.
    """

    name: str
    limit: int
    integer: bool
    zero: bool

    @classmethod
    def parse(cls, name: str | WeightSet) -> WeightSet:
        """Turn a name such as ``"ternary"`` or ``"int:3"`` into a weight set."""
        if isinstance(name, WeightSet):
            return name
        if not isinstance(name, str):
            raise ModelError(
                f"weights must be a name or one name per layer, got {name!r}: "
                "use 'continuous', 'ternary', 'binary' or 'int:P'."
            )
        simple = {
            "continuous": cls("continuous", 1, integer=False, zero=True),
            "ternary": cls("ternary", 1, integer=True, zero=True),
            "binary": cls("binary", 1, integer=True, zero=False),
        }
        if name in simple:
            return simple[name]
        match = re.fullmatch(r"int:([0-9]{1,6})", name)
        if match and 1 <= int(match[1]) <= _LARGEST_INTEGER_WEIGHT:
            return cls(f"int:{int(match[1])}", int(match[1]), integer=True, zero=True)
        raise ModelError(
            f"weights must be 'continuous', 'ternary', 'binary' or 'int:P' with P from 1 to "
            f"{_LARGEST_INTEGER_WEIGHT}, got {name!r}: choose one of these."
        )

    @property
    def values(self) -> FloatArray:
        """All values of an integer set, ascending."""
        if not self.integer:
            raise ModelError("the continuous weight set cannot be listed: use an integer set.")
        values = np.arange(-self.limit, self.limit + 1, dtype=float)
        return values if self.zero else values[values != 0]

    @property
    def bits(self) -> int:
        """Bits that store one weight; continuous weights are double-precision numbers."""
        return int(np.ceil(np.log2(len(self.values)))) if self.integer else 64

    def nearest(self, weights: FloatArray) -> FloatArray:
        """Nearest weights of the set, of the same type."""
        if not self.zero:  # the set {-1, 1}
            return np.where(weights > 0.0, 1.0, -1.0).astype(weights.dtype)
        inside = np.clip(weights, -self.limit, self.limit)
        return np.rint(inside) if self.integer else inside

    def contains(self, weights: FloatArray) -> bool:
        """Tell whether all entries belong to the set."""
        inside = bool((np.abs(weights) <= self.limit).all())
        if inside and self.integer:
            inside = bool((weights == np.rint(weights)).all())
        return inside and (self.zero or bool((weights != 0).all()))


@dataclass(frozen=True)
class Architecture:
    """Widths, weight sets, kind of thresholds and tie rule of a network.

    Build one with :meth:`create`, which checks what a user gives.

    Parameters
    ----------
    n_features : int
    hidden : tuple of int
        Widths of the hidden layers; empty for a single layer of outputs.
    n_outputs : int
        One output unit per class.
    weights : tuple of WeightSet
        One weight set per layer, the output layer last.
    thresholds : {"neuron", "layer", "zero"}
        One threshold per unit, one per layer (the paper's lambda_k), or none (the paper's BDNN_0).
    ties : {"score", "first"}
        Which class wins when several outputs are equal: the one with the largest pre-activation
        above its threshold, or the one with the lowest index.
    activations : tuple of Activation
        One per hidden layer, by default steps. Outputs are steps or numbers, as ``output`` says.
    output : {"step", "identity"}
        What the last layer does with its sums: steps, which choose a class, or nothing but taking
        the threshold off, which makes numbers of them.
    """

    n_features: int
    hidden: tuple[int, ...]
    n_outputs: int
    weights: tuple[WeightSet, ...]
    thresholds: ThresholdKind = "neuron"
    ties: TieRule = "score"
    activations: tuple[Activation, ...] = ()
    output: OutputKind = "step"

    def __post_init__(self) -> None:
        rules = self.activations or (STEP,) * len(self.hidden)
        if len(rules) != len(self.hidden):
            raise ModelError(
                f"a network of {len(self.hidden)} hidden layers needs as many activations, got "
                f"{len(rules)}: give one per hidden layer."
            )
        object.__setattr__(self, "activations", rules)

    @classmethod
    def create(
        cls,
        n_features: int,
        n_outputs: int,
        *,
        hidden: int | Sequence[int] = (25,),
        weights: str | WeightSet | Sequence[str | WeightSet] = "ternary",
        thresholds: str = "neuron",
        ties: str = "score",
        activation: str | Activation | Sequence[str | Activation] = "step",
        output: str = "step",
    ) -> Architecture:
        """Check the options of a network and put them together."""
        widths = _parse_hidden(hidden)
        if isinstance(weights, Sequence | np.ndarray) and not isinstance(weights, str):
            names = list(weights)
        else:
            names = [weights] * (len(widths) + 1)
        if len(names) != len(widths) + 1:
            raise ModelError(
                f"weights must name one set for all layers or one per layer, got {len(names)} for "
                f"{len(widths) + 1} layers: give {len(widths) + 1} names, the output layer last."
            )
        if thresholds not in get_args(ThresholdKind):
            raise ModelError(
                f"thresholds must be 'neuron', 'layer' or 'zero', got {thresholds!r}: "
                "choose one of these."
            )
        if ties not in get_args(TieRule):
            raise ModelError(f"ties must be 'score' or 'first', got {ties!r}: choose one of these.")
        if output not in get_args(OutputKind):
            raise ModelError(
                f"output must be 'step' or 'identity', got {output!r}: choose one of these."
            )
        if n_features < 1 or n_outputs < 1:
            raise ModelError(
                f"a network needs at least one input and one output, got {n_features} and "
                f"{n_outputs}: check the data."
            )
        sets = tuple(WeightSet.parse(name) for name in names)
        rules = _parse_activation(activation, len(widths))
        return cls(n_features, widths, n_outputs, sets, thresholds, ties, rules, output)  # type: ignore[arg-type]

    def has_free_scale(self, k: int) -> bool:
        """Whether multiplying a unit of layer ``k`` by a positive number changes nothing else."""
        rule = self.activation_of(k)
        if self.weights[k].integer or self.thresholds == "layer":
            return False
        if self.thresholds == "zero":
            return not rule.offsets.any()
        return rule.thresholds is None or rule.n_thresholds == 1

    def activation_of(self, layer: int) -> Activation:
        """What units of a layer do, counted from 0, the outputs last."""
        return self.activations[layer] if 0 <= layer < len(self.activations) else STEP

    @property
    def has_levels(self) -> bool:
        """Whether some hidden units are more than steps: other values, or fixed thresholds."""
        return not all(rule.is_step for rule in self.activations)

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of inputs, of units per hidden layer, and of outputs."""
        return (self.n_features, *self.hidden, self.n_outputs)

    @property
    def n_layers(self) -> int:
        """Number of weight layers, the output layer included."""
        return len(self.hidden) + 1

    @property
    def n_weights(self) -> int:
        """Number of weights, thresholds not counted."""
        return sum(a * b for a, b in pairwise(self.widths))

    @property
    def n_products(self) -> int:
        """Products of a weight and a threshold below it, for every threshold of its unit."""
        counts = [self.activation_of(k).n_thresholds for k in range(-1, self.n_layers)]
        sizes = [width * count for width, count in zip(self.widths, counts, strict=True)]
        return sum(a * b for a, b in pairwise(sizes))

    def __str__(self) -> str:
        shape = "-".join(str(width) for width in self.widths)
        names = dict.fromkeys(weights.name for weights in self.weights)
        text = f"{shape}, {'/'.join(names)} weights, thresholds per {self.thresholds}".replace(
            "per zero", "zero"
        )
        if self.has_levels:
            text += f", {', '.join(dict.fromkeys(a.name for a in self.activations))} activation"
        return text if self.output == "step" else f"{text}, identity outputs"


def _parse_activation(activation: object, n_hidden: int) -> tuple[Activation, ...]:
    """One rule per hidden layer."""
    if isinstance(activation, Sequence | np.ndarray) and not isinstance(activation, str):
        rules = [Activation.parse(name) for name in activation]
        if len(rules) != n_hidden:
            raise ModelError(
                f"activation must be one for all hidden layers or one per hidden layer, got "
                f"{len(rules)} for {n_hidden}: outputs are steps and have none."
            )
    else:
        rules = [Activation.parse(activation)] * n_hidden  # type: ignore[arg-type]
        if not n_hidden and activation != "step":
            raise ModelError(
                f"activation is for hidden layers, of which there are none, got {activation!r}: "
                "leave it out or give hidden layers."
            )
    return tuple(rules)


def _parse_hidden(hidden: object) -> tuple[int, ...]:
    if isinstance(hidden, np.ndarray):
        hidden = hidden.tolist()  # whose text has no line breaks
    widths = tuple(hidden) if isinstance(hidden, Sequence) else (hidden,)
    try:
        parsed = tuple(operator.index(width) for width in widths)
    except TypeError:
        parsed = (0,)
    # True is an integer to Python and text a sequence, but nobody means widths by them.
    is_foreign = isinstance(hidden, str | bytes) or any(isinstance(w, bool) for w in widths)
    if is_foreign or any(not 1 <= width <= 100_000 for width in parsed):
        raise ModelError(
            f"hidden must be the widths of the hidden layers, each from 1 to 100000, got "
            f"{hidden!r}: give for example (25,) or (50, 50)."
        )
    return parsed
