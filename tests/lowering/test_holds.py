"""Unrolled stages: what XLA would compute again for each reader that moves it is stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.lowering import _compat, _hold_call, _holds, _options, _runtime
from lazynp.lowering._emit import module_text

Stages = Callable[[Any, Any, int], Any]  # of the module, an array, how many


def jacobi(np: Any, u: Any, stages: int) -> Any:
    u = u.copy()
    for _ in range(stages):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def rolled(np: Any, u: Any, stages: int) -> Any:
    for _ in range(stages):
        u = 0.25 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1))
    return u


def heat(np: Any, u: Any, stages: int) -> Any:
    u = u.copy()
    for _ in range(stages):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def by_way_of_others(np: Any, u: Any, stages: int) -> Any:
    """No value is itself read by two slices."""
    for _ in range(stages):
        v = u * u * 0.1 + u
        a, b = v + 1.0, v * 2.0
        u = np.concatenate([u[:1], a[2:] - b[:-2], u[-1:]])
    return u


def masked(np: Any, u: Any, stages: int) -> Any:
    u = u.copy()
    for _ in range(stages):
        u[1:] += 0.05 * np.sin(u[:-1])
        u[u < 0] *= 0.5
    return u


def elementwise(np: Any, u: Any, stages: int) -> Any:
    for _ in range(stages):
        u = u * 0.9 + np.sin(u) * np.where(u > 0.5, u, 0.1)
    return u


def normalised(np: Any, u: Any, stages: int) -> Any:
    for _ in range(stages):
        u = u * 0.5 + 0.1 * u * u
        u = u / (u.sum(axis=1, keepdims=True) + 1.0)
    return u


STAGES: dict[str, tuple[Stages, tuple[int, ...]]] = {
    "jacobi": (jacobi, (90, 90)),
    "rolled": (rolled, (90, 90)),
    "heat": (heat, (8000,)),
    "by way of others": (by_way_of_others, (8000,)),
    "masked": (masked, (8000,)),
}


def drawn(shape: tuple[int, ...]) -> Any:
    return numpy.random.default_rng(0).random(shape) - 0.3


def fusions(f: Callable[[Any], Any], x: Any) -> list[int]:
    """How many instructions are fused into each kernel."""
    executable = _runtime.compile_program(np.make_jaxpr(f)(np.array(x)))
    text = executable._loaded.hlo_modules()[0].to_string()
    bodies = re.findall(r"\n%\S*fused_computation\S* \(.*?\{(.*?)\n\}", text, re.DOTALL)
    return [body.count("\n") for body in bodies]


def holds(f: Callable[[Any], Any], x: Any) -> int:
    return count(module_text(np.make_jaxpr(f)(np.array(x))))


def count(text: str) -> int:
    return text.count(f'"{_holds.TARGET}"') + text.count('"func.call"')


@pytest.mark.parametrize("name", STAGES)
def test_programs_grow_with_the_number_of_stages(name: str) -> None:
    stages, shape = STAGES[name]
    x = drawn(shape)
    of = {n: fusions(lambda x, n=n: stages(np, x, n), x) for n in (8, 16, 32)}
    largest, total = {n: max(k) for n, k in of.items()}, {n: sum(k) for n, k in of.items()}
    assert largest[32] == largest[16] <= largest[8] + 2
    assert total[32] - total[16] <= 2.2 * (total[16] - total[8])


@pytest.mark.parametrize("name", STAGES)
def test_and_so_do_their_gradients(name: str) -> None:
    stages, shape = STAGES[name]
    x = drawn(shape)
    of = {n: fusions(np.grad(lambda x, n=n: (stages(np, x, n) ** 2).sum()), x) for n in (4, 8, 16)}
    largest, total = {n: max(k) for n, k in of.items()}, {n: sum(k) for n, k in of.items()}
    assert largest[16] == largest[8] <= largest[4] + 4
    assert total[16] - total[8] <= 2.2 * (total[8] - total[4])


@pytest.mark.parametrize("stages", [elementwise, normalised], ids=lambda f: f.__name__)
@pytest.mark.parametrize("differentiated", [False, True])
def test_nothing_is_held_where_nothing_moves(stages: Stages, differentiated: bool) -> None:
    def f(x: Any) -> Any:
        return stages(np, x, 16)

    g = np.grad(lambda x: f(x).sum()) if differentiated else f
    assert holds(g, drawn((100, 100))) == 0


def filled(r: Any) -> Any:
    return numpy.linspace(0.5, 1.5, r.shape[1])


SHARED: dict[str, Callable[[Any], Any]] = {
    "results": lambda r: (r * 2.0, r + 1.0, r * r),
    "products": lambda r: ((r * 2.0) @ filled(r), (r + 1.0) @ filled(r)),
    "a product and a result": lambda r: (r @ filled(r), r - 1.0),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_power_that_several_kernels_need_is_computed_once(name: str) -> None:
    def f(x: Any) -> Any:
        return SHARED[name](x**-1.5)

    x = drawn((100, 100)) ** 2 + 1.0
    assert holds(f, x) == 1
    assert holds(f, x[:20, :20]) == 0  # of few numbers
    for got, want in zip(np.jit(f)(np.array(x)), f(x), strict=True):
        numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-12)


def test_what_xla_shares_by_itself_is_not_held() -> None:
    assert holds(lambda x: (np.exp(x) * 2.0, np.exp(x) + x), drawn((100, 100))) == 0
    assert holds(lambda x: (x * 2.0 + 1.0, (x * 2.0 + 1.0) * x), drawn((100, 100))) == 0
    assert holds(lambda x: ((x**-1.5).sum(), (x**-1.5).max()), drawn((100, 100)) ** 2) == 0


def test_what_is_cheap_is_computed_again() -> None:
    def difference(x: Any) -> Any:
        y = x * 2.0
        return y[1:] - y[:-1]

    assert holds(difference, drawn((8000,))) == 0
    small, large = drawn((8000,)), drawn((80_000,))
    assert holds(lambda x: np.diff(x * 2.0 + x * x - 1.0), small) == 1
    assert holds(lambda x: np.diff(x * 2.0 + x * x - 1.0), large) == 0  # leaves the caches


SAME: dict[str, tuple[Stages, str]] = {
    **{f"{name} {dtype}": (STAGES[name][0], dtype) for name in STAGES for dtype in ("f4", "f8")},
    "rolled c16": (rolled, "c16"),
    "heat c8": (heat, "c8"),
}


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("name", SAME)
def test_values_are_the_same(name: str, n: int) -> None:
    stages, dtype = SAME[name]
    x = (drawn(STAGES[name.rpartition(" ")[0]][1]) * 10).astype(dtype)
    if x.dtype.kind == "c":
        x += 0.5j
    expected = stages(numpy, x, n)
    got = numpy.asarray(np.jit(lambda x: stages(np, x, n))(np.array(x)))
    if (
        stages is masked or x.dtype.kind == "c"
    ):  # a sine; NumPy fuses in products of complex numbers
        eps = 8 * float(numpy.finfo(dtype).eps)
        numpy.testing.assert_allclose(got, expected, rtol=eps, atol=10 * eps)
    else:
        numpy.testing.assert_array_equal(got, expected)


def test_integers_are_held_too() -> None:
    x = numpy.arange(8000) ** 2
    got = np.jit(lambda x: shifted(np, x, 5))(np.array(x))
    numpy.testing.assert_array_equal(numpy.asarray(got), shifted(numpy, x, 5))
    assert holds(lambda x: shifted(np, x, 5), x) == 4


def shifted(np: Any, u: Any, stages: int) -> Any:
    u = u.copy()
    for k in range(stages):
        u[1:-1] = (u[2:] ^ u[:-2]) + 3 * u[1:-1] + k
    return u


def test_several_stages_in_the_body_of_a_loop() -> None:
    """Held there too; what the loop carries is still written in place."""

    def sweeps(x: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            u, seen = state
            u = heat(np, u, 4)
            seen[i] = u[3]
            return u, seen

        return np.fori_loop(0, 6, body, (x, np.zeros(50_000)))

    x = drawn((8000,))
    text = module_text(np.make_jaxpr(sweeps)(np.array(x)))
    assert count(text) >= 3
    executable = _runtime.compile_program(np.make_jaxpr(sweeps)(np.array(x)))
    hlo = executable._loaded.hlo_modules()[0].to_string()
    body = hlo[hlo.index("while_body") if "while_body" in hlo else 0 :]
    copies = re.findall(r"= f64\[50000\]\S* copy\(", body)
    assert len(copies) <= 1  # the zeros, before the loop
    u, seen = np.jit(sweeps)(np.array(x))
    expected = heat(numpy, x, 24)
    numpy.testing.assert_array_equal(numpy.asarray(u), expected)
    numpy.testing.assert_array_equal(numpy.asarray(seen)[5], expected[3])


def test_many_stages_take_the_default_emitters() -> None:
    """They compile equal stages once."""
    x = np.array(drawn((8000,)))
    few, many = (module_text(np.make_jaxpr(lambda x, n=n: heat(np, x, n))(x)) for n in (2, 8))
    older = ("xla_cpu_use_fusion_emitters", False)
    of = [
        [*map(tuple, _options.compile_options("cpu", text).env_option_overrides)]
        for text in (few, many)
    ]
    assert (older in of[0]) == (_compat.VERSION < (0, 11))
    assert older not in of[1]


# -- arrays that are written and then read ---------------------------------------------------------


def eliminated(np: Any, a: Any) -> Any:
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def bordered(np: Any, a: Any) -> Any:
    """Each round writes a row, and reads all."""
    for k in range(1, 60):
        a[k] = a[k - 1] * 0.5
        a = a + 0.1 * a.mean()
    return a


def copies(f: Callable[[Any], Any], x: Any) -> list[str]:
    """The shapes of arrays that the bodies of loops copy."""
    hlo = np.jit(f).lower(np.array(x)).compile().as_text()
    found = []
    for name in set(re.findall(r"body=%?([\w.\-]+)", hlo)):
        body = re.search(rf"\n%?{re.escape(name)} \(.*?\n\}}", hlo, re.DOTALL)
        found += re.findall(r"= \w+(\[\d[\d,]*\])\S* copy\(", body[0] if body else "")
    return found


needs_the_call = pytest.mark.skipif(
    not _hold_call.BUILT, reason="the custom call is part of the fast path in C"
)


@needs_the_call
def test_an_array_that_is_written_twice_a_round_is_not_copied() -> None:
    x = drawn((200, 200)) + 200 * numpy.eye(200)
    assert copies(lambda a: eliminated(np, a), x) == []
    got = np.jit(lambda a: eliminated(np, a))(np.array(x))
    numpy.testing.assert_allclose(got, eliminated(numpy, x.copy()), rtol=1e-12)


def test_a_written_array_that_all_is_read_of() -> None:
    x = drawn((64, 70))
    got = np.jit(lambda a: bordered(np, a))(np.array(x))
    numpy.testing.assert_allclose(got, bordered(numpy, x.copy()), rtol=1e-12)


@needs_the_call
def test_an_array_that_does_not_outlive_the_region_is_not_held() -> None:
    def padded(x: Any) -> Any:
        out = np.zeros(x.size + 2)
        out[1:-1] = x
        return out[2:] - out[:-2]

    assert holds(padded, drawn((5000,))) == 0


@needs_the_call
def test_the_call_copies_nothing_and_small_values_take_a_function() -> None:
    text = module_text(np.make_jaxpr(lambda u: heat(np, u, 4))(np.array(drawn((8000,)))))
    assert _holds.TARGET in text and '"func.call"' not in text
    small = module_text(np.make_jaxpr(lambda u: heat(np, u, 4))(np.array(drawn((60,)))))
    assert _holds.TARGET not in small
