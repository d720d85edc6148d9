"""From a table of raw columns to the inputs of a network."""
