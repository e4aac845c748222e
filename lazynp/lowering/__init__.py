"""From jaxprs to results: StableHLO text, executables, buffers. Only this package depends on
jaxlib.

jaxlib takes a third of the time of an import, and some scripts never compile. So it is loaded, with
all that needs it (`_compiler`), by the first use of a name that needs it.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lazynp.lowering import _loading
from lazynp.lowering._background import (
    Unfinished,
    Waiting,
    Work,
    cores,
    in_background,
    is_compiling,
    unfinished_allowed,
)
from lazynp.lowering._closing import at_last
from lazynp.lowering._heap import keep_freed_memory
from lazynp.lowering._host import aligned_empty, is_aligned, on_host

if TYPE_CHECKING:
    from lazynp.lowering._compiler import (
        Buffer,
        Builder,
        Executable,
        Spread,
        Value,
        behind,
        buffer_aval,
        cache_state,
        collect_garbage,
        compile_program,
        compile_spread,
        compile_text,
        coordination_service,
        cuda_client,
        device_count,
        gathered,
        group_client,
        has_client,
        has_room,
        host,
        is_at,
        is_buffer,
        layout_of,
        lower,
        lower_module,
        memory_stats,
        parts_of,
        place_of,
        put,
    )
    from lazynp.lowering._notes import note, noted
else:

    def has_client() -> bool:
        """Whether a client was made, so that the number of CPU devices is fixed."""
        return False

    def memory_stats(platform: str, id: int) -> dict[str, Any] | None:
        """What a device says about its memory; None if it says nothing, as a CPU."""
        return None if platform == "cpu" else _load().memory_stats(platform, id)

    def noted(key: str) -> bytes | None:
        """See `_notes`, which is loaded if there is such a file: what checks files takes time to
        load.
        """
        if not os.path.exists(note_path(key)):
            return None
        return import_module("lazynp.lowering._notes").noted(key)

    def note(key: str, text: bytes) -> None:
        """See `_notes`."""
        import_module("lazynp.lowering._notes").note(key, text)

    from lazynp.lowering._loading import Buffer, behind, collect_garbage, is_buffer, note_path

    def has_room() -> bool:
        """Whether the system would give a compiler the memory it takes."""
        try:
            return _load().has_room()
        except MemoryError:
            return False


__all__ = [
    "Buffer",
    "Builder",
    "Executable",
    "Spread",
    "Unfinished",
    "Value",
    "Waiting",
    "Work",
    "aligned_empty",
    "at_last",
    "behind",
    "buffer_aval",
    "cache_state",
    "collect_garbage",
    "compile_program",
    "compile_spread",
    "device_count",
    "compile_text",
    "coordination_service",
    "cores",
    "cuda_client",
    "gathered",
    "group_client",
    "has_client",
    "has_room",
    "host",
    "in_background",
    "is_compiling",
    "is_aligned",
    "is_at",
    "is_buffer",
    "is_loaded",
    "keep_freed_memory",
    "layout_of",
    "lower",
    "lower_module",
    "memory_stats",
    "on_host",
    "parts_of",
    "place_of",
    "note",
    "noted",
    "put",
    "unfinished_allowed",
]


def is_loaded() -> bool:
    """Whether jaxlib, and what needs it, is loaded."""
    return _loading.is_loaded()


def _load() -> Any:
    """Replace the names that stand for what is not loaded, and add those that do not."""
    compiler = _loading.load()
    globals().update({name: getattr(compiler, name) for name in compiler.__all__})
    return compiler


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(_load(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
