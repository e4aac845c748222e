"""From jaxprs to results: StableHLO text, executables, buffers. Only this package depends on
jaxlib.
"""

from lazynp.lowering._builder import Builder, Value
from lazynp.lowering._cache import state as cache_state
from lazynp.lowering._compat import collect_garbage
from lazynp.lowering._emit import module_text as lower
from lazynp.lowering._host import is_aligned, keep_freed_memory, on_host
from lazynp.lowering._runtime import (
    Buffer,
    Executable,
    aligned_empty,
    behind,
    buffer_aval,
    compile_program,
    compile_text,
    has_room,
    host,
    is_buffer,
    put,
)

__all__ = [
    "Buffer",
    "Builder",
    "Executable",
    "Value",
    "aligned_empty",
    "behind",
    "buffer_aval",
    "cache_state",
    "collect_garbage",
    "compile_program",
    "compile_text",
    "has_room",
    "host",
    "is_aligned",
    "is_buffer",
    "keep_freed_memory",
    "lower",
    "on_host",
    "put",
]
