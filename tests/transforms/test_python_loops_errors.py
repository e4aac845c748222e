"""Python's loops under `jit`: exceptions, limits, options, and what must not change."""

from __future__ import annotations

import inspect
import pickle
import random
import traceback
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from tests.transforms import loop_kernels as kernels
from tests.transforms.test_python_loops import OURS, PLAIN

X = numpy.arange(1.0, 13.0)


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, s in enumerate(lines) if text in s)


def unbound(x):
    if x > 0:
        y = x
    return y


def unbound_after_no_round(x, n):
    for i in range(n):
        z = x[i]
    return z


def strings(x):
    if x > 0:
        kind = "plus"
    else:
        kind = "minus"
    return x if kind == "plus" else -x


def sometimes_none(x):
    if x > 0:
        return x


def shapes(x):
    if x[0] > 0:
        y = x
    else:
        y = x[1:]
    return y


def raising(x):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(f"negative {'{}'}")
    return x.sum()


def out_of_bounds(x):
    s = 0.0
    for i in range(20):
        s += x[i]
    return s


def appended_in_branch(x):
    rows = []
    if x > 0:
        rows.append(x)
    return rows


def growing(x):
    rows = [x]
    for i in range(1500):
        rows.append(rows[-1] * 0.5 + i)
    return np.stack(rows)


def appended(x):
    rows = [x]
    for i in range(10):
        rows.append(rows[-1] * i)
    return np.stack(rows)


def ambiguous(x):
    if x > 0:
        return x
    return -x


def wrong_shapes(x):
    s = 0.0
    for _ in range(20):
        s = s + x @ x[1:]
    return s


