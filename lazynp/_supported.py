"""Which interpreters are supported; others are refused before anything can go wrong.

Writing in place relies on counts of references (`_ownership`). They are calibrated, but Python 3.14
lends local variables to calls, and nobody has run lazynp on it. Without the global interpreter
lock, counts of references are not exact at all.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    raise ImportError(
        f"lazynp supports Python 3.11 to 3.13; this is {sys.version_info[0]}.{sys.version_info[1]}"
    )
if not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "lazynp needs the global interpreter lock: run a free-threaded build with PYTHON_GIL=1"
    )
