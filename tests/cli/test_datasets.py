from bdnn import datasets
from tests.cli.runner import run_apart, run_json


def test_table():
    done = run_apart("datasets")
    assert done.returncode == 0
    assert done.stderr == ""
    for name in datasets.names():
        assert name in done.stdout
    assert "CC BY 4.0" in done.stdout


def test_json():
    listed = run_json("datasets")["datasets"]
    assert [entry["name"] for entry in listed] == list(datasets.names())
    assert listed[0] == {
        "name": "breast-cancer",
        "rows": 699,
        "attributes": 9,
        "classes": 2,
        "source": listed[0]["source"],
        "licence": listed[0]["licence"],
        "offline": True,
    }
