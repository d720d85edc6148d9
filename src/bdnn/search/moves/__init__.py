"""Changes of a network, one unit or one weight at a time, on top of the primitives."""
