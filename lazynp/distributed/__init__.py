"""Several processes that run one program together, and checkpoints of their arrays.

`python -m lazynp.distributed -n 4 script.py` runs a script in four processes. See docs/scale.md.
"""

from lazynp._errors import DistributedError
from lazynp._processes import process_count, process_index
from lazynp.distributed._checkpoint import load, save
from lazynp.distributed._session import (
    allgather,
    barrier,
    broadcast,
    initialize,
    is_initialized,
    shutdown,
)

__all__ = [
    "DistributedError",
    "allgather",
    "barrier",
    "broadcast",
    "initialize",
    "is_initialized",
    "load",
    "process_count",
    "process_index",
    "save",
    "shutdown",
]
