"""Search for regression networks: exact moves of units, fits of the last layer."""
