"""Twelve CSV files as people have them, from the file to verified C in four commands each.

Every command is a process of its own in a fresh folder, as a new user would run it: train,
evaluate, report, export. What they printed is kept in a text file per trial. Then the C program
that was exported reads the file itself, texts and gaps included, and its answers are compared with
those of `bdnn predict`. The table has one line per trial: rows and columns of the file, what
training said to expect of new rows, accuracy on rows that were kept back and that of the best plain
model there, bytes of flash of the C code, answers of C that differ from Python's (on made inputs,
and on the rows of the file), and kinds of warnings.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

SUITE = Path(__file__).parent / "data" / "suite"
# What a warning says, and what it is called in the table.
KINDS = {
    "counts the rows": "row number",
    "tells the class": "leak",
    "different text": "names",
    "overfitting:": "overfitting",
    "no better than": "majority",
    "is rare": "imbalance",
    "are equal to rows": "duplicates",
}
Rows = list[list[str]]


def suite(name: str) -> Rows:
    """A table with its header."""
    with gzip.open(SUITE / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def unicode_headers(rows: Rows) -> Rows:
    """Names of columns, and of classes, in other scripts."""
    names = ["身長", "größe (cm)", "возраст", "数値 4", "ηλικία", "café", "naïveté", "日付"]
    labels = dict(zip(sorted({row[-1] for row in rows[1:]}), ["陰性", "陽性"], strict=True))
    names = names[: len(rows[0]) - 1]
    return [[*names, "診断"], *([*row[:-1], labels[row[-1]]] for row in rows[1:])]


def decimal_commas(rows: Rows) -> Rows:
    """Numbers as many countries write them."""
    return [rows[0], *([cell.replace(".", ",") for cell in row] for row in rows[1:])]


def timestamps(rows: Rows) -> Rows:
    """When a row was written, at random distances, as the first column."""
    rng = np.random.default_rng(1)
    start = datetime(2024, 1, 5, 8, 30)
    moments = start + np.cumsum([timedelta(seconds=int(s)) for s in rng.integers(60, 9000, 10**5)])
    stamped = [[str(moment), *row] for moment, row in zip(moments, rows[1:], strict=False)]
    return [["time", *rows[0]], *stamped]


def row_numbers(rows: Rows) -> Rows:
    """Rows sorted by class and then numbered."""
    ordered = sorted(rows[1:], key=lambda row: row[-1])
    return [["id", *rows[0]], *([str(i), *row] for i, row in enumerate(ordered, start=1))]


def imbalanced(rows: Rows) -> Rows:
    """One row in ten of the second class."""
    classes = sorted({row[-1] for row in rows[1:]})
    others = [row for row in rows[1:] if row[-1] != classes[1]]
    rare = [row for row in rows[1:] if row[-1] == classes[1]][::10]
    shuffled = np.random.default_rng(2).permutation(len(others) + len(rare))
    both = others + rare
    return [rows[0], *(both[i] for i in shuffled)]


def many() -> Rows:
    """Fifty thousand rows: sums, a product, a text, gaps; one label in ten is wrong."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50_000, 8)).round(3)
    town = rng.choice(["Oslo", "Lima", "Kyoto"], len(X))
    score = X[:, 0] + X[:, 1] * X[:, 2] + (town == "Lima") + 0.5 * X[:, 4] - 0.3
    is_good = (score > 0) ^ (rng.random(len(X)) < 0.1)
    cells = X.astype(str)
    cells[rng.random(X.shape) < 0.02] = ""
    header = [*(f"measure {j + 1}" for j in range(8)), "town", "quality"]
    columns = [*cells.T, town, np.where(is_good, "good", "bad")]
    return [header, *map(list, zip(*columns, strict=True))]


def same(rows: Rows) -> Rows:
    """As it is."""
    return rows


# Name: the table, what becomes of it, separator, encoding and line end.
Variant = tuple[str, Callable[[Rows], Rows], str, str, str]
VARIANTS: dict[str, Variant] = {
    "adult": ("adult", same, ",", "utf-8", "\n"),
    "german": ("german", same, ",", "utf-8", "\n"),
    "horse-colic": ("horse-colic", same, ",", "utf-8", "\n"),
    "ionosphere": ("ionosphere", same, ",", "utf-8", "\n"),
    "semicolon": ("wine", decimal_commas, ";", "utf-8", "\n"),
    "tab": ("segment", same, "\t", "utf-8", "\n"),
    "bom-crlf": ("heart", same, ",", "utf-8-sig", "\r\n"),
    "unicode": ("pima", unicode_headers, ",", "utf-8", "\n"),
    "timestamp": ("mammographic", timestamps, ",", "utf-8", "\n"),
    "id": ("wdbc", row_numbers, ",", "utf-8", "\n"),
    "imbalanced": ("phoneme", imbalanced, ",", "utf-8", "\n"),
    "50000-rows": ("", lambda _: many(), ",", "utf-8", "\n"),
}

