"""The same table from numpy, pandas, polars, pyarrow and CSV gives the same encoder and model."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bdnn import BDNNClassifier, BDNNRegressor, Inputs, Limits, load
from bdnn.datasets import Samples
from bdnn.encoding import read_codes
from bdnn.errors import DataError
from tests.datasets.reading import table
from tests.sentences import assert_one_sentence

RNG = np.random.default_rng(0)
N = 40
AGE = RNG.integers(20, 70, N).tolist()
COLUMNS = {
    "age": [None if i % 9 == 4 else v for i, v in enumerate(AGE)],
    "dose": RNG.normal(1, 0.5, N).round(2).tolist(),
    "job": [
        None if i % 11 == 3 else str(v) for i, v in enumerate(RNG.choice(["cook", "nurse"], N))
    ],
    "smoker": RNG.choice([True, False], N).tolist(),
    "zip": RNG.choice([1010, 1020, 8010], N).tolist(),
}
NAMES = list(COLUMNS)
Y = [int((a > 45) ^ s) for a, s in zip(AGE, COLUMNS["smoker"], strict=True)]
INPUTS = {"scale": "standard", "cuts": 4, "categories": ["zip"], "drop": ["dose"]}


def rows(columns):
    return list(zip(*columns.values(), strict=True))


def as_csv(columns):
    cells = [["" if v is None else str(v) for v in row] for row in rows(columns)]
    return "\n".join(",".join(line) for line in [list(columns), *cells]) + "\n"


FRAMES = {
    "numpy": lambda c: np.array(rows(c), dtype=object),
    "list": lambda c: [list(row) for row in rows(c)],
    "pandas": pd.DataFrame,
    "pandas nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "pandas categorical": lambda c: pd.DataFrame(c).astype({"job": "category"}),
    "polars": pl.DataFrame,
    "polars texts": lambda c: pl.DataFrame(c).with_columns(pl.all().cast(pl.String)),
    "polars NaN": lambda c: pl.DataFrame(c).with_columns(
        pl.col("age").cast(pl.Float32).fill_null(float("nan")), pl.col("job").cast(pl.Categorical)
    ),
    "pyarrow": pa.table,
    "csv": as_csv,
}


def learned(kind, encode):
    options = {
        "hidden": (2,),
        "inputs": Inputs(encode, **INPUTS),
        "method": "descent",
        "limits": Limits(seconds=60, loss=30),
        "random_state": 0,
    }
    if kind == "csv":
        read = table(FRAMES[kind](COLUMNS | {"y": Y}))
        samples = Samples.from_table(read, None, options["inputs"])
        model = BDNNClassifier(**options).fit(samples.X, Y, encoder=samples.encoder)
        return model, lambda c: model.predict(read_codes(model.encoder_, table(as_csv(c)))[0])
    X = FRAMES[kind](COLUMNS)
    names = NAMES if kind in ("numpy", "list") else None
    model = BDNNClassifier(**options).fit(X, Y, feature_names=names)
    return model, lambda c: model.predict(FRAMES[kind](c))


@pytest.mark.parametrize("encode", ["scaled", "cuts", "both"])
@pytest.mark.parametrize("kind", FRAMES)
def test_tables_of_all_kinds_are_the_same(kind, encode):
    reference, predict_reference = learned("csv", encode)
    model, predict = learned(kind, encode)
    one, other = reference.encoder_, model.encoder_
    assert one.columns == other.columns
    assert (one.numbers, one.bits, one.step, one.header) == (
        other.numbers,
        other.bits,
        other.step,
        other.header,
    )
    assert model.network_ == reference.network_
    assert model._certificate["data"] == reference._certificate["data"]
    new = COLUMNS | {"job": ["pilot", *COLUMNS["job"][1:]], "zip": [None, *COLUMNS["zip"][1:]]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert predict(new).tolist() == predict_reference(new).tolist()


def small(**options):
    options = {"hidden": (2,), "method": "descent", "limits": Limits(seconds=60, loss=40)} | options
    return BDNNClassifier(random_state=0, **options)


def test_a_model_of_a_frame_is_saved_extended_and_scored(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    model = small(inputs=Inputs("both", categories=["zip"])).fit(frame[:30], Y[:30])
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == NAMES
    assert 0 <= model.score(frame, Y) <= 1
    encoder = model.encoder_
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    assert again.get_params()["inputs"] == model.inputs
    model.extend(frame[30:], Y[30:])
    assert model.encoder_ is encoder
    assert model.result_.error <= 1


def test_a_dropped_column_may_be_there_after_loading(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    model = small(inputs=Inputs(drop=["zip"])).fit(frame, Y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    assert again.encoder_.names == ("age", "dose", "job", "smoker")
    places = small(inputs=Inputs(drop=[0])).fit([[9.0, i] for i in range(8)], [0, 1] * 4)
    places.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").predict([[9.0, 3.0]]).shape == (1,)


def test_what_was_not_so_in_training_is_said_once():
    frame = pd.DataFrame(COLUMNS)
    model = small(inputs="cuts").fit(frame, Y)
    frame.loc[:1, "dose"] = np.nan
    frame.loc[2, "job"] = "pilot"
    told = (
        "column 'job' holds 1 values .* such as 'pilot'.*; filled 2 missing values of column 'dose'"
    )
    with pytest.warns(UserWarning, match=told) as caught:
        model.predict(frame)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_unknown_texts_are_refused_if_asked():
    frame = pd.DataFrame(COLUMNS)
    model = small(inputs=Inputs("cuts", unknown="error")).fit(frame, Y)
    frame.loc[2, "job"] = "pilot"
    with pytest.raises(DataError, match="holds 'pilot' in row 3, which did not occur in training"):
        model.predict(frame)


@pytest.mark.parametrize(
    ("column", "what"),
    [
        ([datetime.date(2024, 1, 1 + i % 9) for i in range(N)], "dates or times"),
        ([f"2024-01-{1 + i % 9:02}" for i in range(N)], "dates or times"),
        ([datetime.datetime(2024, 1, 1 + i % 9) for i in range(N)], "dates or times"),
        ([[1, 2]] * N, "values of type List"),
        ([2**60 + i for i in range(N)], "whole numbers beyond"),
    ],
)
def test_what_is_no_input_is_refused_until_it_is_dropped(column, what):
    frame = pl.DataFrame({"a": range(N), "odd": column})
    with pytest.raises(DataError, match=what) as caught:
        small().fit(frame, Y)
    assert_one_sentence(caught.value)
    assert "Inputs(drop=['odd']) or --drop" in str(caught.value)
    model = small(inputs=Inputs(drop=["odd"])).fit(frame, Y)
    assert model.predict(frame).shape == (N,)


def test_gaps_in_an_array_of_numbers():
    X = RNG.normal(size=(30, 2))
    X[::7, 1] = np.nan
    model = small(inputs="both").fit(X, (X[:, 0] > 0).astype(int))
    assert model.encoder_.input_names[-1] == "x2 is missing"
    assert model.predict(X).shape == (30,)
    regressor = BDNNRegressor(
        hidden=(2,), inputs="cuts", method="descent", limits=Limits(seconds=60, loss=1e9)
    ).fit(X, X[:, 0])
    assert regressor.predict(X).shape == (30,)


def test_feature_names_of_another_number():
    with pytest.raises(DataError, match="feature_names must name 2 features, got 1"):
        small().fit([[1.0, 2.0], [2.0, 3.0]], [0, 1], feature_names=["a"])