@pytest.mark.parametrize(
    "function, args, kind, message",
    [
        (unbound, (-1.0,), UnboundLocalError, "'y'"),
        (unbound_after_no_round, (X, 0), UnboundLocalError, "'z'"),
        (unbound_after_no_round, (X, np.array(0)), UnboundLocalError, "'z'"),
        (strings, (1.0,), TypeError, "`kind` is 'plus' in one branch and 'minus' in the other"),
        (sometimes_none, (1.0,), TypeError, "a value or None"),
        (shapes, (X,), TypeError, r"`y` has shape \(12,\) in one branch and \(11,\)"),
        (raising, (-X,), ValueError, "negative"),
        (OURS.asserting, (X * 100,), AssertionError, "too large"),
        (out_of_bounds, (X,), IndexError, "index 12 is out of bounds"),
        (appended_in_branch, (1.0,), TypeError, "list.append"),
        (growing, (1.0,), TypeError, r"unrolled for \d+ rounds .* because `rows` is read"),
        (ambiguous, (X,), ValueError, "ambiguous"),
        (wrong_shapes, (X,), ValueError, "matmul"),
    ],
)
def test_exceptions(function: Any, args: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        result = np.jit(function)(*args)
        numpy.asarray(result)


def test_no_exception_where_python_raises_none() -> None:
    for function, args in [(unbound, (1.0,)), (raising, (X,)), (OURS.asserting, (X,)),
                           (unbound_after_no_round, (X, np.array(3)))]:  # fmt: skip
        numpy.testing.assert_allclose(np.jit(function)(*args), function(*args))


def test_lines() -> None:
    """Checks and messages name the user's line; so do tracebacks."""
    with pytest.raises(ValueError) as caught:
        np.jit(raising)(-X)
    where = f"{__file__}:{line_of(raising, 'raise ValueError')}"
    assert any(where in note for note in caught.value.__notes__)
    with pytest.raises(TypeError, match=f"line {line_of(strings, 'if x > 0')}: `kind`"):
        np.jit(strings)(1.0)
    with pytest.raises(ValueError) as caught:
        np.jit(wrong_shapes)(X)
    frames = traceback.extract_tb(caught.value.__traceback__)
    mine = [f for f in frames if f.filename == __file__ and f.name == "wrong_shapes"]
    assert mine[-1].lineno == line_of(wrong_shapes, "x @ x[1:]")


def test_explain_names_the_line_and_the_reason() -> None:
    jitted = np.jit(appended)
    jitted(X)
    why = "`rows` is read in the loop that appends to it"
    line = line_of(appended, "for i")
    assert f"line {line}: unrolled 10 times: {why}" in str(np.explain(jitted))
    staged = np.jit(OURS.total)
    staged(X)
    assert "unrolled" not in str(np.explain(staged))


def primitives(jitted: Any, *args: Any) -> list[str]:
    return [e.primitive.name for e in jitted.trace(*args).eqns]


def test_the_option_loops() -> None:
    f = OURS.rebound_arrays
    assert "scan" in primitives(np.jit(f), X)
    assert "scan" not in primitives(np.jit(f, loops="unroll"), X)
    assert "scan" not in primitives(np.jit(OURS.short_known), 1.0)
    assert "scan" in primitives(np.jit(OURS.short_known, loops="stage"), 1.0)
    with np.config(loops="unroll"):
        assert "scan" not in primitives(np.jit(f), X)
        assert "scan" in primitives(np.jit(f, loops="auto"), X)
    with pytest.raises(TypeError, match="must be staged"):
        np.jit(appended, loops="stage")(X)
    np.jit(OURS.appended, loops="stage")(X)
    with pytest.raises(ValueError, match="loops must be one of"):
        np.jit(f, loops="always")
    numpy.testing.assert_allclose(np.jit(growing, loops="unroll")(1.0), growing(1.0))


def test_an_int_that_only_bounds_a_range_is_static() -> None:
    jitted = np.jit(OURS._power)
    assert "scan" in primitives(jitted, 1.5, 20) and "while" in primitives(
        jitted, 1.5, np.array(20)
    )
    for n in (0, 3, 20):
        for bound in (n, np.array(n)):
            numpy.testing.assert_allclose(jitted(1.5, bound), 1.5**n)
    numpy.testing.assert_allclose(np.grad(jitted)(1.5, 20), 20 * 1.5**19)
    numpy.testing.assert_allclose(jitted(v=1.5, n=12), 1.5**12)


def test_nothing_is_rewritten_where_nothing_decides() -> None:
    def plain(x):
        return np.sin(x) * 2

    jitted = np.jit(plain)
    assert jitted._prepared is plain


def test_the_function_keeps_its_looks() -> None:
    jitted = np.jit(kernels.prefix_sums)
    assert inspect.signature(jitted) == inspect.signature(kernels.prefix_sums)
    assert jitted.__wrapped__ is kernels.prefix_sums and jitted.__name__ == "prefix_sums"
    again = pickle.loads(pickle.dumps(np.jit(kernels.total, loops="stage")))
    numpy.testing.assert_allclose(again(X), X.sum())
    with np.disable_jit():
        numpy.testing.assert_allclose(np.jit(OURS.recurrence)(np.array(X)), PLAIN.recurrence(X * 1))


def test_a_loop_is_traced_once() -> None:
    seen = []

    def body_of(x, i):
        seen.append(i)
        return x * i

    def loop(x):
        s = x * 0.0
        for i in range(1000):
            s = s + np.tanh(x) * i
        return s

    jaxpr = np.jit(loop).trace(X)
    assert str(jaxpr).count("tanh") == 1
    assert body_of(2, 3) == 6 and seen == [3]


def test_python_numbers_stay_known() -> None:
    def f(x):
        n, c = 0, 1.0
        for i in range(10):
            x = x + 1
            n += i
            c = c * 0.5
        return np.zeros(n, dtype="f4") + c, x

    (zeros, x), (want, want_x) = np.jit(f)(1.0), f(1.0)
    assert zeros.shape == want.shape == (45,) and zeros.dtype == want.dtype == "f4"
    numpy.testing.assert_array_equal(zeros, want)
    assert float(x) == want_x == 11.0


def _until(x: Any, limit: Any) -> Any:
    """A long loop with a jump."""
    s = 1.0
    for i in range(500):
        if s > limit:
            break
        s = s * x + 0.01 * i
    return s


def _doubled(x: Any) -> Any:
    s = x
    while s < 10.0:
        s = s * x
        s = s + 0.0
    return s


def test_reverse_mode_of_a_long_loop_with_a_jump() -> None:
    jitted, h = np.jit(_until), 1e-6
    assert float(jitted(1.1, 50.0)) == pytest.approx(_until(1.1, 50.0), rel=1e-12)
    want = (_until(1.1 + h, 50.0) - _until(1.1 - h, 50.0)) / (2 * h)
    assert float(np.grad(jitted)(1.1, 50.0)) == pytest.approx(want, rel=1e-5)
    assert float(np.grad(jitted)(1.1, 0.5)) == 0.0  # no round


def test_a_loop_without_a_limit_has_reverse_mode() -> None:
    h = 1e-6
    want = (_doubled(2.0 + h) - _doubled(2.0 - h)) / (2 * h)
    for gradient in (np.grad(np.jit(_doubled)), np.jit(np.grad(_doubled))):
        assert float(gradient(2.0)) == pytest.approx(want, rel=1e-6)


def test_a_number_counted_until_a_known_jump_stays_known() -> None:
    def f(x: Any) -> Any:
        n = 0
        for i in range(100):
            if i * i > 3000:
                break
            n += 1
        return x * np.ones(n)

    assert np.jit(f)(2.0).shape == (55,)


def test_ints_of_more_than_64_bits() -> None:
    def factorials(x):
        f, s = 1, 0.0
        for i in range(1, 30):
            f *= i
            s += x / f
        return s

    def powers(x):
        s = 0.0
        for i in range(80):
            s += x / 2**i
        return s

    def fibonacci(x, n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return x * a

    for f in (factorials, powers):
        numpy.testing.assert_allclose(np.jit(f)(0.7), f(0.7), rtol=1e-14)
    numpy.testing.assert_allclose(np.jit(fibonacci)(1.0, np.array(50)), fibonacci(1.0, 50))
    numpy.testing.assert_allclose(np.jit(fibonacci)(1.0, 100), fibonacci(1.0, 100))
    with pytest.raises(OverflowError, match="more than 64 bits"):
        np.jit(fibonacci)(1.0, np.array(100))


def test_random_numbers_differ_between_rounds() -> None:
    def walk(x):
        for _ in range(12):
            x = x + random.random()
        return x

    random.seed(3)
    want = walk(0.0)
    random.seed(3)
    assert float(np.jit(walk)(0.0)) == pytest.approx(want)


# -- generated programs ----------------------------------------------------------------------------

_TESTS = ["a > b", "x[i % 4] > 0", "i > 3", "a < 1 and x[1] < a", "not b > 2 or a > 0", "n > 2"]
_SIMPLE = [
    "a = a * 0.5 + x[i % 4]", "b += a", "x[i % 4] = a", "x[(i + 1) % 4] += 0.25", "n += 1",
    "a, b = b, a", "x *= 0.5", "b = x[0] if a > b else x[1]", "a = min(a, 3.0)",
]  # fmt: skip


@st.composite
def blocks(draw: Any, depth: int, loop: bool) -> list[str]:
    out: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["simple", "simple", "if", "for", "while", "jump"]))
        if kind == "simple" or not depth or kind == "jump" and not loop:
            out.append(draw(st.sampled_from(_SIMPLE)))
        elif kind == "jump":
            jump = draw(st.sampled_from(["break", "continue", "return a, b, n"]))
            out += [f"if {draw(st.sampled_from(_TESTS))}:", f"    {jump}"]
        elif kind == "if":
            out.append(f"if {draw(st.sampled_from(_TESTS))}:")
            out += ["    " + s for s in draw(blocks(depth - 1, loop))]
            if draw(st.booleans()):
                out.append("else:")
                out += ["    " + s for s in draw(blocks(depth - 1, loop))]
        elif kind == "for":
            over = draw(st.sampled_from(["range(3)", "range(9)", "range(n % 4, 10)"]))
            out.append(f"for i in {over}:")
            out += ["    " + s for s in draw(blocks(depth - 1, True))]
        else:
            k = f"k{depth}"  # a nested loop has a counter of its own, else the outer one never ends
            test = f"{k} < 4 and ({draw(st.sampled_from(_TESTS))})"
            out += [f"{k} = 0", f"while {test}:", f"    {k} += 1"]
            out += ["    " + s for s in draw(blocks(depth - 1, True))]
    return out


