"""Claims of trained models are proven, and edited ones are found out."""

import json

import numpy as np
import pytest

from bdnn import BDNNClassifier, Inputs, Limits
from bdnn.checker import Deadline, read_model
from bdnn.errors import BDNNError, ModelFileError
from bdnn.model_file import read_model as load_record
from tests.checker.models import X, Y, claims_of, edit, last_thresholds, state, train, verdicts
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
        "names of the inputs",
        "ranges of the inputs",
        "activations",
        "loss",
        "training error",
        "bound",
        "optimality",
    ]
    assert {found[name] for name in list(found)[:8]} == {"proven"}
    assert "false" not in found.values()


def test_the_file_proves_its_bound_unless_it_is_to_leave_that_out(tmp_path):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 9, (12, 2)), rng.integers(0, 2, 12)
    model = BDNNClassifier(hidden=(), weights="continuous", random_state=0).fit(*data)
    assert model.result_.status == "optimal"
    model.save(tmp_path / "with.json")
    assert set(verdicts(tmp_path / "with.json", *data, names=None).values()) == {"proven"}
    model.save(tmp_path / "without.json", proof=False)
    found = claims_of(tmp_path / "without.json", *data, names=None)
    assert found["bound"].verdict == found["optimality"].verdict == "claimed"
    assert "no proof" in found["bound"].detail


@pytest.mark.parametrize("encode", ["scaled", "cuts", "both"])
@pytest.mark.parametrize("options", [{"weights": "continuous"}, {"hidden": (1,)}, {"hidden": (2,)}])
def test_proofs_are_about_the_inputs_of_the_network(tmp_path, encode, options):
    """Cuts make more inputs than there are columns."""
    rng = np.random.default_rng(1)
    data = rng.integers(0, 4, (14, 2)), rng.integers(0, 2, 14)
    options = {"hidden": (), "objective": "loss", "inputs": Inputs(encode=encode)} | options
    model = BDNNClassifier(**options, random_state=0).fit(*data)
    model.save(tmp_path / "model.json")
    if model.result_.proof.certificate is not None:
        assert verdicts(tmp_path / "model.json", *data, names=None)["bound"] == "proven"
    else:
        assert model.result_.bound_origin in ("zero", "data conflicts", "lines")


def test_enumeration_proves_optimality(model):
    found = claims_of(model, enumerate_networks=True)
    assert found["bound"].verdict == found["optimality"].verdict == "proven"
    assert "by enumeration" in found["bound"].detail


def lower_loss(content):
    content["result"]["loss"] -= 1


def flip_weight(content):
    row = content["network"]["layers"][0]["weights"][0]
    row[0] = -row[0] or 1


def other_error(content):
    content["result"]["error"] = 0.0


def high_bound(content):
    state(content, bound=content["result"]["loss"] + 1)


def low_bound(content):
    state(content, bound=0)


def half_weight(content):
    content["network"]["layers"][0]["weights"][0][0] = 0.5


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
        last_thresholds(content, 1000.0, 1000.0)
        state(content, loss=float(len(Y)), bound=float(len(Y)))
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
        {"inputs": Inputs(scale=None), "ties": "first", "thresholds": "layer"},
        {
            "inputs": Inputs(scale="minmax"),
            "thresholds": "zero",
            "weights": "int:3",
            "method": "descent",
        },
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_claim_of_the_package_is_false(tmp_path, options):
    path = tmp_path / "model.json"
    train(path, **({"limits": Limits(seconds=3)} | options))
    found = verdicts(path)
    assert "false" not in found.values()
    assert found["loss"] == found["training error"] == "proven"


def replaced(*path, value):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


MALFORMED = [
    (("result",), []),
    (("result",), None),
    (("result", "loss"), "much"),
    (("result", "loss"), "1e99999999"),
    (("result", "loss"), "1/0"),
    (("result", "loss"), None),
    (("result", "loss"), True),
    (("result", "loss"), {"float": "inf"}),
    (("result", "bound"), [0]),
    (("result", "bound"), 0),
    (("result", "bound", "value"), [0]),
    (("result", "bound", "value"), {"float": "inf"}),
    (("result", "error"), None),
    (("result", "objective"), "x"),
    (("result", "bound", "condition"), 5),
    (("result", "bound", "condition"), {"margin": 1}),
    (("result", "bound", "condition"), {"margin": -1, "tolerance": 0}),
    (("result", "bound", "condition"), {"margin": 0, "tolerance": "1e99999999"}),
    (("settings",), 5),
    (("extra",), []),
    (("extra", "rows"), 5),
    (("extra", "rows"), ""),
    (("extra", "rows"), "3,2"),
    (("certificate",), []),
    (("certificate", "data"), []),
    (("certificate", "data", "used"), "1,1"),
    (("certificate", "data", "used"), 7),
    (("certificate", "data", "low"), [0]),
    (("certificate", "data", "low"), ["a", "b"]),
    (("certificate", "data", "per_unit"), [0, 1]),
    (("certificate", "data", "per_unit"), [0.5, 1]),
    (("certificate", "penalty"), {"weight": -1}),
    (("outputs", "classes"), [[1], [2]]),
    (("outputs", "classes"), ["no", "no"]),
    (("outputs", "classes"), ["no", None]),
    (("outputs", "classes"), [0, False]),
    (("encoder", "columns"), 5),
    (("encoder", "columns"), [{"name": "a"}]),
    (("encoder", "columns", 0, "name"), 5),
    (("encoder", "columns", 0, "kind"), "category"),
    (("encoder", "columns", 0, "values"), "xy"),
    (("encoder", "columns", 0, "fill"), []),
    (("encoder", "header"), None),
    (("encoder", "numbers"), []),
    (("encoder", "numbers", 0, "column"), False),
    (("encoder", "numbers", 0, "value"), "x"),
    (("encoder", "numbers", 0, "shift"), "0"),
    (("encoder", "step"), 0.1),
    (("encoder", "step"), 0),
    (("encoder", "step"), 5e-324),
    (("encoder", "scale"), []),
    (("network", "layers", 0, "weights", 0, 0), None),
    (("network", "layers", 0, "weights"), []),
    (("network", "layers"), 5),
    (("network", "layers"), []),
    (("network", "layers", 0, "thresholds"), 5),
    (("network", "layers", 0, "thresholds"), [0]),
    (("network", "hidden"), [10**9]),
    (("network", "hidden"), 1),
    (("network", "weights"), [5, 5]),
    (("network", "activations"), ["values:1/nan"]),
    (("network", "activations"), ["values:0/1@nan"]),
    (("network", "activations"), [f"values:0/{'9' * 5000}"]),
]


