"""Signals to ``bdnn train`` at any moment: no network is lost and no file is damaged."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import ClassVar

from bdnn import BDNNClassifier, load
from tests.cli.runner import command
from tests.signals import default_signals

_POLITE = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PATIENCE = 180.0


class Kills:
    """One process per case: what stood in the file before is there, or a whole new model."""

    name: ClassVar[str] = "kills"
    share: ClassVar[float] = 0.15

    def prepare(self, folder: Path) -> None:
        self.out = folder / "model.json"
        model = BDNNClassifier(hidden=(1,), method="exact", random_state=0)
        model.fit([[0.0], [1.0]], [0, 1]).save(self.out)
        self.old = self.out.read_bytes()

    def attempt(self, number: int) -> tuple[int, list[str]]:
        draw = random.Random(number)
        sent = draw.choice([*_POLITE, signal.SIGKILL])
        method = draw.choice(["auto", "exact", "descent"])
        hidden = draw.choice([2, 5, 12])
        self.out.write_bytes(self.old)
        options = ("--hidden", hidden, "--method", method, "--seconds", 20, "--seed", number)
        process = subprocess.Popen(
            command("train", "breast-cancer", *options, "--out", self.out),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=default_signals,
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},  # a crash tells where
        )
        try:
            # The first sign of life: from here on there is a network to be kept.
            line = " "
            while line and " loss " not in line:
                line = process.stderr.readline()
            time.sleep(draw.choice([0.0, 0.01, 0.2, 1.0, 3.0]))
            process.send_signal(sent)
            told, rest = process.communicate(timeout=_PATIENCE)
        finally:
            process.kill()
            process.wait()
        return 1, self._judge(sent, process.returncode, told, rest)

    def _judge(self, sent: signal.Signals, code: int, told: str, rest: str) -> list[str]:
        is_old = self.out.read_bytes() == self.old
        if sent == signal.SIGKILL and code == -sent:
            return [] if is_old or _is_whole(self.out) else ["a kill has damaged the file"]
        if code != 0:
            return [f"{sent.name} ends with {code}: {rest[-3000:]}"]
        if is_old or not _is_whole(self.out):
            return [f"{sent.name} has lost the network: {told[-300:]}"]
        return []


def _is_whole(path: Path) -> bool:
    return load(path).result_.loss == json.loads(path.read_text())["result"]["loss"]