@settings(deadline=None)
@given(blocks(3, False), st.lists(st.integers(-4, 4), min_size=4, max_size=4))
def test_generated_programs(tmp_path_factory: Any, body: list[str], values: list[int]) -> None:
    source = "def f(x):\n    a, b, n, i = x[2], 0.5, 0, 1\n"
    source += "".join(f"    {s}\n" for s in body) + "    return a, b, n\n"
    path = tmp_path_factory.mktemp("generated") / "program.py"
    path.write_text(source)
    namespace: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), namespace)
    f = namespace["f"]
    theirs, ours = numpy.array(values) * 0.7 + 0.1, np.array(values) * 0.7 + 0.1
    want, got = f(theirs), np.jit(f)(ours)
    for g, w in zip(got, want, strict=True):
        numpy.testing.assert_allclose(g, w, rtol=1e-12, err_msg=source)
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=source)


def _binomial(n: Any, k: Any) -> Any:
    r = 1
    for i in range(k):
        r = r * (n - i) // (i + 1)
    return r


def _squares(a: Any, n: Any) -> Any:
    total = 0
    for _ in range(n):
        total += a * a
    return total


def _shifted(a: Any, n: Any) -> Any:
    if a > 0:
        a = a << n
    return a


def _powers(a: Any, n: Any) -> Any:
    for _ in range(2):
        a = a**n
    return a


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (_binomial, (66, 33)), (_binomial, (30, 15)), (_binomial, (60, 30)),
        (_squares, (2**40, 50)), (_squares, (2**20, 50)), (_squares, (-(2**31), 1)),
        (_shifted, (1, 70)), (_shifted, (1, 63)), (_shifted, (1, 62)), (_shifted, (-1, 70)),
        (_powers, (3, 8)), (_powers, (3, 2)), (_powers, (-3, 3)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("loops", ["auto", "unroll"])
def test_ints_beyond_64_bits_in_unrolled_loops(function: Any, args: Any, loops: str) -> None:
    """The call raises, also if only a number on the way needs more than 64 bits."""
    jitted = np.jit(function, loops=loops)
    try:
        assert int(jitted(*args)) == function(*args)
    except OverflowError:
        assert args in [(66, 33), (60, 30), (2**40, 50), (1, 70), (1, 63), (3, 8)]


def _crc(data: Any) -> Any:
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte) << 8
        for _ in range(8):
            if crc & 0x8000:
                crc = (crc << 1) ^ 0x1021
            else:
                crc = crc << 1
            crc &= 0xFFFF
    return crc


