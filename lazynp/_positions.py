"""Positions in the user's code: who called, at which instruction, on which line.

A position is a code object and the offset of an instruction, never a frame: a frame would keep its
variables alive. It is formatted only when an error or a report needs it.
"""

from __future__ import annotations

import bisect
import dis
import sys
from types import CodeType, FrameType

from lazynp._dataclass import dataclass
from lazynp._memo import Memo

_PACKAGE = __file__.rsplit("_positions", 1)[0]
# By identity, since hashing a code object reads all of it. The entry keeps the code object alive.
internal: Memo[int, tuple[bool, CodeType]] = Memo("code", 1 << 12)


@dataclass(frozen=True)
class _Instructions:
    """The instructions of a code object: their offsets, their lines, and which of them end a
    statement by storing or dropping its result.
    """

    code: CodeType  # kept alive: the table goes by identity
    begins: list[int]
    lines: list[int]
    ends: list[int]


_instructions: Memo[int, _Instructions] = Memo("instructions", 1 << 12)


def _table(code: CodeType) -> _Instructions:
    found = _instructions.get(id(code))
    if found is None:
        begins, lines, ends, line = [], [], [], code.co_firstlineno
        starts = {start: number for start, _, number in code.co_lines()}
        for i in dis.get_instructions(code):
            line = starts.get(i.offset) or line
            begins.append(i.offset)
            lines.append(line)
            if i.opname.startswith("STORE_") or i.opname == "POP_TOP":
                ends.append(i.offset)
        found = _instructions.put(id(code), _Instructions(code, begins, lines, ends))
    return found


def instruction(code: CodeType, offset: int) -> int:
    """The offset at which an instruction begins.

    A frame in a call may report an offset in the inline cache behind the instruction, once CPython
    has specialised it.
    """
    begins = _table(code).begins
    return begins[bisect.bisect_right(begins, offset) - 1]


def next_instruction(code: CodeType, offset: int) -> int:
    """The offset where the instruction at `offset` and its cache end."""
    begins = _table(code).begins
    place = bisect.bisect_right(begins, offset)
    return begins[place] if place < len(begins) else sys.maxsize


def ends_statement_between(code: CodeType, first: int, last: int) -> bool:
    """Whether a statement ends at or after offset `first` and before offset `last`."""
    ends = _table(code).ends
    place = bisect.bisect_left(ends, instruction(code, first))
    return place < len(ends) and ends[place] < last


def position(code: CodeType | None, offset: int) -> str:
    """`file:line` of a recorded position."""
    if code is None:
        return "<data>"
    table = _table(code)
    line = table.lines[bisect.bisect_right(table.begins, offset) - 1]
    return f"{code.co_filename}:{line}"


def user_frame(frame: FrameType) -> FrameType:
    """The nearest frame that is not lazynp's own."""
    found: FrameType | None = frame
    while found is not None:
        code = found.f_code
        known = internal.get(id(code))
        if known is None:
            known = _look(code)
        if not known[0]:
            return found
        found = found.f_back
    return frame


_CONVERSIONS = f"{_PACKAGE}_conversions.py"
_NUMBERS = frozenset({"__bool__", "__int__", "__float__", "__complex__", "__index__"})


def converts(frame: FrameType) -> bool:
    """Whether the user's code itself makes a number of an array (`if x`, `float(x)`), and no
    function of lazynp's does, which may take another way without the number.
    """
    user, code = user_frame(frame), frame.f_code
    found: FrameType | None = frame
    while found is not None and found is not user:
        code, found = found.f_code, found.f_back
    if code.co_name in _NUMBERS:
        return True
    return code.co_filename == _CONVERSIONS and not code.co_name.startswith(("__array", "_buffer"))


def depth_of_user(frame: FrameType) -> int:
    """The `stacklevel` of a warning in this frame that is to name the user's line."""
    user, depth = user_frame(frame), 1
    while frame is not user and frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def progress(frame: FrameType) -> tuple[FrameType, tuple[int, ...]]:
    """The user's frame, and the progress of each of lazynp's functions below it, outermost
    first.
    """
    found: FrameType | None = frame
    offsets = []
    while found is not None and (internal.get(id(found.f_code)) or _look(found.f_code))[0]:
        offsets.append(found.f_lasti)
        found = found.f_back
    return found or frame, tuple(reversed(offsets))


def _look(code: CodeType) -> tuple[bool, CodeType]:
    return internal.put(id(code), (code.co_filename.startswith(_PACKAGE), code))
