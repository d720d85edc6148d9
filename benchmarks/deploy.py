"""Exported networks: equal to Python, small, fast; and model files that notice damage.

Parts (all, or those named by --parts):

equality  random networks of all weight sets, depths 0 to 3 and input types as C (gcc, clang where
          installed) and ONNX against Python: random inputs, neighbours on both sides of boundaries,
          and every input there is where a type has few; and compiled for a 32-bit ARM
size      accuracy, flash bytes (linked for Cortex-M0, soft-float library included) and ns per
          prediction of our C beside m2cgen and emlearn exports of trees, forests and small MLPs,
          as ratios to our smallest network of at least that accuracy; that network is
          picked by the accuracy on the test rows themselves, so a ratio is a comparison of sizes,
          not of generalisation
speed     rows per second, latency of one row and memory beside scikit-learn's MLP and forest
damage    model files edited by one byte in 1000 random places

Needs gcc; takes clang, arm-none-eabi-gcc, m2cgen, emlearn and onnxruntime where they are installed.
Run: python benchmarks/deploy.py [--parts equality,size] [--networks 200] [--inputs 100000]
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import bdnn
from bdnn.checker.report import check_model, training_rows
from bdnn.checker.table import make_samples
from bdnn.errors import BDNNError
from bdnn.export import read_model
from bdnn.export.boundary import boundary_inputs, random_inputs
from bdnn.export.c import export_c
from bdnn.export.c.compiler import STRICT, compiled_size, run_compiled

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.export.records import any_format, any_record

DATA = ("breast-cancer", "iris", "boston-housing", "digits")
BATCH = 10
FEW_INPUTS = 100_000
ARM = ("arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-Os", "-std=c99")
LINK = ("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
SPECS = ("--specs=nano.specs", "--specs=nosys.specs")


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="equality,size,speed,damage")
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5.0, help="to train one network")
    parser.add_argument("--data", nargs="+", default=list(DATA), help="for size and speed")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = {
        "equality": lambda: equality(arguments.networks, arguments.inputs),
        "size": lambda: sizes(arguments.data, arguments.seconds),
        "speed": lambda: speed(arguments.data, arguments.seconds),
        "damage": damage,
    }
    for name in arguments.parts.split(","):
        print(f"== {name}", flush=True)
        parts[name]()


def equality(n_networks: int, n_inputs: int) -> None:
    """Compare compiled headers and ONNX models with the forward pass."""
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    strange = ("-O3", "-ffast-math", "-march=native")
    checked = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    rng = np.random.default_rng(0)
    compared = dict.fromkeys((*compilers, "onnx"), 0)
    differences = dict(compared)
    integer_only = 0
    flash: list[int] = []
    for first in range(0, n_networks, BATCH):
        records = [any_record(rng) for _ in range(min(BATCH, n_networks - first))]
        exports = [
            export_c(record, name=f"net{i}", **any_format(rng)) for i, record in enumerate(records)
        ]
        integer_only += sum(export.is_integer for export in exports)
        inputs = [
            questions(record, export.inputs, n_inputs, rng)
            for record, export in zip(records, exports, strict=True)
        ]
        answers = [
            np.argmax(record.network.scores(export.inputs.scaled(X, record.scaler)), axis=1)
            for record, export, X in zip(records, exports, inputs, strict=True)
        ]
        for compiler in compilers:
            flags = strange if (first // BATCH) % 2 else checked
            found = run_compiled(exports, inputs, compiler=compiler, flags=flags)
            compared[compiler] += sum(map(len, inputs))
            differences[compiler] += sum(
                int(np.count_nonzero(a != b)) for a, b in zip(found, answers, strict=True)
            )
        if shutil.which(ARM[0]):
            flash += [arm_bytes(export) for export in exports]
        for record in records:
            seen = onnx_differences(record, n_inputs)
            if seen is not None:
                compared["onnx"] += seen[0]
                differences["onnx"] += seen[1]
    print(f"{n_networks} networks, {integer_only} of them without floating point in C")
    for name, count in compared.items():
        print(f"{name:8} {count:12} inputs compared, {differences[name]} differences")
    if flash:
        print(f"{ARM[0]}: all compile; flash median {np.median(flash):.0f}, most {max(flash)}")


def arm_bytes(export) -> int:
    """Compile for Cortex-M0 with all warnings as errors, and measure code and constants."""
    kind, name = export.inputs.c_type, export.name
    call = f"int {name}_class(const {kind} *x);\nint {name}_class(const {kind} *x)"
    source = f"{export.text}{call} {{ return {name}_predict(x); }}\n"
    return compiled_size(source, ARM[0], (*ARM[1:3], *STRICT[1:])).flash


def questions(record, inputs, count: int, rng) -> np.ndarray:
    """Random inputs, inputs at boundaries, and all inputs where there are few."""
    parts = [
        random_inputs(record.scaler, inputs, count, rng),
        boundary_inputs(record.network, record.scaler, inputs, count // 10, rng),
    ]
    sizes = [high - low + 1 for low, high in inputs.ranges]
    if sizes and np.prod([float(size) for size in sizes]) <= FEW_INPUTS:
        ranges = [range(low, high + 1) for low, high in inputs.ranges]
        parts.append(np.array(list(product(*ranges)), dtype=float))
    return np.concatenate(parts)


def onnx_differences(record, count: int) -> tuple[int, int] | None:
    """Inputs compared and differences under onnxruntime, None without it."""
    try:
        from bdnn.export.onnx import differences, to_onnx

        found = differences(record, to_onnx(record), count, at_boundaries=count // 10)
        return count, found
    except BDNNError:
        return None


@dataclass
class Candidate:
    """A classifier as C: how right, how large, how fast."""

    name: str
    accuracy: float
    flash: int
    nanoseconds: float


def eight_bits(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features as an 8-bit sensor gives them: grades and tenths, others in 255 steps."""
    data = bdnn.datasets.load(name)
    X = data.X * (10 if name == "iris" else 1)
    if name == "boston-housing":
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / (high - low) * 255
    return np.rint(X), np.unique(data.y, return_inverse=True)[1]


