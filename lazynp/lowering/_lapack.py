"""LAPACK's custom calls, registered when a program first needs them.

`initialize` imports scipy.linalg (0.2 s) and takes the kernels from there. Without it, a program
that calls a LAPACK target kills the process.
"""

from __future__ import annotations

import threading

from jaxlib import lapack

from lazynp.lowering import _compat

_lock = threading.RLock()  # imports run Python code, which may compute
_registered = False


def register() -> None:
    """Make `lapack_*_ffi` known to the compiler. Call this before compiling a program that uses
    one.
    """
    global _registered
    with _lock:
        if _registered:
            return
        lapack._lapack.initialize()  # pyright: ignore[reportPrivateImportUsage]
        for name, target, api_version in lapack.registrations()["cpu"]:
            _compat.register_custom_call(name, target, "cpu", api_version)
        for name in lapack.batch_partitionable_targets():
            _compat.register_batch_partitionable(name)
        _registered = True
