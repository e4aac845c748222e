"""All that needs jaxlib, under one roof: `_loading` imports this module when it is first needed."""

from lazynp.lowering._builder import Builder, Value
from lazynp.lowering._cache import state as cache_state
from lazynp.lowering._compat import collect_garbage
from lazynp.lowering._cuda import client as cuda_client
from lazynp.lowering._emit import module as lower_module, module_text as lower
from lazynp.lowering._runtime import (
    Buffer,
    Executable,
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
    "behind",
    "buffer_aval",
    "cache_state",
    "collect_garbage",
    "compile_program",
    "compile_text",
    "cuda_client",
    "has_room",
    "host",
    "is_buffer",
    "lower",
    "lower_module",
    "put",
]
