"""`x.flags`: the flags of a NumPy array with this layout."""

from __future__ import annotations

import warnings
from typing import Any

from lazynp._array import Array, Scalar
from lazynp._steps import Broadcast
from lazynp._strides import WARNS, layout, writeable
from lazynp.functions._strided import share_memory


def shown_base(array: Array) -> Array | None:
    """`x.base`. An owner whose shape, dtype or strides were set is a view in here only."""
    base = array._base
    if base is None or not base._flags or "face" not in base._flags:
        return base
    face = base._flags["face"]()
    return None if face is array else base if face is None else face


class Flags:
    """`x.flags`, computed as NumPy does from the logical layout; WRITEABLE can be set."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getattr__(self, name: str) -> Any:
        if name == "owndata":
            return shown_base(self._array) is None
        if name == "writeable":
            if self._warns():
                warnings.warn(_BROADCAST, FutureWarning, stacklevel=2)
                return True
            return writeable(self._array) and not isinstance(self._array, Scalar)
        if name == "num":
            own = 4 * self.owndata + (0x80000400 if self._warns() else 1024 * self.writeable)
            return layout(self._array).flags.num & ~(4 | 1024) | own
        if name in ("behaved", "carray") and not self.writeable:
            return False
        return getattr(layout(self._array).flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_array":
            object.__setattr__(self, name, value)
        elif isinstance(self._array, Scalar):
            raise ValueError("Cannot set flags on array scalars.")
        elif name == "writeable":
            self._set_writeable(bool(value))
        elif name == "writebackifcopy" and value:
            raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
        elif name not in ("aligned", "writebackifcopy"):  # always True, and always False
            found = "attribute" if hasattr(self, name) else "no attribute"
            kind = "'numpy._core.multiarray.flagsobj' object"
            if found == "no attribute":
                raise AttributeError(f"{kind} has no attribute {name!r}")
            raise AttributeError(f"attribute {name!r} of {kind}s is not writable")

    def _warns(self) -> bool:
        """Whether the first write gives a warning; see `broadcast_arrays`."""
        return (self._array._flags or {}).get("readonly") == WARNS

    def _set_writeable(self, value: bool) -> None:
        array = self._array
        base = shown_base(array)
        why = (array._flags or {}).get("readonly")
        always = why == "always" or callable(why)
        if value and (always or base is not None and not writeable(base)):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        if value and array._base is not None:
            if any(type(step) is Broadcast for step in array._path):
                share_memory(array)
        array._flags = {**(array._flags or {}), "readonly": not value}

    def __getitem__(self, name: str) -> Any:
        if name not in _FLAG_NAMES:
            raise KeyError("Unknown flag")
        return getattr(self, _FLAG_NAMES[name])

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in _SETTABLE:
            raise KeyError("Unknown flag")
        setattr(self, _FLAG_NAMES[name], value)

    def __eq__(self, other: Any) -> Any:
        return self.num == other.num if isinstance(other, Flags) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED")
        lines = [f"  {n} : {self[n]}\n" for n in names if not (n == "WRITEABLE" and self._warns())]
        if self._warns():
            lines.insert(3, "  WRITEABLE : True  (with WARN_ON_WRITE=True)\n")
        return "".join(lines) + "  WRITEBACKIFCOPY : False\n"


_BROADCAST = (
    "future versions will not create a writeable array from broadcast_array. Set the writable flag "
    "explicitly to avoid this warning."
)


_FLAG_NAMES = {
    "C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable", "A": "aligned",
    "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray",
    "CONTIGUOUS": "c_contiguous", "FORTRAN": "f_contiguous",
} | {
    name.upper(): name
    for name in (
        "c_contiguous", "f_contiguous", "owndata", "writeable", "aligned", "writebackifcopy",
        "behaved", "carray", "farray", "fnc", "forc",
    )
}  # fmt: skip
_SETTABLE = {"WRITEABLE", "W", "ALIGNED", "A", "WRITEBACKIFCOPY", "X"}
