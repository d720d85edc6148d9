"""All claims of a model file, one after the other.

Proofs of bounds that a model file carries, by their kind.

A proof is repeated from its certificate, the training data and the shape of the network. A kind is
one file with one function, which returns what is proven of the loss of all networks of the shape.
It raises a ``ValueError`` for what it does not understand and looks at the deadline now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from bdnn.checker.bounds import Masses, own_bounds
from bdnn.checker.certified import (
    FIRST_LAYER,
    certified_claims,
    first_layer_claims,
    is_certified_training,
)
from bdnn.checker.claims import (
    Claim,
    Deadline,
    OutOfTimeError,
    claimed,
    judged,
    number_text,
    proven,
    shown,
)
from bdnn.checker.conflicts import conflict_bound
from bdnn.checker.enumeration import TooLargeError, smallest_loss
from bdnn.checker.evaluation import Evaluation, evaluate
from bdnn.checker.layers import set_complaint
from bdnn.checker.listed import units_bound
from bdnn.checker.model import CheckedModel
from bdnn.checker.planes import planes_bound
from bdnn.checker.promises import Known, check_promises
from bdnn.checker.result import (
    Result,
    check_bound,
    check_objective,
    check_optimality,
    compared,
    differing,
)
from bdnn.checker.samples import (
    Samples,
    Weights,
    check_data,
    check_names,
    check_ranges,
    read_weights,
)
from bdnn.checker.units import weights_bound

_KINDS: dict[str, Callable[[CheckedModel, Masses, dict[str, Any], Deadline], Fraction]] = {
    "weights": weights_bound,
    "conflicts": conflict_bound,
    "units": units_bound,
    "planes": planes_bound,
}

# Inputs times classes, whose costs are held in memory.
_MOST_CELLS = 2_000_000


class NoProofError(Exception):
    """Why a file proves nothing of its bound."""


def proven_bound(model: CheckedModel, masses: Masses, deadline: Deadline) -> Fraction:
    """What the certificate of a file's bound proves."""
    certificate = model.part("result")["bound"].get("certificate")
    if certificate is None:
        raise NoProofError("the file has no proof of it")
    kind = certificate.get("kind") if isinstance(certificate, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise NoProofError(f"its proof is of an unknown kind, {shown(kind)}")
    if len(masses.points) * len(model.classes) > _MOST_CELLS:
        raise NoProofError("there are too many inputs to follow its proof")
    try:
        return _KINDS[kind](model, masses, certificate, deadline)
    except OutOfTimeError as error:
        raise NoProofError(f"its proof is {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise NoProofError(f"its proof cannot be followed ({error})") from error


_RESULT = ("loss", "training error", "bound", "optimality")


def check_model(
    model: CheckedModel,
    samples: Samples,
    *,
    enumerate_networks: bool = False,
    deadline: Deadline | None = None,
) -> list[Claim]:
    """Check every claim of a model file against the data it was trained on.

    Raises
    ------
    ModelFileError
        If a claim cannot be read.
    """
    deadline = deadline or Deadline()
    claims = [_checksum(model), *_sets(model)]
    data = check_data(model, samples)
    claims += [data, *check_names(model, samples)]
    weights = read_weights(model, samples)
    if data.verdict == "false":
        unknown = Known(model, deadline)
        return [*claims, *_unchecked(_RESULT, unknown.why), *check_promises(unknown)]
    claims += [*weights.claims, *check_ranges(model, samples)]
    try:
        found = evaluate(model, samples.rows(), deadline)
    except OutOfTimeError as error:
        claims += _unchecked(("activations", *_RESULT), str(error))
        return [*claims, *check_promises(Known(model, deadline, samples, why=str(error)))]
    claims.append(_arithmetic(found))
    known = Known(model, deadline, samples, found)
    return [
        *claims,
        *_result(known, weights, enumerate_networks=enumerate_networks),
        *_timed((FIRST_LAYER,), lambda: first_layer_claims(model, samples, deadline)),
        *check_promises(known),
    ]


def _unchecked(names: Iterable[str], why: str) -> list[Claim]:
    return [claimed(name, why) for name in names]


def _timed(names: Iterable[str], check: Callable[[], list[Claim]]) -> list[Claim]:
    """Check claims as long as there is time."""
    try:
        return check()
    except OutOfTimeError as error:
        return _unchecked(names, str(error))


def _checksum(model: CheckedModel) -> Claim:
    return judged(
        "checksum",
        model.checksum_holds,
        "fits the content" if model.checksum_holds else "the file was changed after it was written",
    )


def _sets(model: CheckedModel) -> list[Claim]:
    complaints = [
        f"layer {k}: {complaint}"
        for k, layer in enumerate(model.layers, start=1)
        if (complaint := set_complaint(layer, model.threshold_kind))
    ]
    widths = "-".join(map(str, [model.encoder.n_inputs, *model.hidden, len(model.classes)]))
    detail = "; ".join(complaints) or f"{widths}, every weight is of its set"
    return [judged("architecture", not complaints, detail)]


def _arithmetic(found: Evaluation) -> Claim:
    name = "activations"
    if found.rounded:
        return claimed(
            name, f"{found.rounded} of {found.n_decisions} decisions hang on rounding to double"
        )
    return proven(name, f"all {found.n_decisions} decisions are the same in exact arithmetic")


def _result(known: Known, weights: Weights, *, enumerate_networks: bool) -> list[Claim]:
    model, (samples, found) = known.model, known.training()
    if weights.of_rows is None:
        unknown = _unchecked(_RESULT, "the weights of the samples are not known")
        return [*unknown, _mistakes(samples, found)]
    if model.robust.get("loss") == "average":
        return _unchecked(_RESULT, "of random perturbations, which this checker does not draw")
    of_rows = weights.of_rows
    masses = Masses.of_rows(found, samples.classes, len(model.classes), of_rows)
    error = [_error(model, masses, found, weights)]
    if weights.words:
        error.append(_mistakes(samples, found))
    words = f"; {weights.words}" if weights.words else ""
    if is_certified_training(model):
        names = ("loss", "bound", "optimality")
        first, *rest = _timed(
            names, lambda: certified_claims(model, samples, of_rows, found, known.deadline)
        )
        return [Claim(first.name, first.verdict, first.detail + words), *error, *rest]
    result = Result.of(model)
    is_exact = result.is_exact or weights.are_whole
    total = masses.loss(found.outputs)
    is_right, note = compared(result.loss, total, is_exact=is_exact)
    claims = [judged("loss", is_right, differing(total, result.loss) + note + words), *error]
    rest = _timed(
        ("bound", "optimality"),
        lambda: _optimality(
            known, result, masses, total, is_exact=is_exact, enumerated=enumerate_networks
        ),
    )
    return [*claims, *rest]


def _error(model: CheckedModel, masses: Masses, found: Evaluation, weights: Weights) -> Claim:
    """The share of weight that is put into a wrong class."""
    whole = sum(map(sum, masses.of))
    wrong = whole - sum(mass[c] for mass, c in zip(masses.of, found.winner, strict=True))
    share = Fraction(wrong, whole)
    is_right, _ = compared(Result.of(model).error, share, is_exact=False)  # stated as a double
    count = f"{wrong} of {whole}" if weights.are_whole else f"{number_text(100 * share)} %"
    words = f" by weight; {weights.words}" if weights.words else ""
    return judged("training error", is_right, f"{count} wrong{words}")


def _mistakes(samples: Samples, found: Evaluation) -> Claim:
    """The share of rows, whatever they weigh, that is put into a wrong class."""
    wrong = sum(a != b for a, b in zip(found.winners, samples.classes, strict=True))
    return proven("error without weights", f"{wrong} of {len(samples)} rows wrong")


def _optimality(
    known: Known,
    result: Result,
    masses: Masses,
    total: Fraction,
    *,
    is_exact: bool,
    enumerated: bool,
) -> list[Claim]:
    """A lower bound on the loss of all networks of the architecture, and whether it is met."""
    model, deadline = known.model, known.deadline
    objective = check_objective(model, result, total, deadline)
    claims = [] if objective is None else [objective]
    if result.objective is not None:
        # Bound and optimality are about loss and penalty together.
        total, is_exact = result.objective, False
    own = own_bounds(masses, model.layers, deadline)
    note, unproven, least = "", "", None
    if result.bound is not None and max(own.values()) < min(result.bound, total):
        try:
            own["its certificate"] = proven_bound(model, masses, deadline)
        except NoProofError as error:
            unproven = f"; {error}"
    if enumerated and (
        model.part("certificate").get("constraints") or result.objective is not None
    ):
        note = "; not enumerated: networks must keep constraints or pay prices"
    elif enumerated:
        try:
            least = smallest_loss(model, masses, deadline)
        except TooLargeError as error:
            note = f"; not enumerated: {error}"
    bound = check_bound(result, total, own, least, is_exact=is_exact)
    if bound.verdict == "claimed":
        note = unproven + note
    bound = Claim(bound.name, bound.verdict, bound.detail + note)
    best = max(own.values()) if least is None else least
    return [*claims, bound, check_optimality(result, bound, total, best, is_exact=is_exact)]
