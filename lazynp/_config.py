"""Settings: one documented object, also a context manager, also environment variables."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, get_args

Execution = Literal["compiled", "reference", "adaptive"]


def _from_environment(name: str, default: str, choices: tuple[str, ...]) -> str:
    value = os.environ.get(f"LAZYNP_{name.upper()}", default)
    if value not in choices:
        raise ValueError(f"LAZYNP_{name.upper()}: must be one of {choices}, got {value!r}")
    return value


class Config:
    """`np.config(execution=...)` sets; `with np.config(...):` sets and puts back.

    execution: "adaptive" (reference until the work spent would have paid for compiling),
        "compiled" (XLA), "reference" (NumPy, operation by operation). `LAZYNP_EXECUTION`.
    max_pending: operations recorded before a program is cut whatever the code looks like.
    debug: check every jaxpr before it runs. `LAZYNP_DEBUG=1`.
    checks: floating-point warnings where NumPy gives them. Then NumPy runs every operation at
        once; without this, only states of `errstate` that ask for it do. `LAZYNP_CHECKS=1`.
    debug_nans: look for NaN in every result; see `lazynp.debug_nans`. `LAZYNP_DEBUG_NANS=1`.
    """

    __slots__ = (
        "execution", "max_pending", "debug", "checks", "debug_nans", "version", "observers",
    )  # fmt: skip

    def __init__(self) -> None:
        self.execution = _from_environment("execution", "adaptive", get_args(Execution))
        self.max_pending = 512
        self.debug = os.environ.get("LAZYNP_DEBUG", "") not in ("", "0")
        self.checks = os.environ.get("LAZYNP_CHECKS", "") not in ("", "0")
        self.observers: list[Callable[[], None]] = []  # called when a setting has changed
        self.debug_nans = os.environ.get("LAZYNP_DEBUG_NANS", "") not in ("", "0")
        self.version = 0

    def __call__(self, **settings: Any) -> _Restore:
        for name, value in settings.items():
            _validate(name, value)
        before = {name: getattr(self, name) for name in settings}
        self._set(settings)
        return _Restore(self, before)

    def _set(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            setattr(self, name, value)
        self.version += 1
        for changed in self.observers:
            changed()

    def __repr__(self) -> str:
        names = ("execution", "max_pending", "debug", "checks", "debug_nans")
        return "config(" + ", ".join(f"{n}={getattr(self, n)!r}" for n in names) + ")"


def _validate(name: str, value: Any) -> None:
    if name == "execution":
        if value not in get_args(Execution):
            raise ValueError(
                f"config: execution must be one of {get_args(Execution)}, got {value!r}"
            )
    elif name == "max_pending":
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"config: max_pending must be a positive int, got {value!r}")
    elif name not in ("debug", "checks", "debug_nans"):
        raise TypeError(f"config: no setting is called {name!r}")


class _Restore:
    """Returned by `config(...)`; leaving its block puts the settings back."""

    __slots__ = ("_config", "_before")

    def __init__(self, config: Config, before: dict[str, Any]) -> None:
        self._config, self._before = config, before

    def __enter__(self) -> Config:
        return self._config

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._config._set(self._before)


config = Config()
