"""Compile options: which programs get which, and that the compiler heeds them."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.lowering import _compat, _options, _runtime
from lazynp.lowering._emit import module_text
from tests.lowering.helpers import evaluate

OLDER = ("xla_cpu_use_fusion_emitters", False)


def text_of(f: Any, *args: Any) -> str:
    return module_text(np.make_jaxpr(f)(*args))


def optimised(f: Any, *args: Any) -> str:
    """What XLA's passes make of the program of a jitted function, with its checks."""
    found: list[Any] = []
    compile_text = _runtime.compile_text

    def noted(*args: Any, **kwargs: Any) -> Any:
        found.append(compile_text(*args, **kwargs))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch, np.config(cache="off", execution="compiled"):
        patch.setattr(_runtime, "compile_text", noted)
        np.materialize(np.jit(f)(*args))
    text = max((e._loaded.hlo_modules()[0].to_string() for e in found), key=len)
    return str(text)


def loop(x: Any) -> Any:
    return np.fori_loop(0, 10, lambda i, y: y * 0.5 + 1.0, x)


def gauss_seidel(np: Any, x: Any, sweeps: int, loop: Any) -> Any:
    """Element by element, in place."""
    n, m = x.shape

    def element(i: Any, j: Any, x: Any) -> Any:
        x[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])
        return x

    def row(i: Any, x: Any) -> Any:
        return loop(1, m - 1, lambda j, x: element(i, j, x), x)

    return loop(0, sweeps, lambda k, x: loop(1, n - 1, row, x), x)


def python_loop(start: int, stop: int, body: Any, state: Any) -> Any:
    for i in range(start, stop):
        state = body(i, state)
    return state


def test_loops_have_options_of_their_own() -> None:
    x = np.arange(500.0)

    def element(x: Any) -> Any:
        return np.fori_loop(1, 500, lambda i, x: x.at[i].set(x[i - 1] + x[i]), x)

    straight = text_of(lambda x: x + 1.0, x)
    looping, large_parts = text_of(loop, x), text_of(lambda x: element(loop(x)), x)
    elements = text_of(loop, np.arange(5.0)), text_of(lambda x: element(x * 2.0), x)
    assert '"stablehlo.while"' in looping and '"stablehlo.while"' not in straight
    for text, older in ((straight, True), (looping, False), (large_parts, False),
                        (elements[0], True), (elements[1], True)):  # fmt: skip
        found = _options.compile_options("cpu", text).env_option_overrides
        assert (OLDER in map(tuple, found)) == (older and _compat.VERSION < (0, 11)), text


def test_options_of_the_backend_are_part_of_what_a_program_is_kept_by() -> None:
    texts = "", '"stablehlo.while"'
    plain, loops = [_options.compile_options("cpu", t).SerializeAsString() for t in texts]
    name = b"xla_cpu_small_while_loop_byte_threshold"
    assert name in loops and name not in plain


@pytest.mark.parametrize("n", [10, 100])
def test_a_loop_over_elements_is_one_function(n: int) -> None:
    """XLA calls what it has made one function; otherwise each fusion of a round is a kernel."""

    def sweeps(x: Any) -> Any:
        return gauss_seidel(np, x.copy(), 3, np.fori_loop)

    x = numpy.random.default_rng(0).random((n, n))
    text = optimised(sweeps, np.array(x))
    entry = text[text.index("\nENTRY") :]
    assert " call(" in entry and " while(" not in entry
    got = numpy.asarray(np.jit(sweeps)(np.array(x)))
    numpy.testing.assert_array_equal(got, gauss_seidel(numpy, x.copy(), 3, python_loop))


def test_a_loop_over_large_arrays_is_not() -> None:
    """Such a function is scalar code of one thread."""
    text = optimised(loop, np.ones(100_000))
    assert re.search(r"\n  .* while\(", text[text.index("\nENTRY") :])


@pytest.mark.parametrize("width", ["always", "straight"])
def test_an_option_the_release_lacks_is_dropped_with_a_warning(
    width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = _options.Row("cpu", (0, 0), ())._replace(**{width: (("xla_no_such_option", True),)})
    monkeypatch.setattr(_options, "_TABLE", (row,))
    monkeypatch.setattr(_options, "_unknown", set())
    x = numpy.arange(6.0)
    with pytest.warns(RuntimeWarning, match="has no compile option xla_no_such_option"):
        numpy.testing.assert_array_equal(
            evaluate(lambda b, x: b.binary("stablehlo.add", x, x), x), 2 * x
        )
    assert _options._unknown == {"xla_no_such_option"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(lambda b, x: b.binary("stablehlo.add", x, x), x)


def test_no_option_of_the_table_is_lacking() -> None:
    evaluate(lambda b, x: b.binary("stablehlo.add", x, x), numpy.ones(3))
    np.jit(loop)(np.ones(3))
    assert not _options._unknown


def test_other_platforms_have_no_options_yet() -> None:
    assert _options.options_for("cuda") == ()


def kernels_of(f: Any, *args: Any) -> bool:
    """Whether the newer emitters made the kernels of this program."""
    found: list[bool] = []
    options = _runtime.compile_options

    def noted(platform: str, text: str, heavy: bool = False) -> Any:
        made = options(platform, text, heavy)
        found.append(OLDER not in made.env_option_overrides)
        return made

    with pytest.MonkeyPatch.context() as patch, np.config(cache="off", execution="compiled"):
        patch.setattr(_runtime, "compile_options", noted)
        np.materialize(np.jit(f)(*args))
    return found[-1]


@pytest.mark.skipif(_compat.VERSION >= (0, 11), reason="later releases have one kind of emitters")
def test_a_program_that_computes_much_takes_the_newer_emitters() -> None:
    """Over its operand, a kernel of the older ones is a scalar loop."""
    x, few = numpy.linspace(0.1, 0.9, 20_000), numpy.linspace(0.1, 0.9, 100)
    assert kernels_of(lambda x: np.arcsin(x), x)
    assert not kernels_of(lambda x: np.arcsin(x), few)
    assert not kernels_of(lambda x: (x * 2.0 + 1.0).reshape(100, 200).T * x[0], x)
