"""Claims of trained models are proven, and edited ones are found out."""

import json

import numpy as np
import pytest

from bdnn.checker import read_model
from bdnn.errors import BDNNError, ModelFileError
from bdnn.export import read_model as load_record
from tests.checker.models import X, Y, claims_of, edit, train, verdicts
from tests.sentences import assert_one_sentence


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("checked") / "model.json"
    train(path)
    return path


def test_everything_but_a_solvers_bound_is_proven(model):
    found = verdicts(model)
    assert list(found) == [
        "checksum",
        "architecture",
        "training data",
        "ranges of the inputs",
        "activations",
        "loss",
        "training error",
        "bound",
        "optimality",
    ]
    assert {found[name] for name in list(found)[:7]} == {"proven"}
    assert "false" not in found.values()


def test_enumeration_proves_optimality(model):
    found = claims_of(model, enumerate_networks=True)
    assert found["bound"].verdict == found["optimality"].verdict == "proven"
    assert "by enumeration" in found["bound"].detail


def lower_loss(content):
    content["result"]["loss"] -= 1


def flip_weight(content):
    row = content["weights"][0][0]
    row[0] = -row[0] or 1


def other_error(content):
    content["result"]["error"] = 0.0


def high_bound(content):
    content["result"]["bound"] = content["result"]["loss"] + 1


def low_bound(content):
    content["result"]["bound"] = 0


def half_weight(content):
    content["weights"][0][0][0] = 0.5


def other_hash(content):
    content["certificate"]["data"]["sha256"] = "0" * 64


def other_range(content):
    content["certificate"]["data"]["high"][0] += 1


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lower_loss, {"loss"}),
        (other_error, {"training error"}),
        (high_bound, {"bound"}),
        (low_bound, {"optimality"}),
        (half_weight, {"architecture"}),
        (other_hash, {"training data"}),
        (other_range, {"ranges of the inputs"}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_false_claims(model, tmp_path, change, names):
    found = verdicts(edit(model, change, tmp_path / "edited.json"))
    assert names <= {name for name, verdict in found.items() if verdict == "false"}
    assert found["checksum"] == "proven"


def test_optimality_says_that_its_bound_is_false(model, tmp_path):
    claim = claims_of(edit(model, high_bound, tmp_path / "edited.json"))["optimality"]
    assert (claim.verdict, claim.detail) == ("false", "rests on a false bound")


def test_another_weight_changes_the_loss(model, tmp_path):
    found = verdicts(edit(model, flip_weight, tmp_path / "edited.json"))
    assert found["loss"] == "false"


def test_bound_that_enumeration_refutes(model, tmp_path):
    """Of a network that is not the best, the loss itself is no bound."""

    def worse(content):
        content["thresholds"][-1] = [1000.0, 1000.0]
        content["result"] |= {"loss": float(len(Y)), "bound": float(len(Y))}
        content["result"]["error"] = float(np.mean(Y != "no"))

    path = edit(model, worse, tmp_path / "worse.json")
    assert verdicts(path)["bound"] == "claimed"
    found = verdicts(path, enumerate_networks=True)
    assert found["loss"] == "proven"
    assert found["bound"] == found["optimality"] == "false"


def test_other_data(model):
    found = verdicts(model, X[:-1], Y[:-1])
    assert found["training data"] == "false"
    assert found["loss"] == found["bound"] == "claimed"


def test_order_of_rows_does_not_matter(model):
    assert "false" not in verdicts(model, X[::-1], Y[::-1]).values()


def test_file_without_certificate(model, tmp_path):
    def strip(content):
        del content["certificate"]

    found = verdicts(edit(model, strip, tmp_path / "old.json"))
    assert found["training data"] == "claimed"
    assert found["loss"] == "proven"


@pytest.mark.parametrize(
    "options",
    [
        {"weights": "continuous", "method": "descent"},
        {"weights": "binary", "hidden": (2, 2), "method": "descent"},
        {"class_weight": "balanced"},
        {"class_weight": {"no": 0.3, "yes": 1.7}, "hidden": ()},
        {"validation_fraction": 0.3, "method": "descent"},
        {"scale": None, "ties": "first", "thresholds": "layer"},
        {"scale": "minmax", "thresholds": "zero", "weights": "int:3", "method": "descent"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_claim_of_the_package_is_false(tmp_path, options):
    path = tmp_path / "model.json"
    train(path, **({"time_limit": 3} | options))
    found = verdicts(path)
    assert "false" not in found.values()
    assert found["loss"] == found["training error"] == "proven"


def test_damage_is_noticed_or_harmless(model, tmp_path):
    """One byte in 1000 random places: refused, a false claim, or the same model."""
    rng = np.random.default_rng(0)
    data = model.read_bytes()
    before = json.loads(data)
    path = tmp_path / "damaged.json"
    outcomes = {"refused": 0, "false": 0, "same": 0}
    for _ in range(1000):
        place = int(rng.integers(len(data)))
        damaged = bytearray(data)
        damaged[place] = int(rng.integers(256))
        path.write_bytes(bytes(damaged))
        try:
            load_record(path)
            loads = True
        except ModelFileError:
            loads = False
        try:
            found = verdicts(path)
        except BDNNError as error:
            assert_one_sentence(error)
            outcome = "refused"
        else:
            outcome = "false" if "false" in found.values() else "same"
        if outcome == "same":
            assert json.loads(path.read_bytes()) == before
            assert loads
        else:
            assert not loads
        outcomes[outcome] += 1
    assert outcomes["refused"] > 0
    assert outcomes["false"] > 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "bdnn-model", "version": 1}',
        '{"format": "bdnn-model", "version": 2}',
        '{"format": "bdnn-model", "version": true}',
        '{"a": 1, "a": 2}',
        '{"format": NaN}',
        "[" * 100_000,
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
    ids=range(10),
)
def test_no_model_file(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert_one_sentence(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_model(tmp_path / "none.json")