def _digits(data: Any) -> Any:
    number = 0
    for byte in data:
        number = (number << 3) | int(byte) & 7
    return number


def _halves(data: Any) -> Any:
    total = 0.0
    for k in range(len(data)):
        total += float(data[k]) / 2**k
    return total


def _square_of_each(data: Any) -> Any:
    state = 7
    for byte in data:
        state = (state**2 + int(byte)) % 10007
    return state


@pytest.mark.parametrize("function", [_crc, _digits, _halves, _square_of_each])
@pytest.mark.parametrize("count", [0, 5, 21, 30, 200])
def test_shifts_and_powers_of_ints_in_loops(function: Any, count: int) -> None:
    """A number that a loop carries may be shifted by a constant; where it overflows, the call
    raises.
    """
    data = (numpy.arange(count) * 37 % 251 + 4).astype(numpy.uint8)
    want = function(data)
    if isinstance(want, int) and want >= 2**63:
        with pytest.raises(OverflowError, match="more than 64 bits"):
            np.jit(function)(np.array(data))
    else:
        assert np.jit(function)(np.array(data)) == want


@pytest.mark.parametrize("shift", [0, 1, 5, 31, 62, 63])
def test_a_shift_raises_exactly_beyond_64_bits(shift: int) -> None:
    @np.jit
    def shifted(a):
        if a != 12345:
            a = a << shift
        return a

    for start in (0, 1, -1, 3, -3, 2 ** (63 - shift) - 1, -(2 ** (63 - shift))):
        for a in (start - 1, start, start + 1):
            if not -(2**63) <= a < 2**63:
                continue
            if -(2**63) <= a << shift < 2**63:
                assert int(shifted(a)) == a << shift
            else:
                with pytest.raises(OverflowError, match="more than 64 bits"):
                    shifted(a)
