"""What tests of running loops share: scripts that run with lazynp and with NumPy."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._array import Array
from lazynp._promotion import _gains, _ready, _running, _watching, taken
from lazynp._recorder import local


@pytest.fixture
def every_loop() -> Iterator[None]:
    """Every loop counts as long, every program as fast, and chunks are short."""
    settings = [
        (_running, "SECONDS", 0.0), (_running, "LEFT", 0.0), (_running, "LOADING", 0.0),
        (_running, "COMPILING", 0.0),
        (_running, "_ROUNDS", 3), (_running, "_CHUNK", 1e-9), (_ready, "SECONDS", 0.0),
        (_gains, "FASTER", numpy.inf), (_gains, "HOPELESS", numpy.inf),
    ]  # fmt: skip
    taken.clear()
    with pytest.MonkeyPatch.context() as patch, np.config(execution="adaptive", promotion=True):
        for module, name, value in settings:
            patch.setattr(module, name, value)
        yield


@pytest.fixture(params=["few", "many"])
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs run few rounds at a time, or many. (After `every_loop`.)"""
    monkeypatch.setattr(_running, "_CHUNK", 1.0 if request.param == "many" else 1e-9)


def in_function(round_: str, *begin: str) -> str:
    """A script with a loop in a function. The last line of `begin` is that of the loop. Each round
    changes x, a number, and v, an array of three.
    """
    body, (*before, head) = textwrap.indent(textwrap.dedent(round_).strip(), " " * 8), begin
    first = textwrap.indent("\n".join(before), " " * 4)
    return f"""
def main():
    x, v = 0.3, np.array([1.0, 2.0, 3.0])
{first}
    {head}
        if k == 2 or k == 3: look()
        x = 3.2 * x * (1 - x)
        v = v * 0.99 + x
{body}
    del k
    return [value for name, value in sorted(locals().items())]

result = main()
"""


MARKS = [
    pytest.mark.own_policy,
    pytest.mark.usefixtures("every_loop"),
    pytest.mark.skipif(not _watching.KNOWN, reason="needs the fast path in C"),
]


def blocks(count: int, *, quick: int = 3) -> list[Any]:
    """Blocks of random programs; the small suite, for other Pythons, runs the first ones."""
    return [*range(quick), *(pytest.param(k, marks=pytest.mark.slow) for k in range(quick, count))]


def _looking() -> Any:
    """A function that loops may call: `jit` takes it for one of lazynp's."""
    text = "def look():\n if not local.recorder.staging:\n  seen(_getframe(1))"
    space = {"local": local, "seen": _watching.seen, "_getframe": sys._getframe}
    exec(compile(text, "<frozen look>", "exec"), {"__name__": "lazynp.look"} | space, space)
    made: Any = space["look"]
    made.__globals__.update(space)
    return made


look = _looking()  # as if many operations had run in the frame of the caller


def run(
    source: str, module: Any, path: Path, name: str = "program", times: int = 1
) -> dict[str, Any]:
    """The variables of a script. `look()` in it stands in an `if` of its own. times: that it runs,
    so that its loops are entered again.
    """
    file = path / f"{name}.py"
    text = textwrap.dedent(source)
    file.write_text(text)
    space = {"np": module, "look": look if module is np else lambda: None, "__name__": "script"}
    code = compile(text, str(file), "exec", dont_inherit=True)
    for _ in range(times):
        exec(code, space)
    for known in ("np", "look", "__builtins__"):
        del space[known]
    return space


def told(x: Any) -> Any:
    if isinstance(x, (Array, numpy.ndarray, numpy.generic)):
        return x.dtype, x.shape, isinstance(x, numpy.generic) or type(x) is np.Scalar
    return type(x)


def state_of(generator: Any) -> dict[Any, Any]:
    state = dict(generator.bit_generator.state)
    return {name: str(value) for name, value in state.items()}


def assert_alike(got: dict[Any, Any], want: dict[Any, Any]) -> None:
    assert got.keys() == want.keys()
    for name, w in want.items():
        g = got[name]
        if callable(w):
            continue
        if isinstance(w, numpy.random.Generator):  # it must go on with the same numbers
            assert isinstance(g, numpy.random.Generator), name
            assert_alike(state_of(g), state_of(w))
            continue
        if isinstance(w, (tuple, list, dict)):
            assert type(g) is type(w)
            pairs = (g, w) if isinstance(w, dict) else (dict(enumerate(g)), dict(enumerate(w)))
            assert_alike(*pairs)
            continue
        assert told(g) == told(w), name
        if isinstance(w, (int, str, bool)) or w is None:
            assert g == w, name
        else:
            a, b = numpy.asarray(g), numpy.asarray(w)
            numpy.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=name)


def check(source: str, path: Path, taking: bool = True, times: int = 2) -> Any:
    """A script gives what it gives with NumPy, also when it runs again; whether programs ran
    rounds of it.
    """
    taken.clear()
    got, want = run(source, np, path, times=times), run(source, numpy, path, times=times)
    assert_alike(got, want)
    ran = sum(t.chunks for t in taken)
    assert bool(ran) == taking, [t.explained() for t in taken]
    return got
