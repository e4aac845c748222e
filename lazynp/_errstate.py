"""`errstate`, `seterr` and related functions: who looks for floating-point errors, and who tells.

What NumPy runs at once for the user warns as NumPy does, at the user's line (`tell`): NumPy logs
what it finds (`_quiet`), and that costs nothing where it finds nothing. Compiled programs raise no
flags, and what is recorded is computed elsewhere: they do not warn.

A state that requests more than NumPy's default is *strict* (any of raise, call, print, log; warn in
an `errstate`, or with `config(checks=True)`). NumPy's kernels then run all operations immediately
under that very state, so that warnings, errors and calls are NumPy's.

The recording path does not test the state. When a strict state begins anywhere, its memo tables are
emptied and stay empty while the state lasts (`_memo`), and every recorder takes the back end
`STRICT` (`_backends`), which calls `strict()` in its own context.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from contextvars import ContextVar, Token, copy_context
from types import CodeType
from typing import Any, TypeVar

import numpy as np

from lazynp._avals import forget_stores
from lazynp._config import config
from lazynp._memo import begin_watching, state
from lazynp._quiet import heard_here, tellers

KINDS = ("divide", "over", "under", "invalid")

_TEXTS = {"divide by zero": "divide", "overflow": "over", "underflow": "under"}
_LIBRARIES = (__file__.rsplit("_errstate", 1)[0], np.__file__.rsplit("__init__", 1)[0])
_TESTING = _LIBRARIES[1] + "testing"  # `assert_warns` calls for the user
_UNSPECIFIED: Any = object()


class _Strict:
    """Held by a context while its state is strict. When the last one dies, checking ends."""

    __slots__ = ("warned", "__weakref__")

    def __init__(self, warned: frozenset[str]) -> None:
        self.warned = warned  # kinds for which "warn" was requested


_state: ContextVar[_Strict | None] = ContextVar("lazynp_errstate", default=None)
_lock = threading.RLock()  # a weak reference may die anywhere
_living: dict[int, weakref.ref[_Strict]] = {}
# of `_living`, what has died. A weak reference calls nothing but `append`: an interrupt that came
# while Python's code runs for it would be lost, and the watch would never end
_dead: list[weakref.ref[_Strict]] = []
_told: list[Callable[[bool], None]] = []


def on_change(tell: Callable[[bool], None]) -> None:
    """Register a function to call when checking begins or ends."""
    _told.append(tell)
    _watch()


def _watch() -> None:
    with _lock:
        watching = bool(_living) or config.checks
        if watching:
            begin_watching()
            forget_stores()
        state.watching = watching
        for tell in _told:
            tell(watching)


def _sweep() -> None:
    """End the watch if nobody holds a strict state any more. What an interrupt leaves undone, the
    next call does.
    """
    with _lock:
        count = len(_dead)
        for key, state_of in list(_living.items()):
            if state_of() is None:
                _living.pop(key, None)
        if not _living:
            _watch()
        del _dead[:count]


def _changed(given: dict[str, Any], explicit: bool) -> _Strict | None:
    """The object that the context must hold after `given` has changed NumPy's state."""
    before = _state.get()
    warned = set() if before is None else set(before.warned)
    for kind in KINDS:
        mode = given.get(kind) or given.get("all")
        if mode is not None:
            warned.discard(kind)
            if mode == "warn" and explicit:
                warned.add(kind)
    if not warned and set(np.geterr().values()) <= {"ignore", "warn"}:
        return None
    marker = _Strict(frozenset(warned))
    key = id(marker)
    with _lock:
        _living[key] = weakref.ref(marker, _dead.append)
        _watch()
    return marker


def strict() -> bool:
    """Whether floating-point errors matter here and now."""
    if not state.watching:
        return False
    if _dead:
        _sweep()
    if _state.get() is not None:
        return True
    return config.checks and set(np.geterr().values()) != {"ignore"}


config.observers.append(_watch)
if config.checks:
    _watch()


# -- NumPy's functions -----------------------------------------------------------------------------


class errstate(np.errstate):
    """`numpy.errstate`. Under raise, call, print, log, and an explicit warn, NumPy's kernels run
    operations immediately; see `config(checks=...)` for warnings everywhere.

    It also sets NumPy's own state. lazynp does not notice a `numpy.errstate`.

    Differs from NumPy: staged code (`jit`, `cond`, `scan`) ignores the state.
    """

    __slots__ = ("_given", "_before")
    _before: Token[_Strict | None]

    def __init__(
        self,
        *,
        call: Any = _UNSPECIFIED,
        all: str | None = None,
        divide: str | None = None,
        over: str | None = None,
        under: str | None = None,
        invalid: str | None = None,
    ) -> None:
        given = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
        self._given = given if call is _UNSPECIFIED else {"call": call, **given}
        super().__init__(**self._given)  # type: ignore[arg-type]

    def __enter__(self) -> None:
        super().__enter__()
        try:
            self._before = _state.set(_changed(self._given, explicit=True))
        except BaseException:  # an interrupt: `__exit__` will not be called
            super().__exit__(None, None, None)
            raise

    def __exit__(self, *error: Any) -> None:
        try:
            super().__exit__(*error)
        finally:
            _state.reset(self._before)
            if _dead:
                _sweep()

    def __call__(self, func: Any) -> Any:
        @functools.wraps(func)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with errstate(**self._given):
                return func(*args, **kwargs)

        return inner


