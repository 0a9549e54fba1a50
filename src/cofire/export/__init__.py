"""Fitted models as programs and files that do not need cofire."""

from cofire.export.c.write import CExport, to_c

__all__ = ["CExport", "to_c"]
