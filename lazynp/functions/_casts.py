"""`np.float64(x)`, `np.int64(x)` while a function is transformed: casts, with derivatives.

NumPy's own classes make NumPy's scalars, which carry no tangent, and C code offers no hook. While a
transformation is active, the namespace returns derived classes under the same names. These behave
like NumPy's in every other way: as dtypes, in `isinstance`, in comparisons, as keys. At any other
time the namespace returns NumPy's own. A module's `__getattr__` would be asked at each use, which
takes longer than NumPy's scalar, so the names are bound anew when the first transformation begins
and when the last one ends. In the meantime other threads see the derived classes too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import on_device
from lazynp._dimensions import scalar_of
from lazynp._node import is_tracer
from lazynp._sizes import Size
from lazynp._trace import on_transformations
from lazynp._values import knowable


class _Cast(type):
    """The metaclass of the derived classes."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        x = args[0] if len(args) == 1 and not kwargs else None
        x = scalar_of(x) if type(x) is Size else x
        if isinstance(x, Array):
            node = x._read()
            if is_tracer(node) or not knowable(node):
                made = x.astype(cls.__base__)
                return made if made.ndim else made[()]
        return cls.__base__(*args, **kwargs)  # type: ignore[misc]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__base__)  # type: ignore[arg-type]

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__base__)  # type: ignore[arg-type]

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.__base__

    def __hash__(cls) -> int:
        return hash(cls.__base__)

    def __repr__(cls) -> str:
        return repr(cls.__base__)


def _is_dtype(x: Any) -> bool:
    """Whether this is the class of a dtype that programs can compute with."""
    if not isinstance(x, type) or not issubclass(x, (np.number, np.bool_)):
        return False
    if x in (np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
             np.floating, np.complexfloating):  # fmt: skip
        return False
    return on_device(np.dtype(x))


_made: dict[type, Any] = {}
CASTS: dict[str, Any] = {}  # name -> NumPy's class, ours
for _name in np.__all__:
    _class: Any = vars(np).get(_name)  # `getattr` would import what NumPy only loads when asked
    if _is_dtype(_class):
        if _class not in _made:
            names = {"__slots__": (), "__module__": "numpy", "__doc__": _class.__doc__}
            _made[_class] = _Cast(_class.__name__, (_class,), names)
        CASTS[_name] = _class, _made[_class]


def bind_in(namespace: dict[str, Any]) -> None:
    """Bind the names of dtypes in the namespace of a module, now and whenever they change."""
    numpys = {name: numpys for name, (numpys, _) in CASTS.items()}
    ours = {name: ours for name, (_, ours) in CASTS.items()}
    namespace.update(numpys)
    on_transformations.append(lambda begun: namespace.update(ours if begun else numpys))
