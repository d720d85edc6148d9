"""Tables of the user's own: CSV files, and how their columns become features and labels."""

from bdnn.datasets.tables.encoding import Encoding
from bdnn.datasets.tables.samples import Samples
from bdnn.datasets.tables.table import Table, read_table

__all__ = ["Encoding", "Samples", "Table", "read_table"]