@pytest.mark.parametrize(("path", "value"), MALFORMED, ids=lambda value: str(value)[:30])
def test_what_cannot_be_read_is_no_false_claim(model, tmp_path, path, value):
    def change(content):
        content["result"]["objective"] = 5
        replaced(*path, value=value)(content)

    with pytest.raises(BDNNError) as caught:
        claims_of(edit(model, change, tmp_path / "edited.json"))
    assert_one_sentence(caught.value)


def test_rows_that_the_data_do_not_have(model, tmp_path):
    for where in (("extra", "rows"), ("certificate", "data", "used")):
        for rows in ("1-25", "1-99999999", "25", "999999999"):
            path = edit(model, replaced(*where, value=rows), tmp_path / "edited.json")
            with pytest.raises(BDNNError, match="rows: give the data") as caught:
                claims_of(path)
            assert_one_sentence(caught.value)


def test_rows_are_as_many_as_stated(model, tmp_path):
    change = replaced("certificate", "data", "rows", value=23)
    claim = claims_of(edit(model, change, tmp_path / "edited.json"))["training data"]
    assert (claim.verdict, claim.detail) == ("false", "24 rows are given, 23 in the file")


def test_few_rows_of_the_data_are_told(model, tmp_path):
    """A file that picks rows it gets right says so."""

    def pick(content):
        content["extra"]["rows"] = "1-3"
        del content["certificate"]["data"]

    detail = claims_of(edit(model, pick, tmp_path / "edited.json"))["training data"].detail
    assert "3 of the 24 rows" in detail


def constant(content, **result):
    """A network that is always off, whose loss no argument of the checker reaches."""
    last_thresholds(content, 1000.0, 1000.0)
    state(content, **{"loss": 24.0, "bound": 24.0, "bound_origin": "highs", **result})
    content["result"]["error"] = float(np.mean(Y != "no"))


@pytest.mark.parametrize(
    ("status", "condition", "verdict"),
    [
        ("optimal", None, "claimed"),
        ("optimal among networks that keep a margin", {"margin": 1e-4, "tolerance": 0}, "claimed"),
        ("optimal", {"margin": 1e-4, "tolerance": 0}, "false"),
        ("optimal within a tolerance of 1", {"margin": 0, "tolerance": 1.0}, "claimed"),
        ("optimal", {"margin": 0, "tolerance": 1.0}, "false"),
        ("optimal within a tolerance of 1", {"margin": 0, "tolerance": 0.5}, "false"),
        ("time limit", {"margin": 1e-4, "tolerance": 0}, "claimed"),
    ],
)
def test_a_status_tells_the_condition_of_its_bound(model, tmp_path, status, condition, verdict):
    def change(content):
        constant(content, status=status)
        if condition is not None:
            state(content, condition=condition, bound=24.0 - bool(condition["tolerance"]))

    found = claims_of(edit(model, change, tmp_path / "edited.json"))
    assert found["bound"].verdict == "claimed"
    assert found["optimality"].verdict == verdict
    if condition is not None:
        words = "for units that keep a margin of 0.0001" if condition["margin"] else "within "
        assert words in found["bound"].detail


def test_enumeration_refutes_no_bound_for_other_networks(model, tmp_path):
    """One that speaks of networks with a margin says nothing of the best of all."""

    def change(content):
        constant(content, status="feasible", condition={"margin": 1e-4, "tolerance": 0})

    path = edit(model, change, tmp_path / "edited.json")
    assert verdicts(path, enumerate_networks=True)["bound"] == "claimed"


def test_no_bound_is_no_false_one(model, tmp_path):
    def change(content):
        state(content, bound={"float": "-inf"}, status="feasible")

    found = claims_of(edit(model, change, tmp_path / "edited.json"))
    assert (found["bound"].verdict, found["bound"].detail) == ("proven", "is not claimed")
    assert found["optimality"].verdict == "proven"


def test_time_that_is_up_leaves_claims(model):
    found = claims_of(model, deadline=Deadline(-1.0))
    names = ("activations", "loss", "training error", "bound", "optimality")
    for name in names:
        assert found[name].verdict == "claimed"
        assert found[name].detail == "not finished in -1 s"
    assert found["checksum"].verdict == found["training data"].verdict == "proven"


def test_texts_of_a_file_cannot_write_on_a_terminal(model, tmp_path):
    def change(content):
        last_thresholds(content, 1000.0, 1000.0)
        state(content, loss=24.0, bound=24.0, bound_origin="\x1b[2J" + "x" * 1000)

    detail = claims_of(edit(model, change, tmp_path / "edited.json"))["bound"].detail
    assert detail.isprintable()
    assert len(detail) < 200


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