# Without it training is refused in one sentence that names this option.
ASKED = {"timestamp": ("--drop", "time")}


def write(name: str, folder: Path) -> Path:
    """Write the file of a trial."""
    table, changed, separator, encoding, end = VARIANTS[name]
    path = folder / "data.csv"
    with path.open("w", encoding=encoding, newline="") as file:
        rows = changed(suite(table) if table else [])
        csv.writer(file, delimiter=separator, lineterminator=end).writerows(rows)
    return path


def run(folder: Path, *words: str) -> str:
    """Run a command of bdnn as people do; what it prints, errors included, is returned."""
    command = [sys.executable, "-m", "bdnn", *words]
    done = subprocess.run(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    told = f"$ bdnn {' '.join(words)}\n{done.stdout}\n"
    if done.returncode:
        raise SystemExit(f"{folder.name}: exit code {done.returncode}\n{told}")
    return told


def trial(name: str, folder: Path, seconds: float) -> dict[str, Any]:
    """Go the way of a new user, and collect the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    data = write(name, folder).name
    commands = [
        ("train", data, "--out", "model.json", "--seconds", f"{seconds:g}", *ASKED.get(name, ())),
        ("evaluate", "model.json", data),
        ("report", "model.json", data, "--out", "model.html"),
        ("export", "model.json", "--csv-main", "--verify", "1000"),
    ]
    printed = [run(folder, *words) for words in commands]
    (folder / "printed.txt").write_text("".join(printed), encoding="utf-8")
    model = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    found, held_out = model["extra"]["assessment"], model["result"]["held_out"]
    best = max(found["rivals"], key=lambda rival: rival["score"])
    exported = dict(line.split("  ", 1) for line in printed[-1].splitlines() if "  " in line)
    wrong, rows = compare_rows(folder, data)
    return {
        "rows": rows,
        "columns": len(model["encoder"]["columns"]) + 1,
        "expected": held_out["accuracy"],
        "test": (found["figures"]["accuracy"], found["figures"]["error"]),
        "best": (best["score"], best["name"]),
        "warnings": [kind for text, kind in KINDS.items() if text in " ".join(found["warnings"])],
        "flash": int(exported["flash bytes"]),
        "differences": f"{exported['differences'].strip()}, {wrong}",
    }


def compare_rows(folder: Path, data: str) -> tuple[int, int]:
    """Rows of the file that the C program answers in another way than Python does, and all."""
    python = run(folder, "predict", "model.json", data, "--quiet").splitlines()[2:-1]
    program = folder / "model"
    subprocess.run(["gcc", "-O1", "-x", "c", "model.h", "-o", program], cwd=folder, check=True)
    with (folder / data).open("rb") as file:
        done = subprocess.run([program], stdin=file, capture_output=True, check=True)
    c = done.stdout.decode().splitlines()
    if len(c) != len(python):
        raise SystemExit(f"{folder.name}: C answers {len(c)} rows, Python {len(python)}")
    return sum(one != other for one, other in zip(c, python, strict=True)), len(python)


def main() -> None:
    """Run the trials and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", nargs="*", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seconds", type=float, default=30.0, help="of a training")
    parser.add_argument("--out", type=Path, help="folder of files and of what was printed")
    options = parser.parse_args()
    folder = options.out or Path(tempfile.mkdtemp(prefix="bdnn-trials-"))
    print(f"files and printed texts in {folder}")
    head = f"{'':12}{'rows':>7}{'columns':>8}{'expected':>10}{'test':>15}{'best plain model':>30}"
    print(f"{head}{'flash':>8}{'differ':>9}  warnings")
    for name in options.trials:
        found = trial(name, folder / name, options.seconds)
        share, error = found["test"]
        score, best = found["best"]
        print(
            f"{name:12}{found['rows']:7}{found['columns']:8}{100 * found['expected']:8.1f} %"
            f"{100 * share:7.1f} +-{100 * error:4.1f} %{f'{100 * score:.1f} % {best}':>30}"
            f"{found['flash']:8}{found['differences']:>9}  {', '.join(found['warnings']) or '-'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
