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
    whole, under "adaptive"; True. See docs/hot-functions.md. background: under "adaptive", compile
    in a thread while NumPy goes on, if the process may use several cores; True. cpu_devices: the
    number of virtual CPU devices, 1; it can change until the first program was compiled. device:
    where new arrays are made, "cpu"; see `lazynp.default_device` and docs/devices.md.
    preallocate, memory_fraction: for the clients of GPUs, whether they take their memory at once
    (False), and which part of it.
    """

    __slots__ = (
        "execution", "cache", "progress", "max_pending", "debug", "debug_nans", "checks", "loops",
        "promotion", "background", "cpu_devices", "device", "preallocate", "memory_fraction",
        "version", "observers",
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
        self.background: bool = _from_environment("background", True)
        self.cpu_devices: int = _from_environment("cpu_devices", 1)
        self.device: str = _from_environment("device", "cpu")
        self.preallocate: bool = _from_environment("preallocate", False)
        self.memory_fraction: float = _from_environment("memory_fraction", 0.75)
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


def _switch(value: Any) -> bool:
    if isinstance(value, str) or value not in (False, True):  # "off" would be true
        raise ValueError("must be True or False")
    return bool(value)


def _progress(value: Any) -> Any:
    if value != "auto" and not isinstance(value, bool):
        raise ValueError('must be True, False or "auto"')
    return value


def _positive(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("must be a positive int")
    return value


def _device(value: Any) -> str:
    if value is None:
        return _from_environment("device", "cpu")
    if not isinstance(value, str):
        raise ValueError("must be a device, the name of one, or None")
    return value


def _fraction(value: Any) -> float:
    try:
        value = float(value)
    except (TypeError, ValueError):
        value = 0.0
    if not 0 < value <= 1:
        raise ValueError("must be a number above 0, at most 1")
    return value


_SETTINGS: dict[str, Callable[[Any], Any]] = {
    "execution": _execution,
    "cache": _cache,
    "progress": _progress,
    "max_pending": _positive,
    "debug": _switch,
    "debug_nans": _switch,
    "checks": _switch,
    "loops": _loops,
    "promotion": _switch,
    "background": _switch,
    "cpu_devices": _positive,
    "device": _device,
    "preallocate": _switch,
    "memory_fraction": _fraction,
}
_SWITCHES = {"0": False, "false": False, "off": False, "no": False}
_SWITCHES.update({"1": True, "true": True, "on": True, "yes": True})
_further: dict[str, Callable[[Any], None]] = {}  # checks of values that need higher modules


def check_too(name: str, check: Callable[[Any], None]) -> None:
    """Call this as well before the setting changes: what it raises is the user's to see."""
    _further[name] = check


def _checked(name: str, value: Any) -> Any:
    check = _SETTINGS.get(name)
    if check is None:
        raise TypeError(f"config: no setting is called {name!r}")
    try:
        checked = check(value)
    except ValueError as e:
        raise ValueError(f"config: {name} {e}, got {value!r}") from None
    if name in _further:
        _further[name](checked)
    return checked


def _from_environment(name: str, default: Any) -> Any:
    """The checked value of the variable of this name; an empty variable counts as unset."""
    variable = f"LAZYNP_{name.upper()}"
    text = os.environ.get(variable, "")
    if not text:
        return default
    value: Any = text
    if name in ("max_pending", "cpu_devices"):
        value = int(text) if text.isdecimal() else text
    elif name == "progress" or _SETTINGS[name] is _switch:
        value = _SWITCHES.get(text.lower(), text)
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
