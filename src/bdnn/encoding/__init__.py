"""From a table of raw columns to the inputs of a network."""

from bdnn.encoding.columns import Bit, Column, Number, learn_columns
from bdnn.encoding.encoder import Encoder
from bdnn.encoding.inputs import Inputs
from bdnn.encoding.reading import check_codes, note_gaps, read_codes
from bdnn.encoding.table import Table

__all__ = [
    "Bit",
    "Column",
    "Encoder",
    "Inputs",
    "Number",
    "Table",
    "check_codes",
    "learn_columns",
    "note_gaps",
    "read_codes",
]
