"""Users' own files: one module per format, and the table `READERS` of them."""

from cofire.data.tables.labels import task_of
from cofire.data.tables.readers import READERS, read_table
from cofire.data.tables.table import Reading, Table

__all__ = ["READERS", "Reading", "Table", "read_table", "task_of"]
