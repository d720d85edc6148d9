"""An experiment of seconds, whose cells do not depend on the speed of the machine."""

import tomllib
from dataclasses import replace

from bdnn.experiments import parse_experiment

TINY = """
title = "Tiny"
about = "For tests."
seeds = [0, 1, 2]
attacks = [0.5]

[split]
test = 0.3
validation = 0.2
rows = 60

[grid]
data = ["iris"]
hidden = ["2", "3"]

[[methods]]
name = "DS"
paper = "BDNN"
settings = { weights = "ternary", method = "data_splitting" }
options = { epochs = 3, batch_size = { iris = 16, default = 64 }, patience = 1e-9 }
seconds = 300.0
typical = 0.2

[[methods]]
name = "DNN"
kind = "dnn"
paper = "DNN"
settings = { epochs = 5, batch_size = 16 }
typical = 0.1

[[methods]]
name = "tree"
kind = "peer"
counted = false
settings = { model = "tree" }
typical = 0.1

[table]
rows = ["hidden", "method"]
columns = ["measure"]
measures = ["accuracy", "min accuracy", "attack 0.5", "gap", "seconds"]

[[figures]]
title = "Errors <per> epoch"
x = "epoch"
y = "validation_error"
panels = "hidden"

[[paper]]
method = "BDNN"
hidden = ["2", "3"]
accuracy = [10.0, 100.1]
seconds = [1000.0, 1000.0]

[[paper]]
method = "DNN"
hidden = "2"
accuracy = 1.0

[quick]
seeds = [0]
grid = { hidden = ["2"] }
"""

# Cells of milliseconds in processes that start at once, because nothing is trained.
FACTS = """
title = "Facts"
seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

[grid]
data = ["uniform", "boston-housing"]

[[methods]]
name = "facts"
kind = "facts"

[table]
rows = ["data"]
columns = ["method", "measure"]
measures = ["instances", "largest_class"]
"""


def tiny(text=TINY, *, seeds=None, **options):
    experiment = parse_experiment(tomllib.loads(text), "tiny", **options)
    return experiment if seeds is None else replace(experiment, seeds=tuple(seeds))
