"""Exact reductions of a model.

========== ============================================================ ==========================
name       what it does                                                 valid where
========== ============================================================ ==========================
merge      equal inputs share their variables and rows                  always
one_output one output instead of a complementary pair                   two classes and thresholds
                                                                        per neuron: the other
                                                                        output is its complement,
                                                                        and the better of the two
                                                                        outputs counts twice
one_sided  an output needs only the row against the answer that would   always, as long as nothing
           lower the loss                                               but the loss uses outputs
signed     output weights are not negative                              one output and thresholds
                                                                        per neuron: a unit with a
                                                                        negative weight is turned
                                                                        round (w, t -> -w, -t), and
                                                                        so is its set of values
========== ============================================================ ==========================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bdnn.network.architecture import Architecture


@dataclass(frozen=True)
class Reductions:
    """Which exact reductions may be used; those that are not valid are left out by themselves."""

    merge: bool = True
    one_output: bool = True
    one_sided: bool = True
    signed: bool = True

    @classmethod
    def none(cls) -> Reductions:
        """The model as the paper states it."""
        return cls(merge=False, one_output=False, one_sided=False, signed=False)

    def without(self, names: Iterable[str]) -> Reductions:
        """Switch some off."""
        return replace(self, **dict.fromkeys(names, False))

    def valid_for(self, architecture: Architecture, *, counts_outputs: bool = True) -> Reductions:
        """Switch off what does not keep the optimum for this architecture.

        ``counts_outputs`` tells whether the loss is about outputs that are on or off.
        """
        is_free, n_outputs = architecture.thresholds == "neuron", architecture.n_outputs
        is_class = counts_outputs and architecture.output == "step"
        one_output = self.one_output and is_class and is_free and n_outputs == 2
        is_number = architecture.output == "identity" and is_free and n_outputs == 1
        signed = self.signed and (one_output or is_number) and bool(architecture.hidden)
        signed = signed and architecture.activation_of(len(architecture.hidden) - 1).is_reversible
        return replace(self, one_output=one_output, signed=signed)