def sizes(names: list[str], seconds: float) -> None:
    """Print the candidates of every data set and the ratios to ours."""
    head = ("data", "model", "accuracy", "flash", "ns", "ours", "accuracy", "flash", "ns")
    layout = "{:15} {:26} {:>8} {:>7} {:>7}  {:22} {:>8} {:>6} {:>6} {:>7} {:>6}"
    print(layout.format(*head, "flash x", "ns x"))
    for name in names:
        X, y = eight_bits(name)
        split = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
        ours = sorted(our_candidates(*split, seconds), key=lambda c: c.flash)
        for candidate in ours:
            figures = (f"{candidate.accuracy:.1%}", candidate.flash, f"{candidate.nanoseconds:.1f}")
            print(layout.format(name, candidate.name, *figures, *[""] * 6), flush=True)
        for other in their_candidates(*split):
            match = next((c for c in ours if c.accuracy >= other.accuracy), None)
            row = [
                name,
                other.name,
                f"{other.accuracy:.1%}",
                other.flash,
                f"{other.nanoseconds:.1f}",
            ]
            if match is None:
                row += ["not reached", "", "", "", "", ""]
            else:
                row += [
                    match.name,
                    f"{match.accuracy:.1%}",
                    match.flash,
                    f"{match.nanoseconds:.1f}",
                ]
                row.append(f"{other.flash / match.flash:.1f}")
                row.append(f"{other.nanoseconds / match.nanoseconds:.1f}")
            print(layout.format(*row), flush=True)


def our_candidates(X, X_test, y, y_test, seconds: float) -> Iterator[Candidate]:
    """Networks of several widths, scalings and weight sets."""
    many = len(set(y)) > 4
    wide = ((), (2,), (4,), (8,), (16,), (32,), (64,), (128,))
    widths = wide if many else ((), (1,), (2,), (3,), (5,), (8,), (16,))
    for hidden, scale, weights in product(widths, ("standard", None), ("ternary", "int:3")):
        if weights != "ternary" and (many or (len(hidden) and hidden[0] > 2)):
            continue
        model = bdnn.BDNNClassifier(
            hidden=hidden,
            scale=scale,
            weights=weights,
            time_limit=seconds * (6 if many else 1),
            random_state=0,
        ).fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            model.save(path)
            header = export_c(read_model(path), name="ours", input="uint8")
        source = header.text + "int classify(const uint8_t *x) { return ours_predict(x); }\n"
        shape = "-".join(map(str, hidden)) or "none"
        label = f"bdnn {shape} {weights} {scale or 'raw'}"
        yield candidate(label, "uint8_t", source, X_test, y_test, model.predict(X_test))


