"""Exported networks: equal to Python, small, fast; and model files that notice damage.

Parts (all, or those named by --parts):

equality  random networks of all weight sets, depths 0 to 3 and input types as C (gcc, clang where
          installed) and ONNX against Python: random inputs, neighbours on both sides of boundaries,
          and every input there is where a type has few; and compiled for a 32-bit ARM
size      accuracy, flash bytes (linked for Cortex-M0, soft-float library included) and ns per
          prediction of our C beside m2cgen and emlearn exports of trees, forests and small MLPs,
          as ratios to our smallest and our fastest network of at least that accuracy; these are
          picked by the accuracy on the test rows themselves, so a ratio is a comparison of sizes,
          not of generalisation; the other way round, peers that are smaller or faster than every
          network of ours of at least their accuracy are counted
speed     rows per second, latency of one row and memory beside scikit-learn's ReLU network of
          equal width and its tree, and the latency of the bare predictor
damage    model files edited by one byte in 1000 random places

Needs gcc; takes clang, arm-none-eabi-gcc, m2cgen, emlearn and onnxruntime where they are installed.
Run: python benchmarks/deploy.py [--parts equality,size] [--networks 200] [--inputs 100000]
"""

from __future__ import annotations

import argparse
import warnings

from deployed.damage import damage
from deployed.equality import equality
from deployed.sizes import sizes
from deployed.speed import speed

DATA = ("breast-cancer", "iris", "boston-housing", "digits")


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="equality,size,speed,damage")
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5.0, help="to train one network")
    parser.add_argument("--data", nargs="+", default=list(DATA), help="for size")
    parser.add_argument("--split", type=int, default=0, help="seed of the test rows of size")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = {
        "equality": lambda: equality(arguments.networks, arguments.inputs),
        "size": lambda: sizes(arguments.data, arguments.seconds, arguments.split),
        "speed": lambda: speed(arguments.seconds),
        "damage": damage,
    }
    for name in arguments.parts.split(","):
        print(f"== {name}", flush=True)
        parts[name]()


if __name__ == "__main__":
    main()
