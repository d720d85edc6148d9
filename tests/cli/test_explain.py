from tests.cli.runner import assert_refused, run, run_json, write


def test_columns(model, small_csv, tmp_path):
    told = run_json("explain", model, small_csv)
    assert told["rows"] == "all rows"
    assert {each["column"] for each in told["columns"]} == {"a", "b"}
    assert "answers that change" in run("explain", model, small_csv).stdout
    data = write(tmp_path / "t.csv", "a,b,kind\n0,1,no\n3,4,yes\n9,9,no\n")
    assert run_json("explain", model, data)["rows"] == "1 rows that were not trained on"


def test_a_row(model, small_csv):
    told = run_json("explain", model, small_csv, "--row", 1)
    assert told["label"] == "no"
    assert told["smallest"]["becomes"] == "yes"
    done = run("explain", model, small_csv, "--row", 1)
    assert done.stdout.startswith("class no")
    assert_refused(run("explain", model, small_csv, "--row", 17), "--row must be from 1 to 16")
