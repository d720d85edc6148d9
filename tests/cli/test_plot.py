import pytest

from bdnn.cli import main
from tests.cli.runner import run_json


def test_a_picture_by_a_real_process(model, small_csv, tmp_path):
    out = tmp_path / "picture.png"
    told = run_json(
        "plot", model, small_csv, "--what", "regions", "--features", "b,1", "--out", out
    )
    assert told["out"] == str(out)
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("options", ["progress", "weights --layer 2", "weights --shape 1x2"])
def test_pictures(options, model, tmp_path, capsys):
    out = tmp_path / "picture.svg"
    with pytest.raises(SystemExit) as ended:
        main(["plot", str(model), "--out", str(out), "--what", *options.split()])
    assert ended.value.code == 0
    assert str(out) in capsys.readouterr().out
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
def test_bad_input(options, message, model, small_csv, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = options.replace("DATA", str(small_csv)).split()
    with pytest.raises(SystemExit) as ended:
        main(["plot", str(model), *([] if "--out" in words else ["--out", "picture.png"]), *words])
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert message in told.err
    assert not list(tmp_path.iterdir())
