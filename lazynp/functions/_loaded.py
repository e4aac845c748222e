"""What is to be done once a module has been loaded, by whomever, before or after lazynp."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

Change = Callable[[Any], None]

_waiting: dict[str, list[Change]] = {}
_packages: dict[str, Change] = {}  # for each of their modules
_searching: set[str] = set()


def when_loaded(name: str, change: Change) -> None:
    """Call `change(module)` now, or as soon as the module has loaded."""
    module = sys.modules.get(name)
    if module is not None and not _is_loading(module):
        change(module)
        return
    if change not in _waiting.setdefault(name, []):
        _waiting[name].append(change)
    _look_out()


def when_any_is_loaded(package: str, change: Change) -> None:
    """Call `change(module)` for each module of a package, now or as soon as it has loaded."""
    _packages[package] = change
    if package in sys.modules:
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == package and not _is_loading(module):
                change(module)
    _look_out()


def _is_loading(module: Any) -> bool:
    return getattr(getattr(module, "__spec__", None), "_initializing", False)


def _look_out() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget(change: Change) -> None:
    """Do not call it any more."""
    for name in list(_waiting):
        _waiting[name] = [c for c in _waiting[name] if c is not change]


class _Finder:
    """Lets others find these modules. (A class of `importlib.abc` would load `tempfile`.)"""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        known = _waiting.get(name) or name.partition(".")[0] in _packages
        if not known or name in _searching:
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
        of_package = _packages.get(module.__name__.partition(".")[0])
        if of_package is not None:
            of_package(module)
        for change in _waiting.pop(module.__name__, []):
            change(module)

    def __getattr__(self, name: str) -> Any:  # `get_code`, which `python -m` asks for
        return getattr(self._loader, name)


_finder = _Finder()

__all__ = ["forget", "when_any_is_loaded", "when_loaded"]
