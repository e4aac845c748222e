"""Promotion: a hot function of the user's is compiled as a whole, without a decorator.

`_sampling` counts operations by the functions on the stack. A function in which many of them ran
gets a `Promoted` in front of it (`_function`), which takes each call apart (`_given`, `_objects`).
Once its calls have taken long enough (`_case`), one runs in Python as before, and then again, on
copies of its arguments, as one program (`_program`, `_results`). If both agree in every result,
type, written array and attribute (`_agreement`), and the program is faster, later calls with
arguments like these run the program. Anything else that Python could notice forbids it: a function
that changes other objects, prints, draws random numbers or reads what changes between calls
(`_guards`) stays as it is.

Calls of derivatives are tried in the same way (`_derived`, `_calls`). A long one ends in the midst,
once its program is there (`_giving_way`).

All of this is loaded with the transformations, which it needs: by the first of them that is used,
or after so many ticks, and so much time, that a function or a loop may become hot: as much as the
import took. Loading takes a third of that. So a script that ends before spends nothing on it, and
others a third of their work at most. What promotion gains, it gains in longer ones.
"""

import dis
import inspect
import time
from importlib import import_module
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from lazynp import transforms
from lazynp._collector import importing
from lazynp._config import config
from lazynp._recorder import tick_observers

if TYPE_CHECKING:
    from lazynp._promotion._all import (
        Promoted,
        all_told,
        derivatives,
        fronts,
        promote,
        taken,
    )

__all__ = ["Promoted", "all_told", "derivatives", "fronts", "promote", "taken"]

_TICKS = 64  # before these, nothing has run for long
_BACK = frozenset(
    number
    for name, number in dis.opmap.items()
    if "JUMP_BACKWARD" in name and "NO_INTERRUPT" not in name  # what waits for a generator
)


class _Waiting:
    """Ticks so far, the processor's time at the first, and code that nothing is to be loaded for,
    by its id, kept alive.
    """

    ticks = 0
    since = 0.0
    in_vain: dict[int, CodeType] = {}


def has_loops(code: CodeType) -> bool:
    return not _BACK.isdisjoint(code.co_code[::2])


def is_loaded() -> bool:
    return "taken" in globals()


def _count(frame: FrameType | None) -> None:
    """A tick, as long as nothing is loaded."""
    _Waiting.ticks += 1
    if _Waiting.ticks == 1:
        _Waiting.since = time.process_time()
    if _Waiting.ticks < _TICKS or not config.promotion or config.execution != "adaptive":
        return
    if time.process_time() - _Waiting.since < importing.seconds:
        return
    while frame is not None:
        code = frame.f_code
        if id(code) not in _Waiting.in_vain:
            if code.co_flags & inspect.CO_NEWLOCALS or has_loops(code):
                transforms.load()
                return
            _Waiting.in_vain[id(code)] = code
        frame = frame.f_back


def _load(names: dict[str, Any]) -> None:
    everything = import_module("lazynp._promotion._all")
    globals().update({name: getattr(everything, name) for name in __all__})
    if _count in tick_observers:
        tick_observers.remove(_count)
    _Waiting.in_vain.clear()


def __getattr__(name: str) -> Any:
    if name in __all__ and not is_loaded():
        transforms.load()
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


tick_observers.append(_count)
transforms.when_loaded.append(_load)
