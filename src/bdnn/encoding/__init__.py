"""From a table of raw columns to the inputs of a network."""

from bdnn.encoding.columns import Column
from bdnn.encoding.encoder import Encoder, Number
from bdnn.encoding.table import Table

__all__ = ["Column", "Encoder", "Number", "Table"]
