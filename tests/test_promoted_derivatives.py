"""Derivatives as programs: calls in a row give what Python gives, and Python notices nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._array import Array
from lazynp._promotion import derivatives
from tests import derivative_generator as generator, derivative_scenarios as scenarios
from tests.promoting import promoting

pytestmark = pytest.mark.own_policy


@pytest.fixture(autouse=True)
def adaptive() -> Iterator[None]:
    with promoting():
        yield


def told(x: Any) -> Any:
    """A result with all that a user may see of it, and its values apart."""
    if isinstance(x, (tuple, list)):
        return type(x), [told(v) for v in x]
    if isinstance(x, dict):
        return {k: told(v) for k, v in x.items()}
    if isinstance(x, Array):
        f = x.flags
        return type(x), x.dtype, x.shape, f.c_contiguous, f.f_contiguous, f.writeable
    return type(x), x


def values(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [n for v in x for n in values(v)]
    if isinstance(x, dict):
        return values(list(x.values()))
    return [numpy.asarray(x)] if isinstance(x, Array) else []


def results(scenario: Callable[[], Iterator[Any]]) -> list[Any]:
    """Each result as it was when it was given."""
    return [(told(x), [v.copy() for v in values(x)]) for x in scenario()]


def compared(scenario: Callable[[], Iterator[Any]]) -> int:
    """Compare the calls as programs with those in Python; the number of programs."""
    with np.config(promotion=False):
        want = results(scenario)
    before = np.stats().promotions
    got = results(scenario)
    assert [g[0] for g in got] == [w[0] for w in want]
    for (_, ours), (kinds, theirs) in zip(got, want, strict=True):
        for g, w in zip(ours, theirs, strict=True):
            rtol = 1e-9 if g.dtype.itemsize > 4 else 1e-4
            numpy.testing.assert_allclose(g, w, rtol=rtol, atol=rtol, err_msg=str(kinds))
    return np.stats().promotions - before


def explained() -> str:
    return "\n".join(d.explained() for d in derivatives.values())


@pytest.mark.parametrize("scenario", scenarios.COMPILED, ids=lambda f: f.__name__)
def test_programs_give_what_python_gives(scenario: Any) -> None:
    assert compared(scenario) >= 1, explained()


@pytest.mark.parametrize("scenario", scenarios.IN_PYTHON, ids=lambda f: f.__name__)
def test_what_python_could_notice_stays_with_python(scenario: Any, capsys: Any) -> None:
    assert compared(scenario) == 0, explained()
    python, ours = capsys.readouterr().out, ""
    assert python[: len(python) // 2] * 2 == python, ours


@given(st.integers(0, 10**6))
@pytest.mark.filterwarnings("ignore")
def test_generated_losses(tmp_path_factory: Any, seed: int) -> None:
    """Gradients in a row, beside those of Python: closures, data, shapes and names change."""
    source = generator.Generator(seed).source()
    path = tmp_path_factory.mktemp("generated") / "losses.py"
    path.write_text(source)
    namespace: dict[str, Any] = {"__name__": "losses", "np": np, "G": np.ones(1)}
    exec(compile(source, str(path), "exec"), namespace)
    d = np.asarray([1.0, 2.0])
    kept = None
    for n, call in enumerate(generator.calls(seed, 10)):
        namespace["K"] = call["K"]
        namespace["G"][0] = d[1] = 0.1 * n
        if kept is None or call["anew"]:
            kept = np.value_and_grad(namespace["make"](call["c"], d, call["t"]))
        x = call["x"] if call["numpys"] else np.asarray(call["x"])
        got = outcome(kept, x, call["k"])
        with np.config(promotion=False):
            want = outcome(kept, x, call["k"])
        assert told(got) == told(want), (source, n, explained())
        for g, w in zip(values(got), values(want), strict=True):
            close = numpy.abs(g - w).max() <= 1e-8 * max(1.0, numpy.abs(w).max())
            assert close or numpy.array_equal(g, w, equal_nan=True), (source, n, g, w, explained())


def outcome(f: Any, *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("scenario", scenarios.UNTIL_CHANGED, ids=lambda f: f.__name__)
def test_names_that_cannot_be_inputs_end_the_program(scenario: Any) -> None:
    assert compared(scenario) <= 1, explained()
    assert all(d.whys for d in derivatives.values())
