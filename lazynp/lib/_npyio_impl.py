"""`numpy.lib._npyio_impl`, which programs import from: the functions are the namespace's."""

import sys as _sys

from lazynp.lib.npyio import DataSource as DataSource, NpzFile as NpzFile

__all__ = [
    "fromregex", "genfromtxt", "load", "loadtxt", "packbits", "save", "savetxt", "savez",
    "savez_compressed", "unpackbits",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(_sys.modules["lazynp"], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
