"""Settings: one documented object, which is also a context manager and reads the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, get_args

Execution = Literal["compiled", "reference", "adaptive"]
Loops = Literal["auto", "unroll", "stage"]


class Config:
    """`np.config(execution=...)` sets; `with np.config(...):` sets and restores.

    The environment variable LAZYNP_NAME gives the initial value of a setting: LAZYNP_EXECUTION, ...

    execution: "adaptive" (reference until the work spent would have paid for compiling), "compiled"
    (XLA), "reference" (NumPy, operation by operation). cache: the directory that stores compiled
    programs for later processes, or "off". Default: $XDG_CACHE_HOME/lazynp or ~/.cache/lazynp. It
    holds machine code, so nobody else may have write access. An unusable directory is not an error.
    progress: report compilations that take more than 2 s on stderr. True (1): always; "auto" (the
    default): if stderr is a terminal; False (0): never. max_pending: flush after this many recorded
    operations, whatever the code looks like; 512. Rounds of a loop that run together may be twice
    as many. debug: check every jaxpr before it runs. debug_nans: look for NaN in every result; see
    `lazynp.debug_nans`. checks: give floating-point warnings where NumPy gives them. NumPy then
    runs every operation immediately; otherwise it does so only under `errstate` settings that
    require it. loops: what `jit` does with Python's loops, where its own argument does not say:
    "auto" (the default), "unroll", "stage"; see `lazynp.jit`. promotion: compile hot functions as a
    whole, under "adaptive"; True. See docs/hot-functions.md.
    """

    __slots__ = (
        "execution", "cache", "progress", "max_pending", "debug", "debug_nans", "checks", "loops",
        "promotion", "version", "observers",
    )  # fmt: skip

    def __init__(self) -> None:
        self.execution: Execution = _from_environment("execution", "adaptive")
        self.cache: str = _from_environment("cache", None) or _default_cache()
        self.progress: bool | Literal["auto"] = _from_environment("progress", "auto")
        self.max_pending: int = _from_environment("max_pending", 512)
        self.debug: bool = _from_environment("debug", False)
        self.debug_nans: bool = _from_environment("debug_nans", False)
        self.checks: bool = _from_environment("checks", False)
        self.loops: Loops = _from_environment("loops", "auto")
        self.promotion: bool = _from_environment("promotion", True)
        self.observers: list[Callable[[], None]] = []  # called after each change of a setting
        self.version = 0

    def __call__(self, **settings: Any) -> _Restore:
        checked = {name: _checked(name, value) for name, value in settings.items()}
        before = {name: getattr(self, name) for name in checked}
        self._set(checked)
        return _Restore(self, before)

    def _set(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            setattr(self, name, value)
        self.version += 1
        for changed in self.observers:
            changed()

    def __repr__(self) -> str:
        return "config(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in _SETTINGS) + ")"


def _default_cache() -> str:
    """The user's directory for cached files; "off" for users without a home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the specification says to ignore a relative path
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "lazynp") if os.path.isabs(base) else "off"


# -- valid values of settings ----------------------------------------------------------------------


def _execution(value: Any) -> Any:
    if value not in get_args(Execution):
        raise ValueError(f"must be one of {get_args(Execution)}")
    return value


def _loops(value: Any) -> Any:
    if value not in get_args(Loops):
        raise ValueError(f"must be one of {get_args(Loops)}")
    return value


def _cache(value: Any) -> str:
    try:
        path = os.fsdecode(value)
    except TypeError:
        path = ""
    if not path:
        raise ValueError('must be "off" or the path of a directory')
    return path if path == "off" else os.path.abspath(os.path.expanduser(path))


def _progress(value: Any) -> Any:
    if value != "auto" and not isinstance(value, bool):
        raise ValueError('must be True, False or "auto"')
    return value


def _max_pending(value: Any) -> Any:
    if not isinstance(value, int) or value < 1:
        raise ValueError("must be a positive int")
    return value


_SETTINGS: dict[str, Callable[[Any], Any]] = {
    "execution": _execution,
    "cache": _cache,
    "progress": _progress,
    "max_pending": _max_pending,
    "debug": bool,
    "debug_nans": bool,
    "checks": bool,
    "loops": _loops,
    "promotion": bool,
}


def _checked(name: str, value: Any) -> Any:
    check = _SETTINGS.get(name)
    if check is None:
        raise TypeError(f"config: no setting is called {name!r}")
    try:
        return check(value)
    except ValueError as e:
        raise ValueError(f"config: {name} {e}, got {value!r}") from None


def _from_environment(name: str, default: Any) -> Any:
    """The checked value of the variable of this name; an empty variable counts as unset."""
    variable = f"LAZYNP_{name.upper()}"
    text = os.environ.get(variable, "")
    if not text:
        return default
    value: Any = text
    if name == "max_pending":
        value = int(text) if text.isdecimal() else text
    elif name == "progress":
        value = {"0": False, "1": True}.get(text, text)
    elif _SETTINGS[name] is bool:
        value = text != "0"
    try:
        return _SETTINGS[name](value)
    except ValueError as e:
        raise ValueError(f"{variable}: {e}, got {text!r}") from None


class _Restore:
    """Returned by `config(...)`; restores the settings at the end of its block."""

    __slots__ = ("_config", "_before")

    def __init__(self, config: Config, before: dict[str, Any]) -> None:
        self._config, self._before = config, before

    def __enter__(self) -> Config:
        return self._config

    def __exit__(self, *error: object) -> None:
        self._config._set(self._before)


config = Config()
