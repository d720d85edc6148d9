"""Groups of options, and the signature that is made of them."""

from dataclasses import dataclass
from inspect import Parameter, signature

import pytest
import typer
from typer.testing import CliRunner

from bdnn.cli.commands.train import train
from bdnn.cli.options import argument, option, options
from tests.cli.runner import run

PANELS = ("Data", "Shape", "Learning", "Limits", "Guarantee", "Constraints", "Judging", "Output")


@dataclass(frozen=True)
class Table:
    file: str = argument("FILE", "What to read.")
    rows: int = option("How many.", 3)


@dataclass(frozen=True)
class Words(Table):
    panel = "Words and rows"

    words: list[str] | None = option("What to say.", None, "--word")


@options
def show(words: Words, loud: bool = option("Whether to shout.", False)) -> None:
    """Show what was given."""
    typer.echo(f"{words} {loud}")


def invoke(*arguments):
    app = typer.Typer()
    app.command()(show)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_group_is_handed_over_as_one_object():
    assert invoke("a.csv").strip() == "Words(file='a.csv', rows=3, words=None) False"
    told = invoke("a.csv", "--rows", "5", "--word", "x", "--word", "y", "--loud")
    assert told.strip() == "Words(file='a.csv', rows=5, words=['x', 'y']) True"


def test_the_signature_has_single_options():
    found = signature(show).parameters
    assert list(found) == ["file", "rows", "words", "loud"]
    assert found["file"].default is Parameter.empty
    assert found["rows"].default == 3


def test_a_group_is_a_panel():
    told = invoke("--help")
    assert told.index("Words and rows") < told.index("--word")
    assert "How many." in told


def test_train_takes_groups_and_shows_them_as_panels():
    groups = [p.annotation for p in signature(train.__wrapped__).parameters.values()]
    assert groups == [*PANELS[:-1], "ModelOutput"]
    told = run("train", "--help").stdout
    places = [told.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)


@pytest.mark.parametrize("old", ["--time-limit", "--node-limit", "--robust-radius", "--epochs"])
def test_old_names_are_gone(old):
    done = run("train", "iris", old, 1)
    assert done.returncode == 2
    assert old in done.stderr
