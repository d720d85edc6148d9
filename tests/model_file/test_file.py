"""Model files: nothing is lost, and nothing but a model file is taken for one."""

from __future__ import annotations

import json
import math
import os
import pickle
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn import limits
from bdnn.errors import ModelError, ModelFileError
from bdnn.model import Model
from bdnn.model_file import ModelRecord, read_model, write_model
from bdnn.model_file.data import checksum
from bdnn.model_file.read import loads
from bdnn.model_file.write import dumps
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.encoding.encoders import make_encoder
from tests.grids import examples, long
from tests.sentences import assert_one_sentence

finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
labels = (
    st.lists(st.text(), min_size=2, max_size=2, unique=True)
    | st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=2, unique=True)
    | st.lists(finite, min_size=2, max_size=2, unique=True)
    | st.just([False, True])
)


def example(**changes):
    shape = Architecture.create(2, 2, hidden=(2,), weights=["ternary", "continuous"])
    network = Network(
        shape,
        (np.array([[1.0, 0.0], [-1.0, 1.0]]), np.array([[0.1, -1 / 3], [1e-300, 1.0]])),
        (np.array([0.5, 0.1]), np.array([2.0**-40, -7.25])),
    )
    model = {
        "network": network,
        "encoder": make_encoder([0.1, 1e10], [3.0, 1e-10], 2.0**-6, names=("größe", "重さ")),
        "classes": ("good", "bad"),
    }
    model |= {key: changes.pop(key) for key in model if key in changes}
    record = {
        "settings": {"hidden": [2], "limits": {"seconds": math.inf}},
        "result": {
            "loss": 2.0,
            "bound": -math.inf,
            "bound_origin": "nothing",
            "history": [[0.1, "start", math.inf, -math.inf]],
        },
        "extra": {"note": "ü\n\u2028\ud800"},
    }
    return ModelRecord(Model(**model), **{**record, **changes})


def assert_same(one, other):
    a, b = one.model, other.model
    assert a.network == b.network
    for name in ("weights", "thresholds"):
        for x, y in zip(getattr(a.network, name), getattr(b.network, name), strict=True):
            assert x.tobytes() == y.tobytes()
    for name in ("columns", "numbers", "step", "scale", "header"):
        assert repr(getattr(a.encoder, name)) == repr(getattr(b.encoder, name))
    assert list(map(repr, a.classes)) == list(map(repr, b.classes))
    for name in ("settings", "result", "extra"):
        assert getattr(one, name) == getattr(other, name)


def signed(text):
    """The same text with the checksum of its content, as a careful editor would write it."""
    data = json.loads(text)
    data.pop("checksum", None)
    return json.dumps({**data, "checksum": checksum(data)})


def edited(change, record=None):
    data = json.loads(dumps(record or example()))
    change(data)
    return signed(json.dumps(data))


def refused(text, match="model"):
    with pytest.raises(ModelFileError, match=match) as caught:
        loads(text)
    assert_one_sentence(caught.value)


def test_a_file_holds_all_of_a_model(tmp_path):
    record = example()
    write_model(record, tmp_path / "model.json")
    assert_same(read_model(tmp_path / "model.json"), record)


@given(
    weights=st.lists(st.floats(-1, 1), min_size=4, max_size=4),
    thresholds=st.lists(finite, min_size=2, max_size=2),
    shift=st.lists(finite, min_size=2, max_size=2),
    factor=st.lists(positive, min_size=2, max_size=2),
    classes=labels,
    names=st.none() | st.lists(st.text(), min_size=2, max_size=2).map(tuple),
    extra=st.dictionaries(st.text(), plain, max_size=3),
)
@examples(150)
def test_nothing_is_lost(weights, thresholds, shift, factor, classes, names, extra):
    shape = Architecture.create(2, 2, hidden=(), weights="continuous")
    network = Network(shape, (np.array(weights).reshape(2, 2),), (np.array(thresholds),))
    record = example(
        network=network,
        encoder=make_encoder(shift, factor, 2.0**-20, names=names),
        classes=tuple(classes),
        extra=extra,
    )
    assert_same(loads(dumps(record)), record)