def their_candidates(X, X_test, y, y_test) -> Iterator[Candidate]:
    """Trees, forests and MLPs by m2cgen and emlearn, those that are installed."""
    models = {
        "tree depth 2": DecisionTreeClassifier(max_depth=2, random_state=0),
        "tree depth 4": DecisionTreeClassifier(max_depth=4, random_state=0),
        "tree": DecisionTreeClassifier(random_state=0),
        "forest 5x3": RandomForestClassifier(5, max_depth=3, random_state=0),
        "forest 20": RandomForestClassifier(20, random_state=0),
        "MLP 5": MLPClassifier((5,), max_iter=3000, random_state=0),
        "MLP 25": MLPClassifier((25,), max_iter=3000, random_state=0),
    }
    exporters: dict[str, tuple[str, Callable]] = {}
    try:
        import m2cgen

        exporters["m2cgen"] = ("double", lambda model: _m2cgen_source(m2cgen, model))
    except ImportError:
        print("m2cgen is not installed")
    try:
        with np.errstate():  # whose import makes every underflow an error
            import emlearn

        exporters["emlearn"] = ("int16_t", lambda model: _emlearn_source(emlearn, model))
    except ImportError:
        print("emlearn is not installed")
    for (label, model), (exporter, (kind, write)) in product(models.items(), exporters.items()):
        is_net = isinstance(model, MLPClassifier)
        if is_net and exporter == "m2cgen":
            continue  # which does not know MLPs
        # emlearn cuts the fraction of a tree's thresholds off, which are halves here.
        unit = 2 if exporter == "emlearn" and not is_net else 1
        model.fit(unit * X, y)
        source = write(model)
        name, kind = f"{exporter} {label}", "float" if is_net else kind
        yield candidate(name, kind, source, unit * X_test, y_test, None)


def _m2cgen_source(m2cgen, model) -> str:
    sys.setrecursionlimit(20_000)
    n_classes = len(model.classes_)
    return (
        m2cgen.export_to_c(model)
        + f"\nint classify(const double *x) {{ double p[{n_classes}]; int i, c = 0;"
        + f" score((double *)x, p); for (i = 1; i < {n_classes}; ++i) if (p[i] > p[c]) c = i;"
        + " return c; }\n"
    )


def _emlearn_source(emlearn, model) -> str:
    n_features = model.n_features_in_
    if isinstance(model, MLPClassifier):
        code, kind = emlearn.convert(model).save(name="them"), "float"
    else:
        converted = emlearn.convert(model, method="inline", dtype="int16_t")
        code, kind = converted.save(name="them"), "int16_t"
    call = f"them_predict(x, {n_features})"
    return f"{code}\nint classify(const {kind} *x) {{ return (int){call}; }}\n"


def candidate(name, kind: str, source: str, X_test, y_test, expected) -> Candidate:
    """Compile, run on the test rows, measure."""
    classes, nanoseconds = run(kind, source, X_test)
    if expected is not None and (classes != expected).any():
        raise AssertionError(f"{name} does not answer like Python")
    return Candidate(
        name, float(np.mean(classes == y_test)), linked_bytes(kind, source), nanoseconds
    )


def _include() -> list[str]:
    found = find_spec("emlearn")
    return [] if found is None or found.origin is None else [f"-I{Path(found.origin).parent}"]


def linked_bytes(kind: str, source: str) -> int:
    """Flash of a program that calls the classifier, less that of one that calls nothing."""
    stub = f"int classify(const {kind} *x) {{ (void)x; return 0; }}\n"
    return _linked(kind, source) - _linked(kind, stub)


