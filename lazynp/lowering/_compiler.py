"""All that needs jaxlib, under one roof: `_loading` imports this module when it is first needed."""

from lazynp.lowering._builder import Builder, Value
from lazynp.lowering._cache import state as cache_state
from lazynp.lowering._compat import collect_garbage, coordination_service
from lazynp.lowering._cuda import client as cuda_client
from lazynp.lowering._emit import module as lower_module, module_text as lower
from lazynp.lowering._runtime import (
    Buffer,
    Executable,
    behind,
    buffer_aval,
    compile_program,
    compile_text,
    has_client,
    has_room,
    host,
    is_buffer,
    put,
)
from lazynp.lowering._spread import (
    Spread,
    compile_spread,
    device_count,
    gathered,
    group_client,
    is_at,
    layout_of,
    memory_stats,
    parts_of,
    place_of,
)

__all__ = [
    "Buffer",
    "Builder",
    "Executable",
    "Spread",
    "Value",
    "behind",
    "buffer_aval",
    "cache_state",
    "collect_garbage",
    "compile_program",
    "compile_spread",
    "compile_text",
    "coordination_service",
    "cuda_client",
    "device_count",
    "gathered",
    "group_client",
    "has_client",
    "has_room",
    "host",
    "is_at",
    "is_buffer",
    "layout_of",
    "lower",
    "lower_module",
    "memory_stats",
    "parts_of",
    "place_of",
    "put",
]
