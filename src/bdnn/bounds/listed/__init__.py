"""Bounds for networks whose hidden units can be listed."""
