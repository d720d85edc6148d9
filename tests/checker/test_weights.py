"""Weights of samples: recomputed where data say them, part of the claim where they do not."""

from fractions import Fraction

import numpy as np
import pytest

from bdnn import BDNNClassifier, Limits
from bdnn.errors import ModelFileError
from tests.checker.models import (
    NAMES,
    X,
    Y,
    claims_of,
    edit,
    last_thresholds,
    state,
    train,
    verdicts,
)
from tests.grids import long
from tests.sentences import assert_one_sentence

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = {"hidden": (1,), "method": "descent", "limits": Limits(seconds=3)}


def constant(content):
    """A network that always says "no", which is right if "yes" weighs nothing."""
    top = content["network"]["layers"][-1]
    top["weights"] = [[0] * len(row) for row in top["weights"]]
    last_thresholds(content, -1.0, 1.0)
    state(content, loss=0, bound=0, error=0, status="optimal")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "model.json"
    train(path)
    return path


@pytest.fixture(scope="module")
def balanced(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "model.json"
    train(path, class_weight="balanced")
    return path


@pytest.mark.parametrize("nothing", [0, 0.0, "0", -1])
def test_a_class_that_weighs_nothing_is_no_class(model, tmp_path, nothing):
    def forge(content):
        constant(content)
        content["certificate"]["data"]["class_weight"] = [1, nothing]

    found = claims_of(edit(model, forge, tmp_path / "forged.json"))
    assert found["class weights"].verdict == "false"
    assert found["loss"].verdict == found["bound"].verdict == "claimed"
    n_wrong = int((Y == "yes").sum())
    assert found["error without weights"].detail == f"{n_wrong} of {len(Y)} rows wrong"


def test_weights_are_printed_with_what_they_make_true(model, tmp_path):
    """Hardly any weight is as good as none; so weights and plain error stand beside the claim."""
    tiny = 2.0**-60

    def forge(content):
        constant(content)
        content["certificate"]["data"]["class_weight"] = [1, tiny]
        n_yes = int((Y == "yes").sum())
        state(content, loss=2 * n_yes * tiny, bound=2 * n_yes * tiny)
        content["result"]["error"] = n_yes * tiny / (len(Y) - n_yes + n_yes * tiny)

    found = claims_of(edit(model, forge, tmp_path / "forged.json"))
    assert found["loss"].verdict == "proven"
    for name in ("loss", "training error"):
        assert "1 for 'no', 8.67361738e-19 for 'yes'" in found[name].detail
    n_wrong = int((Y == "yes").sum())
    assert found["error without weights"].detail == f"{n_wrong} of {len(Y)} rows wrong"


def test_balanced_weights_are_recomputed(balanced, tmp_path):
    found = claims_of(balanced)
    assert found["class weights"].verdict == found["loss"].verdict == "proven"
    assert "false" not in {claim.verdict for claim in found.values()}

    def forge(content):
        constant(content)
        content["certificate"]["data"]["class_weight"] = [1, 1e-9]

    forged = claims_of(edit(balanced, forge, tmp_path / "forged.json"))
    assert forged["class weights"].verdict == "false"
    assert forged["loss"].verdict == "claimed"


def test_balanced_by_name(balanced, tmp_path):
    def rename(content):
        content["certificate"]["data"]["class_weight"] = "balanced"
        content["settings"]["class_weight"] = None

    assert "false" not in verdicts(edit(balanced, rename, tmp_path / "named.json")).values()


def test_balanced_weights_are_those_of_all_samples_given(tmp_path):
    """Of which some are kept for validation."""
    path = tmp_path / "model.json"
    options = {"validation_fraction": 0.3, "class_weight": "balanced", "method": "descent"}
    train(path, limits=Limits(seconds=3), **options)
    found = verdicts(path)
    assert found["class weights"] == found["loss"] == "proven"
    assert "false" not in found.values()


@pytest.mark.parametrize("weights", [[1], [1, 2, 3], "heavy", [1, None], [1, "1/0"], {"no": 1}])
def test_weights_that_make_no_sense(model, tmp_path, weights):
    def forge(content):
        content["certificate"]["data"]["class_weight"] = weights

    with pytest.raises(ModelFileError, match="make no sense") as caught:
        verdicts(edit(model, forge, tmp_path / "forged.json"))
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("seed", [0, *long(1, 2, 3)])
def test_losses_of_many_magnitudes_are_exact(tmp_path, seed):
    """Sums that doubles lose: the checker adds weights as fractions."""
    rng = np.random.default_rng(seed)
    weight = 10.0 ** rng.integers(-9, 12, len(Y)) * rng.random(len(Y))
    model = BDNNClassifier(random_state=0, **QUICK).fit(X, Y, weight, feature_names=NAMES)
    path = tmp_path / "model.json"
    model.save(path)
    outputs = model.network_.outputs(model.encoder_.transform(X))
    wrong = (outputs != (model.classes_ == Y[:, None])).sum(axis=1)
    exact = sum(Fraction(w) * int(n) for w, n in zip(weight.tolist(), wrong.tolist(), strict=True))

    def tell(content):
        loss = f"{exact.numerator}/{exact.denominator}"
        state(content, loss=loss, bound="0", status="feasible")

    found = claims_of(edit(path, tell, tmp_path / "exact.json"))
    assert found["loss"].verdict == found["bound"].verdict == "proven"
    assert "10^9" not in found["loss"].detail
    assert "samples weigh" in found["loss"].detail

    def lie(content):
        tell(content)
        more = exact + Fraction(1, 10**30)
        content["result"]["loss"] = f"{more.numerator}/{more.denominator}"

    assert claims_of(edit(path, lie, tmp_path / "lie.json"))["loss"].verdict == "false"


def test_a_rounded_loss_is_compared_with_a_tolerance_that_is_named(tmp_path):
    path = tmp_path / "model.json"
    model = train(path, class_weight={"no": 0.3, "yes": 1.7}, hidden=())
    assert model.result_.loss > 0
    assert "false" not in verdicts(path).values()
    for change, verdict in ((1 + 1e-12, "proven"), (1 + 1e-6, "false")):

        def scale(content, change=change):
            content["result"]["loss"] *= change

        claim = claims_of(edit(path, scale, tmp_path / "near.json"))["loss"]
        assert claim.verdict == verdict
        assert ("equal to a part in 10^9" in claim.detail) == (verdict == "proven")


def test_nearness_proves_no_optimum(model, tmp_path):
    """A bound that a solver says is near the loss; nothing here reaches the loss exactly."""

    def near(content):
        content["certificate"]["data"]["class_weight"] = [0.1, 0.3]
        last_thresholds(content, -1000.0, 1000.0)
        loss = 2 * 0.3 * int((Y == "yes").sum())
        state(content, loss=loss, bound=loss, status="optimal")

    found = verdicts(edit(model, near, tmp_path / "near.json"))
    assert found["loss"] == "proven"
    assert found["optimality"] == "claimed"


@pytest.mark.parametrize("weights", [[1.0], [1.0] * 23 + [0], [1.0] * 23 + [-1]])
def test_sample_weights_that_do_not_fit(model, tmp_path, weights):
    def forge(content):
        content["certificate"]["data"]["sample_weight"] = weights

    found = claims_of(edit(model, forge, tmp_path / "forged.json"))
    assert found["weights"].verdict == "false"
    assert found["loss"].verdict == "claimed"


def test_files_that_only_say_that_there_were_weights(model, tmp_path):
    def forge(content):
        content["certificate"]["data"]["sample_weight"] = True

    found = claims_of(edit(model, forge, tmp_path / "old.json"))
    assert found["loss"].verdict == found["bound"].verdict == "claimed"
    assert found["error without weights"].verdict == "proven"
