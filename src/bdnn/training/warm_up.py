"""``python -m bdnn.training.warm_up`` compiles ahead of time, as an image is built for example."""

from bdnn.bounds.listed import columns, table
from bdnn.clock import Slot
from bdnn.search import certified, constrained
from bdnn.search.warm_up import wait_for_regression, wait_until_ready

if __name__ == "__main__":
    wait_until_ready(Slot(), levels=True)
    wait_for_regression(Slot())
    constrained.MOVES.wait(Slot())
    certified.MOVES.wait(Slot())
    table.KERNELS.wait(Slot())
    columns.KERNELS.wait(Slot())
