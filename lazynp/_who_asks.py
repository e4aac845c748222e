"""Who asks for the value of a size: the user's code, which the call that is traced may tell, or
code of ours, which must be written for sizes without a value.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from sys import _getframe
from types import FrameType
from typing import Any

from lazynp._dataclass import dataclass

_PACKAGE = str(Path(__file__).parent)
_CONTROL = str(Path(__file__).parent / "transforms" / "control")  # decides for the user's `if`
_ASKED = str(Path(_CONTROL) / "_asked.py")  # compares for the user
_PRINTING = str(Path(_CONTROL) / "_printing.py")  # formats for the user


@dataclass(frozen=True)
class Hooks:
    """What the modules above know of sizes.

    scalar: the size as a Scalar of the program. compared: a comparison of such Scalars. unknown:
    the error of needing a value, for the user's code; of a function that is not written for sizes.
    truth: of a size or a test, in the call that is traced. number: the size there; then the trace
    is for calls of which it is the same. traces: whether a function is being traced.
    """

    scalar: Callable[[Any], Any]
    compared: Callable[[str, Any, Any], Any]
    unknown: Callable[[Any], BaseException]
    unwritten: Callable[[Any, FrameType], BaseException]
    truth: Callable[[Any], bool | None]
    number: Callable[[Any], int | None]
    traces: Callable[[], bool]


hooks: list[Hooks] = []


def install(of: Hooks) -> None:
    """Called once, by the module that traces programs with sizes."""
    hooks[:] = [of]


def _is_theirs(name: str) -> bool:  # of a file
    return not name.startswith(_PACKAGE) or name.startswith(_CONTROL)


def user_asks() -> bool:
    """Whether the user's code that is traced calls the method of a size that calls this, or an
    operator of ours that stands for it.
    """
    return bool(hooks) and hooks[0].traces() and _is_theirs(_getframe(2).f_code.co_filename)


def users_own() -> bool:
    """The same, but no operator of ours. (`str`, `repr` and `format` of the user's are called by
    a function of ours.)
    """
    return _shows(_getframe(2).f_code.co_filename)


def _shows(name: str) -> bool:  # of a file
    return not name.startswith(_PACKAGE) or name == _PRINTING


def user_compares() -> bool:
    """Whether a comparison, two frames above, is one of the user's code."""
    name = _getframe(3).f_code.co_filename
    return not name.startswith(_PACKAGE) or name == _ASKED


def truth(what: Any) -> bool:
    """The truth in the call that is traced, for the user's `if`. Later calls are compared."""
    theirs = _is_theirs(_getframe(2).f_code.co_filename)
    if theirs and (found := hooks[0].truth(what)) is not None:
        return found
    raise undecided(what, depth=3)


def told(what: Any) -> bool | None:
    """The same; None where the call does not tell, and for code of ours."""
    return hooks[0].truth(what) if _is_theirs(_getframe(2).f_code.co_filename) else None


def number(size: Any) -> int:
    """The number of a size in the call that is traced, for the user's code."""
    theirs = _is_theirs(_getframe(2).f_code.co_filename)
    if theirs and (found := hooks[0].number(size)) is not None:
        return found
    raise undecided(size, depth=3)


def number_for_user(size: Any) -> int | None:
    """The same for a text; None for those that we make, and where the call does not tell."""
    frame = _getframe(2)
    while frame.f_code.co_name == "__format__" and frame.f_back is not None:
        frame = frame.f_back
    return hooks[0].number(size) if _shows(frame.f_code.co_filename) and hooks else None


def undecided(what: Any, theirs: bool = False, depth: int = 2) -> BaseException:
    """The error of needing a value. theirs: the user's code asks, through one of ours (iteration).
    depth: of the frame that asks."""
    frame: Any = _getframe(depth)
    if not theirs and not _is_theirs(frame.f_code.co_filename):
        return hooks[0].unwritten(what, frame)
    return hooks[0].unknown(what)
