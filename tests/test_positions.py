"""Positions in code: instructions, statements, lines, and whose frame it is."""

from __future__ import annotations

import _thread
import dis
import inspect
import queue
import sys
from types import CodeType, FrameType
from typing import Any

import pytest

import lazynp as np
from lazynp import _positions
from lazynp._positions import (
    converts,
    ends_statement_between,
    instruction,
    next_instruction,
    position,
    progress,
    user_frame,
)

SOURCE = """
x = f(1) + \\
    f(2)
f(3)
y = [f(i) for i in x]
del x
"""
CODE = compile(SOURCE, "source.py", "exec")


def calls(code: CodeType) -> list[int]:
    """The offsets of calls."""
    return [i.offset for i in dis.get_instructions(code) if i.opname in ("CALL", "CALL_FUNCTION")]


def test_an_offset_in_a_cache_is_of_the_instruction_before_it() -> None:
    begins = [i.offset for i in dis.get_instructions(CODE)]
    ends = [*begins[1:], len(CODE.co_code)]
    assert any(end - begin > 2 for begin, end in zip(begins, ends, strict=True))  # some have one
    for begin, end in zip(begins, ends, strict=True):
        for offset in range(begin, end, 2):
            assert instruction(CODE, offset) == begin
        assert next_instruction(CODE, begin) == (sys.maxsize if begin == begins[-1] else end)
        assert next_instruction(CODE, begin) > begin


def test_positions_are_lines_of_the_source() -> None:
    lines = [position(CODE, offset) for offset in calls(CODE)]
    assert lines[:3] == ["source.py:2", "source.py:3", "source.py:4"]
    assert position(None, 0) == "<data>"


@pytest.mark.parametrize(
    "first, last, ends",
    [
        (0, 1, False),  # f(1) and f(2) are of one statement
        (1, 2, True),  # `x =`
        (0, 2, True),
        (2, 3, True),  # what f(3) returned is dropped
        (1, 1, False),
    ],
)
def test_ends_of_statements(first: int, last: int, ends: bool) -> None:
    places = [i.offset for i in dis.get_instructions(CODE) if i.opname == "CALL"]
    assert ends_statement_between(CODE, places[first], places[last]) is ends


def test_a_frame_reports_a_position_that_is_found() -> None:
    frame = inspect.currentframe()
    assert frame is not None
    found, line = position(frame.f_code, frame.f_lasti), frame.f_lineno
    assert found == f"{__file__}:{line}"


def test_tables_hold_the_code_they_are_of() -> None:
    """They go by identity: a code object that is gone must not lend its table to another."""
    for k in range(50):
        code = compile("\n" * k + "f()\n", f"{k}.py", "exec")
        assert position(code, calls(code)[0]) == f"{k}.py:{k + 1}"
        assert _positions._instructions[id(code)].code is code


# -- frames ----------------------------------------------------------------------------------------


def _called_from_inside(lines: str) -> Any:
    """What a function of lazynp's, of this source, returns; it calls `here`."""
    code = compile(lines, _positions._PACKAGE + "invented.py", "exec")
    scope: dict[str, Any] = {"here": lambda: sys._getframe(1)}
    exec(code, scope)
    return scope


def test_the_users_frame() -> None:
    mine = inspect.currentframe()
    assert mine is not None and user_frame(mine) is mine
    inside = _called_from_inside("def f():\n    return here()\ndef g():\n    return f()\n")
    frame: FrameType = inside["f"]()
    assert frame.f_code.co_filename.endswith("invented.py")
    seen = _called_from_inside("def f():\n    return here(), find(here())\n")
    seen["find"] = user_frame
    at, found = seen["f"]()
    assert at is not mine and found is mine


def test_a_frame_with_no_user_is_its_own() -> None:
    """Where all there is belongs to lazynp, the frame asked about will do."""
    inside = _called_from_inside("def f():\n    put((here(), find(here())))\n")
    results: queue.Queue[Any] = queue.Queue()
    inside |= {"put": results.put, "find": user_frame}
    _thread.start_new_thread(inside["f"], ())  # which has nothing below that function
    frame, found = results.get(timeout=60)
    assert found is frame


def test_progress_goes_up() -> None:
    inside = _called_from_inside(
        "def f():\n    a = find(here())\n    return a, find(here())\n"
        "def g():\n    b = f()\n    return (*b, *f())\n"
    )
    inside["find"] = progress
    mine = inspect.currentframe()
    found = inside["g"]()
    assert all(frame is mine and len(offsets) == 2 for frame, offsets in found)
    offsets = [o for _, o in found]
    assert offsets == sorted(set(offsets))  # outermost first: compared, they say who is further
    assert progress(mine) == (mine, ())  # type: ignore[arg-type]


def test_user_code_that_lazynp_calls_is_the_users() -> None:
    found = []

    def mapped(x: Any) -> Any:
        frame = user_frame(sys._getframe())
        found.append(frame.f_code.co_name)
        return x + 1.0

    np.vmap(mapped)(np.ones((2, 3)))
    assert found == ["mapped"]


def test_who_makes_a_number_of_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    monkeypatch.setattr("lazynp._flush.converts", lambda frame: seen.append(converts(frame)))
    asking = {
        "bool(x.sum() > 0)": True, "1 if x[0] else 2": True, "complex(x[0])": True,
        "[1, 2][x.astype(int)[0]]": True, "x.tolist()": True, "np.array_str(x)": False,
    }  # fmt: skip
    for text, itself in asking.items():
        seen.clear()
        with pytest.raises(TypeError):
            np.jit(eval(f"lambda x: {text}", {"np": np}))(np.ones(3))
        assert seen and set(seen) == {itself}, text