def _linked(kind: str, source: str) -> int:
    program = (
        f"#include <stdint.h>\n{source}\nvolatile {kind} buffer[64]; volatile int answer;\n"
        f"int main(void) {{ answer = classify((const {kind} *)buffer); return 0; }}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder) / "p.c", Path(folder) / "p.elf"
        file.write_text(program)
        command = [*ARM, *_include(), *LINK, *SPECS, file, "-o", target, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        told = subprocess.run(
            ["arm-none-eabi-size", target], check=True, capture_output=True, text=True
        ).stdout
    text, data = re.findall(r"\d+", told.splitlines()[1])[:2]
    return int(text) + int(data)


def run(kind: str, source: str, X: np.ndarray) -> tuple[np.ndarray, float]:
    """Classes of rows, and ns per prediction on this machine (best of five passes)."""
    rows = ",".join("{" + ",".join(str(int(v)) for v in row) + "}" for row in X)
    program = f"""
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <time.h>
{source}
static const {kind} ROWS[{len(X)}][{X.shape[1]}] = {{{rows}}};
static volatile int sink;
int main(void) {{
    int i, r, t; double best = 1e18;
    for (i = 0; i < {len(X)}; ++i) printf("%d\\n", classify(ROWS[i]));
    for (t = 0; t < 5; ++t) {{
        struct timespec a, b; double ns;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (r = 0; r < 500; ++r) for (i = 0; i < {len(X)}; ++i) sink = classify(ROWS[i]);
        clock_gettime(CLOCK_MONOTONIC, &b);
        ns = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / (500.0 * {len(X)});
        if (ns < best) best = ns;
    }}
    printf("%f\\n", best);
    return 0;
}}
"""
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder) / "p.c", Path(folder) / "p"
        file.write_text(program)
        command = ["gcc", "-std=c99", "-O2", *_include(), file, "-o", target, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        told = subprocess.run([target], check=True, capture_output=True, text=True).stdout.split()
    return np.array(told[:-1], dtype=int), float(told[-1])


def speed(names: list[str], seconds: float) -> None:
    """Python prediction beside scikit-learn's."""
    layout = "{:15} {:22} {:>8} {:>12} {:>10} {:>10}"
    print(layout.format("data", "model", "accuracy", "rows/s", "one row us", "bytes"))
    for name in names:
        data = bdnn.datasets.load(name)
        X, X_test, y, y_test = train_test_split(
            data.X, data.y, test_size=0.3, random_state=0, stratify=data.y
        )
        width = 50 if name == "digits" else 8
        models = {
            f"bdnn {width}": bdnn.BDNNClassifier(
                hidden=(width,), time_limit=4 * seconds, random_state=0
            ),
            f"MLP {width}": MLPClassifier((width,), max_iter=3000, random_state=0),
            "forest 100": RandomForestClassifier(random_state=0),
        }
        many = np.tile(X_test, (100_000 // len(X_test) + 1, 1))[:100_000]
        for label, model in models.items():
            model.fit(X, y)
            size = len(pickle.dumps(model))
            if isinstance(model, bdnn.BDNNClassifier):
                size = -(-model.network_.size_bits // 8)
            batch = _best(model.predict, many, 5)
            single = _best(model.predict, X_test[:1], 100)
            accuracy = f"{model.score(X_test, y_test):.1%}"
            figures = (f"{len(many) / batch:.3g}", f"{1e6 * single:.0f}", size)
            print(layout.format(name, label, accuracy, *figures), flush=True)
    print("bytes: weights and thresholds of ours, the pickled model of the others")


def _best(call: Callable[[np.ndarray], object], rows: np.ndarray, repeats: int) -> float:
    call(rows)
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call(rows)
        times.append(time.perf_counter() - started)
    return min(times)


def damage() -> None:
    """Edit a model file by one byte in 1000 random places."""
    from bdnn.checker import read_model as read_checked

    data = bdnn.datasets.load("iris")
    model = bdnn.BDNNClassifier(hidden=(3,), time_limit=5, random_state=0).fit(data.X, data.y)
    rng = np.random.default_rng(0)
    outcomes = {"refused": 0, "false claim": 0, "same meaning": 0, "unnoticed": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        whole = path.read_bytes()
        before = json.loads(whole)
        for _ in range(1000):
            edited = bytearray(whole)
            edited[rng.integers(len(whole))] = rng.integers(256)
            path.write_bytes(bytes(edited))
            try:
                checked = read_checked(path)
                samples = make_samples(checked, data.X.tolist(), data.y.tolist())
                samples = samples.chosen(training_rows(checked, len(data.y)))
                verdicts = {claim.verdict for claim in check_model(checked, samples)}
            except BDNNError:
                outcomes["refused"] += 1
                continue
            if "false" in verdicts:
                outcomes["false claim"] += 1
            elif json.loads(path.read_bytes()) == before:
                outcomes["same meaning"] += 1
            else:
                outcomes["unnoticed"] += 1
    print(", ".join(f"{count} {name}" for name, count in outcomes.items()))


if __name__ == "__main__":
    main()