@pytest.mark.parametrize(
    "classes",
    [("a", "b"), (0, 1), (-1, 10**18), (0.5, 1e300), (False, True), ("", "\u00e9\n"), ("1", 1)],
    ids=repr,
)
def test_labels_keep_their_type(classes):
    again = loads(dumps(example(classes=classes))).model.classes
    assert again == classes
    assert list(map(type, again)) == list(map(type, classes))


def test_numpy_numbers_become_plain_ones():
    extra = {"a": np.float64(0.1), "b": np.int64(3), "c": np.bool_(True), "d": np.float64("inf")}
    again = loads(dumps(example(extra=extra))).extra
    assert again == {"a": 0.1, "b": 3, "c": True, "d": math.inf}


@pytest.mark.parametrize(
    "changes",
    [
        {"extra": {"when": object()}},
        {"classes": (b"a", b"b")},
        {"classes": (math.nan, 1.0)},
        {"settings": {"a": {1, 2}}},
    ],
    ids=["object", "bytes", "nan", "set"],
)
def test_what_json_cannot_say_is_refused_in_one_sentence(tmp_path, changes):
    with pytest.raises(ModelError, match="cannot be written to a model file") as caught:
        write_model(example(**changes), tmp_path / "model.json")
    assert_one_sentence(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_file_cut_short_is_refused():
    text = dumps(example())
    for end in {0, 1, 10, len(text) // 2, len(text) - 3, *range(20, len(text) - 2, 37)}:
        refused(text[:end])


def test_a_changed_byte_is_noticed_or_means_nothing(tmp_path):
    record = example()
    path = tmp_path / "model.json"
    write_model(record, path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    for place in rng.integers(0, len(content), 400):
        changed = bytearray(content)
        changed[place] = rng.integers(0, 256)
        path.write_bytes(bytes(changed))
        try:
            again = read_model(path)
        except ModelFileError as error:
            assert_one_sentence(error)
            noticed += 1
        else:
            assert_same(again, record)
    assert noticed > 200


def test_an_edited_number_is_noticed():
    refused(dumps(example()).replace('"loss": 2.0', '"loss": 1.0'), "was changed after")


@pytest.mark.parametrize("version", [0, 4, 999, "1", None, True, [1], {}])
def test_other_versions_are_refused(version):
    refused(edited(lambda data: data.update(version=version)), "version .* of the model format")


def test_a_file_without_a_version_is_refused():
    refused(edited(lambda data: data.pop("version")), "version None of the model format")


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "3", '"bdnn-model"', "{}", '{"format": "other"}', "\ufeff{}"]
)
def test_other_json_is_refused(text):
    refused(text)


def set_path(*path, value):
    def change(data):
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


LAYERS = ("network", "layers")
FIRST = (*LAYERS, 0, "weights")
NUMBER = ("encoder", "numbers", 0)
COLUMN = ("encoder", "columns", 0)
WRONG = [
    *((LAYERS, value) for value in (None, [], [[[1, 0]]], "x", {"0": 1}, [[1, 0], [0, 1]], [{}])),
    (FIRST, [[1, 0], [0]]),
    (FIRST, [[1, 0], [0, 2]]),
    (FIRST, [[1, 0], [0, 0.5]]),
    (FIRST, [[1, 0], [0, "1"]]),
    (FIRST, [[1, 0], [0, None]]),
    (FIRST, [[True, False], [False, True]]),
    (FIRST, [[1, 0], [0, 10**30]]),
    ((*LAYERS, 1, "weights"), [[1, 0], [0, 1], [0, 0]]),
    *(
        ((*LAYERS, 0, "thresholds"), value)
        for value in (None, [[0, 0]], [0, 0], [[0], [0], [0]], [[0.5, 0.5]], [[0.5, 0.5]] * 2)
    ),
    (("network",), None),
    (("network",), "2-2-2"),
    (("network", "hidden"), [3]),
    (("network", "hidden"), [0]),
    (("network", "hidden"), [10**9]),
    (("network", "hidden"), "2"),
    (("network", "hidden"), [10**6]),
    (("network", "hidden"), [2] * 40),
    (("network", "hidden"), [2, None]),
    (("network", "weights"), ["ternary"]),
    (("network", "weights"), ["ternary", "int:0"]),
    (("network", "weights"), 5),
    (("network", "thresholds"), "zero"),
    (("network", "ties"), "last"),
    (("network", "activations"), ["other"]),
    (("network", "activations"), ["step", "step"]),
    (("network", "output"), "identity"),
    (("network", "depth"), 2),
    (("encoder",), None),
    (("encoder", "scale"), "robust"),
    (("encoder", "scale"), None),
    (("encoder", "step"), -1.0),
    (("encoder", "step"), None),
    (("encoder", "step"), "0.5"),
    (("encoder", "step"), 0.1),
    (("encoder", "step"), 0),
    (("encoder", "step"), 5e-324),
    (("encoder", "header"), 1),
    (("encoder", "numbers"), []),
    (("encoder", "numbers"), [{}, {}]),
    ((*NUMBER, "shift"), [0.0]),
    ((*NUMBER, "factor"), "1"),
    ((*NUMBER, "factor"), -1.0),
    ((*NUMBER, "factor"), 0.0),
    ((*NUMBER, "column"), 1),
    ((*NUMBER, "column"), False),
    ((*NUMBER, "column"), -2),
    ((*NUMBER, "value"), "x"),
    (("encoder", "columns"), None),
    (("encoder", "columns"), []),
    (("encoder", "columns"), ["a", "b"]),
    (COLUMN, {"name": "a"}),
    ((*COLUMN, "name"), 1),
    ((*COLUMN, "kind"), "category"),
    ((*COLUMN, "kind"), "date"),
    ((*COLUMN, "fill"), "x"),
    ((*COLUMN, "fill"), {"float": "inf"}),
    (COLUMN, {"name": "a", "kind": "category", "values": [], "fill": None}),
    (COLUMN, {"name": "a", "kind": "category", "values": ["x", "x"], "fill": None}),
    (COLUMN, {"name": "a", "kind": "category", "values": ["x"], "fill": "y"}),
    (COLUMN, {"name": "a", "kind": "category", "values": "xy", "fill": None}),
    (COLUMN, {"name": "a", "kind": "number", "values": ["x"], "fill": None}),
    (("outputs",), None),
    (("outputs", "classes"), None),
    (("outputs", "classes"), ["a", "a"]),
    (("outputs", "classes"), ["a", None]),
    (("outputs", "classes"), ["a", ["b"]]),
    (("outputs", "classes"), "ab"),
    (("outputs", "classes"), ["a", "b", "c"]),
    (("outputs", "targets"), {"shift": [0], "factor": [1], "unit": [1]}),
    (("kind",), 3),
    (("kind",), "forest"),
    (("kind",), "regressor"),
    (("settings",), []),
    (("result",), None),
    (("result", "bound"), 3),
    (("extra",), "x"),
]


@pytest.mark.parametrize(("path", "value"), WRONG, ids=lambda value: str(value)[:30])
def test_content_that_makes_no_sense_is_refused(path, value):
    refused(edited(set_path(*path, value=value)), "makes no sense")


@pytest.mark.parametrize("key", ["kind", "encoder", "network", "outputs", "result", "extra"])
def test_a_missing_part_is_refused(key):
    refused(edited(lambda data: data.pop(key)), "makes no sense")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_are_not_finite_are_refused(number):
    refused(dumps(example()).replace("-7.25", number))


@pytest.mark.parametrize("digits", [310, 401, 10_000, 10**6])
def test_a_number_of_many_digits_is_refused(digits):
    for number in ("9" * digits, "0." + "0" * digits + "1" if digits > 400 else "1e400"):
        refused(dumps(example()).replace("-7.25", number))


@pytest.mark.parametrize(
    "content", ["[" * 100, "[]", *long('{"a":0}', '"ab"', "1.5", "0", '"\U0001f600\U0001f600"')]
)
def test_a_file_that_would_fill_the_memory_is_refused(tmp_path, content):
    """Many small values take far more memory than the file is long."""
    path = tmp_path / "model.json"
    count = limits.MODEL_BYTES // (len(content.encode()) + 1) - 10
    path.write_text(f'{{"format": "bdnn-model", "a": [{",".join([content] * count)}]}}', "utf-8")
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert_one_sentence(caught.value)


def test_texts_beyond_the_limit_are_neither_written_nor_read():
    longest = limits.TEXT_CHARACTERS * "x"
    record = loads(dumps(example(extra={"note": longest})))
    assert record.extra["note"] == longest
    beyond = f"a text of {limits.TEXT_CHARACTERS + 1} characters"
    with pytest.raises(ModelError, match=beyond) as caught:
        dumps(example(extra={"note": longest + "x"}))
    assert_one_sentence(caught.value)
    refused(edited(lambda data: data["extra"].update(note=longest + "x")), beyond)


def test_an_array_of_texts_is_no_array_of_numbers():
    """Made an array, these would take 40 GB."""

    def change(data):
        data["network"]["layers"][0]["thresholds"] = ["1"] * 100_000 + ["1" * 100_000]

    refused(edited(change), "something else than numbers")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe of this system")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file") as caught:
        read_model(tmp_path / "pipe")
    assert_one_sentence(caught.value)


