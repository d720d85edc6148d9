"""Networks as C99 headers."""

from bdnn.export.c.header import CExport, export_c

__all__ = ["CExport", "export_c"]
