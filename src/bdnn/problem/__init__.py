"""What is to be minimised: samples, the loss of a network on them, and what else is asked."""

# Losses of numbers are known by name once their files are read.
import bdnn.problem.losses.absolute
import bdnn.problem.losses.squared  # noqa: F401