def test_a_key_that_stands_twice_is_refused():
    text = dumps(example())
    refused(text.replace('"kind"', '"kind": "x", "kind"', 1), "twice")


@pytest.mark.parametrize("depth", [100, 400, 900, 5_000, 200_000])
def test_deep_nesting_is_refused_or_read(depth):
    nested = "[" * depth + "]" * depth
    text = dumps(example(extra={"deep": None})).replace('"deep": null', f'"deep": {nested}')
    refused(text)
    if depth < 1_000:
        try:
            loads(signed(text))
        except ModelFileError as error:
            assert_one_sentence(error)


def test_a_pickle_is_not_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    path = tmp_path / "model.json"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps(Trap(), protocol=protocol))
        with pytest.raises(ModelFileError) as caught:
            read_model(path)
        assert_one_sentence(caught.value)
    assert not (tmp_path / "trapped").exists()


def test_a_huge_file_is_refused(tmp_path):
    path = tmp_path / "zeros.json"
    with path.open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(ModelFileError, match="has 1073741824 bytes, more than the") as caught:
        read_model(path)
    assert_one_sentence(caught.value)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="a device of this system")
def test_an_endless_file_is_refused():
    with pytest.raises(ModelFileError) as caught:
        read_model("/dev/zero")
    assert_one_sentence(caught.value)


def test_zeros_are_refused(tmp_path):
    path = tmp_path / "zeros.json"
    path.write_bytes(bytes(1000))
    with pytest.raises(ModelFileError, match="not a model file"):
        read_model(path)


def test_what_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path / "missing.json", tmp_path, tmp_path / "a" / "b"):
        with pytest.raises(ModelFileError, match="cannot be read") as caught:
            read_model(path)
        assert_one_sentence(caught.value)


def test_an_old_file_survives_a_failing_write(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    write_model(example(), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_model(example(extra={}), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_a_file_is_as_open_as_any_other(tmp_path):
    (tmp_path / "plain.txt").write_text("")
    write_model(example(), tmp_path / "model.json")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain.txt", "model.json")}
    assert len(modes) == 1


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="a device of this system")
def test_a_device_is_written_to_and_not_replaced(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    write_model(example(), link)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert link.is_symlink()
