"""``python -m bdnn.training.warm_up`` compiles ahead of time, as an image is built for example."""

from bdnn.bounds import arrangement
from bdnn.bounds.listed import columns, table
from bdnn.clock import Slot
from bdnn.learning.gradients import load
from bdnn.model.model import LOADING
from bdnn.network.architecture import Architecture
from bdnn.robustness.compiled_branching import COMPILED_BOXES
from bdnn.search.loading import wait_for_regression, wait_for_worst_case, wait_until_ready
from bdnn.training.phases.robust_starts import VOTES

if __name__ == "__main__":
    load()
    LOADING.wait(Slot())
    for rule in ("step", "ternary"):
        shape = Architecture.create(1, 1, hidden=(1,), thresholds="layer", activation=rule)
        wait_until_ready(Slot(), shape)
    wait_for_regression(Slot())
    wait_for_worst_case(Slot())
    table.KERNELS.wait(Slot())
    columns.KERNELS.wait(Slot())
    arrangement.KERNELS.wait(Slot())
    COMPILED_BOXES.wait(Slot())
    VOTES.wait(Slot())
