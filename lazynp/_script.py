"""Run programs that import numpy on lazynp: `install`, `python -m lazynp`, `%load_ext lazynp`.

When the user's own modules import numpy, they get lazynp; libraries still get numpy. A module's
file decides: modules in the standard library or among installed packages are not the user's.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import os
import sys
import sysconfig
from collections import Counter
from types import ModuleType
from typing import Any, TextIO

import numpy as np

from lazynp import _promotion
from lazynp._dataclass import dataclass, field
from lazynp._flush import on_force
from lazynp._plan import STATS
from lazynp._positions import position
from lazynp._recorder import user_position
from lazynp.functions._host import on_host_call
from lazynp.functions._numpys_classes import hook_derived

_PLACES = tuple(
    os.path.realpath(p) + os.sep
    for p in {*sysconfig.get_paths().values(), os.path.dirname(os.__file__)}
    if p not in (sys.prefix, sys.base_prefix)
)
_PACKAGE = os.path.dirname(os.path.realpath(__file__)) + os.sep
_original = builtins.__import__
# what the user's modules get for these, so that their functions take traced numbers
_MATHS = {"math": "lazynp.interop.math", "cmath": "lazynp.interop.cmath"}
_verdicts: dict[Any, bool] = {}


def _is_users(names: Any) -> bool:
    """Whether the module with this namespace is the user's own."""
    name, file = names.get("__name__"), names.get("__file__")
    key = name, file
    found = _verdicts.get(key)
    if found is None:
        path = "" if file is None else os.path.realpath(file)
        if file is None:
            found = name == "__main__"  # a notebook, `-c`
        else:
            found = not path.startswith((*_PLACES, _PACKAGE)) and not any(
                part in path for part in ("site-packages", "dist-packages")
            )
        _verdicts[key] = found
    return found


def _import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    if level or globals is None:
        return _original(name, globals, locals, fromlist, level)
    if name in _MATHS and type(fromlist) is not list and _is_users(globals):
        return sys.modules.get(_MATHS[name]) or importlib.import_module(_MATHS[name])
    if name != "numpy" and not name.startswith("numpy."):
        known = name in sys.modules
        module = _original(name, globals, locals, fromlist, level)
        if not known:
            hook_derived()  # its arrays may be shown as the `ndarray` that the user's modules get
        return module
    if type(fromlist) is list:  # C code (PyImport_Import), on behalf of its caller
        return _original(name, globals, locals, fromlist, level)
    if not _is_users(globals):
        return _original(name, globals, locals, fromlist, level)
    ours = "lazynp" + name[len("numpy") :]
    if name != "numpy.emath" and not _is_there(ours):
        return _original(name, globals, locals, fromlist, level)
    return _original(ours, globals, locals, fromlist, level)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # inside something that is not a package here: numpy.random.mtrand
        return False


def install() -> None:
    """From now on, `import numpy` in the user's own modules and in `__main__` imports lazynp.

    `import math` and `cmath` there give functions that take traced numbers. Earlier imports are
    unaffected. SciPy's functions of traced arrays are lazynp's. `uninstall` ends all of it.
    """
    builtins.__import__ = _import
    importlib.import_module("lazynp.interop.scipy").hook()


def uninstall() -> None:
    """Make `import numpy` import NumPy again, everywhere."""
    if builtins.__import__ is _import:
        builtins.__import__ = _original
        importlib.import_module("lazynp.interop.scipy").unhook()


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext lazynp`: `import numpy` in this notebook imports lazynp."""
    install()
    for name, value in list(shell.user_ns.items()):
        if value is np:
            shell.user_ns[name] = sys.modules["lazynp"]
        elif isinstance(value, ModuleType) and value is sys.modules.get(value.__name__):
            if value.__name__ in _MATHS:
                shell.user_ns[name] = importlib.import_module(_MATHS[value.__name__])


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext lazynp`."""
    uninstall()
    ours = sys.modules["lazynp"]
    names = {sys.modules.get(v): sys.modules.get(k) for k, v in _MATHS.items()} | {ours: np}
    for name, value in list(shell.user_ns.items()):
        if isinstance(value, ModuleType) and names.get(value) is not None:
            shell.user_ns[name] = names[value]


# -- reports ---------------------------------------------------------------------------------------


@dataclass
class Report:
    """What a program has done since `start`."""

    lines: Counter[str] = field(default_factory=Counter)  # lines that needed values
    hosted: Counter[str] = field(default_factory=Counter)  # functions that NumPy ran

    def start(self) -> Report:
        on_force.append(self._forced)
        on_host_call.append(self._called)
        return self

    def stop(self) -> None:
        on_force.remove(self._forced)
        on_host_call.remove(self._called)

    def _forced(self) -> None:
        self.lines[position(*user_position())] += 1

    def _called(self, name: str) -> None:
        self.hosted[name] += 1

    def __str__(self) -> str:
        runs = STATS.compiled_runs + STATS.reference_runs
        parts = [
            f"lazynp: {STATS.compiled_runs} programs run compiled, {STATS.reference_runs} by "
            f"reference; {STATS.forms} forms, {max(runs - STATS.forms, 0)} of {runs} runs found "
            "theirs",
            f"lazynp: {STATS.compiles} compilations and {STATS.cache_hits} programs from disk took "
            f"{STATS.compile_seconds:.2f} s",
        ]
        if self.hosted:
            parts.append("lazynp: run by NumPy on the host: " + _most(self.hosted))
        if self.lines:
            parts.append("lazynp: lines that needed values:")
            parts += [f"  {count:6}  {line}" for line, count in self.lines.most_common(20)]
        if _promotion.is_loaded():
            parts += _promoted()
        return "\n".join(parts)

    def print(self, file: TextIO | None = None) -> None:
        print(self, file=file or sys.stderr)


def _promoted() -> list[str]:
    """What became of hot functions and loops."""
    parts = []
    hot = _promotion.fronts()
    if hot:
        parts.append("lazynp: hot functions:")
        parts += [f"  {line}" for f in hot for line in f.explained().splitlines()]
    called = [d for d in _promotion.derivatives.values() if d.programs or d.whys]
    if called:
        parts.append("lazynp: derivatives that were called again and again:")
        parts += [f"  {line}" for d in called for line in d.explained().splitlines()]
    if _promotion.taken:
        parts.append("lazynp: long loops:")
        parts += [f"  {line}" for line in _promotion.all_told(_promotion.taken)]
    return parts


def _most(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common(12))
