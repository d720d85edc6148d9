"""Forged files against the checker: none proven wrongly, none slow or large, no surprise."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import bdnn
from bdnn.cli import main
from tests.fuzz.forger import Case, make_case
from tests.fuzz.models import train_all
from tests.fuzz.truth import is_true

_MOST_SECONDS = 5.0
_MOST_KILOBYTES = 500_000


def complaints(case: Case, folder: Path) -> tuple[int, list[str]]:
    """Exit code of ``bdnn check`` for a file, and everything that is wrong with what it did."""
    path = folder / "forged.json"
    path.write_bytes(case.data)
    began = time.process_time()
    code, out, err = run("check", path, folder / "data.csv", "--json")
    seconds = time.process_time() - began
    wrong = [f"it took {seconds:.1f} s"] if seconds > _MOST_SECONDS else []
    if code not in (0, 1, 2):
        wrong.append(f"exit code {code}")
    if code == 2 and (out or not err.startswith("error: ") or err.count("\n") != 1):
        wrong.append(f"no single sentence: {err[-300:]}")
    if code in (0, 1):
        wrong += _judge(code, json.loads(out)["claims"], json.loads(case.data))
    return code, wrong + _read(path, folder)


def run(*arguments: object) -> tuple[int | str, str, str]:
    """Run a command in this process; an error that nobody caught is its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            return int(end.code or 0), out.getvalue(), err.getvalue()
        except Exception as error:
            return f"{type(error).__name__}: {error}", out.getvalue(), err.getvalue()
    raise AssertionError("the command line did not end")


def _judge(code: int, claims: list[dict[str, str]], content: dict) -> list[str]:
    """What is proven and not true, or false without telling so."""
    wrong = []
    if code != int(any(claim["verdict"] == "false" for claim in claims)):
        wrong.append("the exit code does not tell whether a claim is false")
    promises = content.get("certificate", {}).get("promises", [])
    places = [None] * (len(claims) - len(promises)) + promises
    for claim, promise in zip(claims, places, strict=True):
        if claim["verdict"] == "proven" and not is_true(claim, promise, content):
            wrong.append(f"proven wrongly: {claim['name']}: {claim['detail']}")
    return wrong


def _read(path: Path, folder: Path) -> list[str]:
    """What the other readers make of the file: a model, or one sentence."""
    data = folder / "data.csv"
    commands = [
        ("info", path),
        ("predict", path, data),
        ("evaluate", path, data),
        ("certify", path, data, "--radius", "0.01"),
        ("export", path, "--to", "c", "--out", folder / "model.h"),
        ("export", path, "--to", "rules"),
    ]
    wrong = []
    try:
        bdnn.load(path)
    except bdnn.BDNNError:
        commands = commands[:2]  # all others read it in the same way
    except Exception as error:
        wrong.append(f"load: {type(error).__name__}: {error}")
    for command in commands:
        code, _, err = run(*command)
        if code not in (0, 2) or err.count("error: ") != int(code == 2):
            wrong.append(f"{command[0]}: {code} {err[-300:]}")
    return wrong


def prepare(folder: Path) -> Mapping[str, bytes]:
    """Train the originals and write their table."""
    with contextlib.chdir(folder):
        originals = train_all()
    _wait_for_threads()
    return originals


def _wait_for_threads() -> None:
    """Let ours end: one that loads a library may put back the streams that `run` exchanges."""
    for thread in threading.enumerate():
        # Others, as of whoever runs tests in parallel, never end.
        if thread.name.startswith("bdnn-"):
            thread.join()


class ForgedFiles:
    """One file per case, and one claim: nothing in it is proven wrongly, and nothing takes long."""

    name: ClassVar[str] = "forged files"
    share: ClassVar[float] = 0.5

    def prepare(self, folder: Path) -> None:
        self.folder, self.originals = folder, prepare(folder)

    def attempt(self, number: int) -> tuple[int, list[str]]:
        case = make_case(self.originals, number)
        _wait_for_threads()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _, wrong = complaints(case, self.folder)
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if more > _MOST_KILOBYTES:
            wrong.append(f"it took {more / 1000:.0f} MB")
        return 1, [f"{case.name}: {complaint}" for complaint in wrong]
