"""What is to be minimised: samples, the loss of a network on them, and what else is asked."""
