"""What is to be done once a module has been loaded, by whomever, before or after lazynp."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_waiting: dict[str, Callable[[Any], None]] = {}
_searching: set[str] = set()


def when_loaded(name: str, change: Callable[[Any], None]) -> None:
    """Call `change(module)` now, or as soon as the module has loaded."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        change(module)
        return
    _waiting[name] = change
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _Finder:
    """Lets others find these modules. (A class of `importlib.abc` would load `tempfile`.)"""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _waiting or name in _searching:
            return None
        _searching.add(name)
        try:
            spec = find_spec(name)
        finally:
            _searching.discard(name)
        if spec is not None and spec.loader is not None:
            loader: Any = _Loader(spec.loader)
            spec.loader = loader
        return spec


class _Loader:
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        change = _waiting.pop(module.__name__, None)
        if change is not None:
            change(module)


_finder = _Finder()

__all__ = ["when_loaded"]
