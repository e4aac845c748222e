"""Several processes that run one program together, and checkpoints of their arrays."""

from lazynp._errors import DistributedError
from lazynp._processes import process_count, process_index
from lazynp.distributed._checkpoint import load, save

__all__ = ["DistributedError", "load", "process_count", "process_index", "save"]