def seterr(
    all: str | None = None,
    divide: str | None = None,
    over: str | None = None,
    under: str | None = None,
    invalid: str | None = None,
) -> dict[str, str]:
    """See `numpy.seterr`. "warn" is NumPy's default, so here it has no effect: use `errstate` or
    `config(checks=True)`.
    """
    given: Any = {
        "all": all, "divide": divide, "over": over, "under": under, "invalid": invalid,
    }  # fmt: skip
    before: Any = np.seterr(**given)
    _state.set(_changed(given, explicit=False))
    if _dead:
        _sweep()
    return before


# -- operations under the user's state -------------------------------------------------------------


def checked(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call NumPy's function under the present state; a warning names the user's line."""
    modes: Any = np.geterr()
    if "warn" not in modes.values():
        return function(*args, **kwargs)
    log = _Log(modes, np.geterrcall())
    logged: Any = {k: "log" if m == "warn" else m for k, m in modes.items()}
    return _under(np.errstate(call=log, **logged), function, args, kwargs)


def _under(state: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call the function in this error state, in a context that is then discarded: an interrupt may
    come when `__enter__` has set the state, and `__exit__` is not due yet.
    """

    def call() -> Any:
        with state:
            return function(*args, **kwargs)

    return copy_context().run(call)


F = TypeVar("F", bound=Callable[..., Any])


def quiet(*kinds: str) -> Callable[[F], F]:
    """For composed functions: ignore these errors inside, which NumPy's function would not give."""
    ignored: Any = dict.fromkeys(kinds or KINDS, "ignore")

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not strict():
                return function(*args, **kwargs)
            return _under(errstate(**ignored), function, args, kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _text_of(message: str) -> str:
    """NumPy's warning, of what it logs."""
    return message.removeprefix("Warning: ").rstrip("\n")


def _kind_of(text: str) -> str:
    return _TEXTS.get(text.split(" encountered")[0], "invalid")


class _Log:
    """Receives what NumPy logs, and warns where the user requested that."""

    def __init__(self, modes: dict[str, str], users: Any) -> None:
        self.modes, self.users = modes, users

    def __call__(self, error: str, flag: int) -> Any:
        if self.users is None:
            raise NameError(f"python callback specified for {error} but no function found.")
        return self.users(error, flag)

    def write(self, message: str) -> None:
        text = _text_of(message)
        if self.modes[_kind_of(text)] == "warn":
            warnings.warn(text, RuntimeWarning, stacklevel=_users_level())
        elif self.users is None:
            raise NameError(f"log specified for {text} but no object with write method found.")
        else:
            self.users.write(message)


# -- what NumPy finds where no state is strict -----------------------------------------------------

# files whose functions call NumPy for a function that the user has called
_FRONTS = frozenset(
    {__file__.rsplit("_errstate", 1)[0] + name for name in (
        "_quiet.py", "_errstate.py", "_backends.py", "_conversions.py", "_interpreter.py",
        "_operators.py", "_protocols.py", "emath.py", "functions/_dispatch.py",
        "functions/_eager.py", "functions/_flat.py", "functions/_foreign.py",
        "functions/_getset.py", "functions/_recording.py", "functions/_reduce.py",
        "functions/_scalars.py", "functions/_stores.py", "functions/_subclass.py",
        "functions/_ufunc.py", "functions/_ufunc_methods.py",
    )}
)  # fmt: skip
# functions of other files, each of which is one operation of NumPy's
DIRECT: set[CodeType] = set()
_FLAGS = {1: "divide by zero", 2: "overflow", 8: "invalid value"}  # NumPy's


ASK, WARN, FORGET = 0, 1, 2  # C's: what to do about errors in the same code again


def _called_by_user() -> bool:
    """Whether no function of lazynp's or NumPy's stands between the user and what has failed."""
    frame: Any = sys._getframe(2)
    while frame is not None and (frame.f_code.co_filename in _FRONTS or frame.f_code in DIRECT):
        frame = frame.f_back
    if frame is None:
        return False
    file = frame.f_code.co_filename
    return not file.startswith(_LIBRARIES) or file.startswith(_TESTING)


def tell() -> int:
    """Warn of what NumPy has just logged in this thread. Returns what C may remember."""
    messages = heard_here()
    if not _called_by_user():
        return _of_ours()
    return _tell(map(_text_of, messages))


def noticed(name: str, flags: int) -> int:
    """Warn of the flags that an inner loop of NumPy's has raised, which C has called."""
    if not _called_by_user():
        return _of_ours()
    return _tell(f"{text} encountered in {name}" for flag, text in _FLAGS.items() if flags & flag)


def _of_ours() -> int:
    """The fronts serve others as well as the user."""
    return ASK if sys._getframe(2).f_code.co_filename in _FRONTS else FORGET


def _tell(texts: Iterable[str]) -> int:
    modes: Any = np.geterr()
    for text in dict.fromkeys(texts):
        mode = modes[_kind_of(text)]
        if mode == "warn":
            warnings.warn(text, RuntimeWarning, stacklevel=_users_level())
        elif mode == "raise":
            raise FloatingPointError(text)
    return ASK if sys._getframe(2).f_code.co_filename.startswith(_LIBRARIES) else WARN


tellers.append(tell)

given = 0  # by `warn`: who records a call without running it again must know that it warned


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Give a warning that depends on shapes, at the user's line."""
    global given
    given += 1
    warnings.warn(message, category, stacklevel=_users_level())


def _users_level() -> int:
    """The stack level, from the caller, of the nearest frame outside lazynp and NumPy."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame, level = frame.f_back, level + 1
    return level
