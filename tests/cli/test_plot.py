import json

import pytest

from tests.cli.runner import assert_refused, run, run_apart


def test_a_picture_by_a_real_process(model, small_csv, tmp_path):
    out = tmp_path / "picture.png"
    options = ("--what", "regions", "--features", "b,1", "--out", out, "--json")
    told = run_apart("plot", model, small_csv, *options)
    assert json.loads(told.stdout)["out"] == str(out)
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("options", ["progress", "weights --layer 2", "weights --shape 1x2"])
def test_pictures(options, model, tmp_path):
    out = tmp_path / "picture.svg"
    done = run("plot", model, "--out", out, "--what", *options.split())
    assert done.returncode == 0
    assert str(out) in done.stdout
    assert "<svg" in out.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--what dreams", "--what must be"),
        ("--what regions", "needs DATA"),
        ("--what weights --shape 8", "--shape must be"),
        ("--what weights --shape 8x8", "shape must be"),
        ("--what weights --layer 9", "layer must be"),
        ("--layer 1", "does not belong"),
        ("DATA --what regions --features a,z", "features must be"),
        ("--out picture.doc", "must end in .png"),
        ("--out no/picture.png", "no folder"),
    ],
)
def test_bad_input(options, message, model, small_csv, tmp_path):
    words = options.replace("DATA", str(small_csv)).split()
    out = [] if "--out" in words else ["--out", "picture.png"]
    assert_refused(run("plot", model, *out, *words, cwd=tmp_path), message)
    assert not list(tmp_path.iterdir())
