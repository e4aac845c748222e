"""Shared by tests: counters, nodes, threads, kernels for two namespaces."""

from __future__ import annotations

import importlib.util
import math
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lazynp as np
from lazynp import _cost, _graph, _plan
from lazynp._jaxpr import Jaxpr
from lazynp._node import OP, VALUE
from lazynp._plan import Stats
from lazynp._policy import Mode
from lazynp._recorder import local

POLICIES = ("compiled", "reference", "adaptive")


def loaded(file: Path, name: str, namespace: Any) -> ModuleType:
    """The kernels of a file, with this namespace as their `np`."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.np = namespace  # type: ignore[attr-defined]
    return module


class Counted:
    """`with Counted() as c:` the increase of the counters of `lazynp.stats()`: `c.compiles`."""

    def __init__(self) -> None:
        self._before: Stats = replace(np.stats())

    def __enter__(self) -> Counted:
        self._before = replace(np.stats())
        return self

    def __exit__(self, *error: object) -> None:
        self._after = replace(np.stats())

    def __getattr__(self, name: str) -> Any:
        after = self.__dict__.get("_after", np.stats())
        return getattr(after, name) - getattr(self._before, name)


def pending() -> list[Any]:
    """The nodes that this thread has recorded and nobody has evaluated."""
    return [n for n in local.recorder.pending if n[VALUE] is None]


def leave_to_host(monkeypatch: pytest.MonkeyPatch, *kinds: str) -> None:
    """In compiled programs operations of these kinds, and no others, are NumPy's."""

    def left(jaxpr: Jaxpr) -> set[int]:
        return {k for k, eqn in enumerate(jaxpr.eqns) if eqn.primitive.kind in kinds}

    monkeypatch.setattr(_cost, "left_to_host", left)


def be_eager(eager: bool = True) -> None:
    """As in a long loop of small operations, or as before one. No rounds are recorded to find a
    unit, whatever has been written: these would run without NumPy's warnings.
    """
    local.recorder.policy.mode = Mode.EAGER if eager else Mode.RECORD
    local.recorder.policy.patience = math.inf
    local.recorder.choose()


def is_eager() -> bool:
    return local.recorder.backend.attempt(lambda: True) is not None


def fresh_start() -> None:
    """Forget everything pending, all cut sites and forms, so that counts do not depend on earlier
    tests.
    """
    _graph.forget()
    _plan._families.clear()
    _plan._compiled_for.clear()
    recorder = local.recorder
    recorder.pending.clear()
    recorder.sites.reset()
    recorder.reset_policy()
    recorder.due = False
    recorder.inside = None
    recorder.limit = 16


def recorded(function: Callable[[], Any]) -> list[str]:
    """The names of the primitives that a call records."""
    fresh_start()
    keep = function()
    names = [n[OP].primitive.name for n in local.recorder.pending]
    del keep
    return names


def in_thread(function: Callable[[], Any]) -> Any:
    """The result of a call in a separate thread, which has ended afterwards."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as e:
            errors.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    if errors:
        raise errors[0]
    return results[0]


class NothingForced(Counted):
    """Assert that nothing in the block needed a value. (Flushes of pending operations are off.)"""

    def __enter__(self) -> NothingForced:
        local.recorder.limit = sys.maxsize
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        local.recorder.limit = local.recorder.sites.idle
        if error[0] is None:
            assert self.cuts == 0


def outcome_of(make: Callable[[], Any]) -> tuple[Any, list[tuple[type[Warning], str]]]:
    """What it gives, or the class and the text of its error; and its warnings."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = make()
        except Exception as error:
            result = type(error), str(error)
    return result, [(w.category, str(w.message)) for w in given]


def run_program(program: str, names: dict[str, Any], described: Callable[[Any], Any]) -> Any:
    """Run the text; returns what is told of its variable `r`."""
    exec(program, names)
    return described(names["r"])
