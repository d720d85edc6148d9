"""Model files with one byte changed: refused, contradicted, or of the same meaning."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import bdnn
from bdnn.checker import check_model, make_samples, read_model, training_samples
from bdnn.errors import BDNNError

EDITS = 1000
PROMISES = [
    {"kind": "error", "at_most": 0.1},
    {"kind": "radius", "radius": 0.01, "norm": "linf", "space": "raw", "rows": "1-20"},
]


def damage() -> None:
    """Edit a model file in random places, as it is and with a checksum that fits again."""
    data = bdnn.datasets.load("iris")
    model = bdnn.BDNNClassifier(
        hidden=(3,), objective="loss", limits=bdnn.Limits(seconds=5), random_state=0
    ).fit(data.X, data.y)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path, promises=PROMISES)
        whole = path.read_bytes()
        for title, is_forged in (("one byte", False), ("one byte and the checksum", True)):
            outcomes: Counter[str] = Counter()
            for _ in range(EDITS):
                edited = bytearray(whole)
                edited[rng.integers(len(whole))] ^= rng.integers(1, 256)
                path.write_bytes(_forged(bytes(edited)) if is_forged else bytes(edited))
                outcomes[_outcome(path, data, json.loads(whole))] += 1
            told = ", ".join(f"{count} x {name}" for name, count in outcomes.most_common())
            print(f"{title}: {told}", flush=True)
    print("what agrees with a forged checksum: names, settings, claims that nothing contradicts")


def _forged(content: bytes) -> bytes:
    """Make the checksum fit, as whoever edits a file on purpose would."""
    try:
        parsed = json.loads(content)
        parsed.pop("checksum")
        text = json.dumps(parsed, sort_keys=True, separators=(",", ":"))
        parsed["checksum"] = hashlib.sha256(text.encode()).hexdigest()
        return json.dumps(parsed).encode()
    except (ValueError, KeyError):
        return content


def _outcome(path: Path, data, before: dict) -> str:
    """What becomes of a file; any error but the package's own ends the benchmark."""
    try:
        bdnn.load(path)
        loaded = "loaded"
    except BDNNError:
        loaded = "load refuses"
    try:
        checked = read_model(path)
        rows = zip(data.X.tolist(), data.y.tolist(), strict=True)
        samples = training_samples(checked, make_samples(checked, rows))
        verdicts = {claim.verdict for claim in check_model(checked, samples)}
        found = "check finds a false claim" if "false" in verdicts else "check agrees"
    except BDNNError:
        found = "check refuses"
    if (loaded, found) == ("loaded", "check agrees") and json.loads(path.read_bytes()) == before:
        return "same meaning"
    return f"{loaded} and {found}"
