"""Primitives that go over all inputs: compiled, and the same in plain numpy."""
