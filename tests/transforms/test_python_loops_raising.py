"""`raise` and `try` under `jit`: a handler gets what it gets in Python, or the error says so."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.transforms.loop_kernels import _asserted_at_once, _asserted_elements, asserted


class Refused(ValueError):
    pass


def plain(x):
    try:
        if x > 0:
            raise ValueError("big")
        y = x * 2
    except ValueError:
        y = x - 10
    return y


def with_all_parts(x):
    y = x
    try:
        y = y + 1
        if x > 0:
            raise ValueError("big")
        y = y + 1
    except ValueError as error:
        y = y * len(error.args[0])
    else:
        y = y - 5
    finally:
        y = y + 0.5
    return y


def by_class(x):
    try:
        if x > 2:
            raise Refused
        if x > 1:
            raise KeyError("k")
        if x > 0:
            raise ZeroDivisionError(1, 2)
        y = -x
    except (KeyError, IndexError):
        y = x + 100
    except ValueError:
        y = x + 200
    except ArithmeticError:
        y = x + 300
    return y


def nested(x):
    y = x
    try:
        y = y + 1
        try:
            if x > 1:
                raise KeyError
            if x > 0:
                raise ValueError
            y = y * 2
        except KeyError:
            y = y + 10
            if x > 2:
                raise Refused from None
        finally:
            y = y + 0.25
        y = y * 3
    except ValueError:
        y = y - 7
    return y


def again(x):
    y = x
    try:
        try:
            if x > 0:
                raise Refused(1)
            y = y + 1
        except ValueError:
            y = y + 2
            if x > 1:
                raise
    except Refused:
        y = y + 4
    return y


def returning(x):
    try:
        if x > 1:
            raise ValueError
        if x > 0:
            return x * 100
        y = x - 1
    except ValueError:
        return x * 1000
    else:
        y = y - 1
    finally:
        x = x + 1
    return y


def every_path_returns(x):
    try:
        if x > 1:
            raise ValueError
        return x
    except ValueError:
        return x * 1000


def in_rounds(x):
    total = x * 0
    for i in range(20):
        try:
            if x * i > 12:
                raise ValueError
            if x * i > 8:
                continue
            total = total + x
            if x * i < -20:
                break
        except ValueError:
            total = total - x
    return total


def out_of_rounds(x):
    total = x * 0
    try:
        for i in range(20):
            for k in range(10):
                if x * i * k > 30:
                    raise ValueError
                total = total + 1
    except ValueError:
        total = -total
    return total


def out_of_a_while(x):
    n = x
    try:
        while True:
            n = n * 2 + 1
            if n > 100 or n < -100:
                raise StopIteration
    except StopIteration:
        pass
    return n


def not_for_this_one(x):
    try:
        if x > 1:
            raise ValueError("too big")
        y = x
    except TypeError:
        y = x * 0
    return y


def known(x):
    """Nothing traced decides: Python raises and catches."""
    seen = []
    for kind in (ValueError, KeyError):
        try:
            raise kind("known")
        except ValueError as error:
            seen.append((error.args, error.__traceback__ is not None))
        except LookupError as error:
            seen.append(error.args)
            x = x + len(seen)
    return x if seen == [(("known",), True), ("known",)] else None


def written(x):
    a = np.zeros(3) + x
    try:
        a[0] = 5.0
        if x > 0:
            raise ValueError
        a[1] = 6.0
    except ValueError:
        a[2] = 7.0
    return a


FUNCTIONS = [
    plain, with_all_parts, by_class, asserted, nested, again, returning, every_path_returns,
    in_rounds, out_of_rounds, out_of_a_while, not_for_this_one, known, written,
]  # fmt: skip


def outcome(f: Any, x: Any) -> Any:
    try:
        out = f(x)
    except Exception as error:
        return type(error), str(error)
    return numpy.asarray(out).tolist()


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_handler_gets_what_a_branch_raises(f: Any) -> None:
    jitted = np.jit(f)
    for x in (-3.0, 0.5, 1.5, 2.5):
        assert outcome(jitted, np.array(x)) == outcome(f, x), x


def test_derivatives_go_through_handlers() -> None:
    gradient = np.grad(np.jit(by_class))
    assert [float(gradient(x)) for x in (-3.0, 0.5, 1.5, 2.5)] == [-1, 1, 1, 1]


# -- what cannot be -------------------------------------------------------------------------------


def helper(x):
    if x > 0:
        raise KeyError("k")
    return x


def of_a_call(x):
    try:
        return helper(x)
    except KeyError:
        return x * 100


def of_an_index(x):
    try:
        y = np.arange(3.0)[x]
    except IndexError:
        y = -1.0
    return y


def of_an_inverse(x):
    try:
        return np.linalg.inv(np.ones((2, 2)) - x)[0, 0]
    except np.linalg.LinAlgError:
        return x


@pytest.mark.parametrize(
    ("f", "good", "bad", "name"),
    [
        (of_a_call, -2, 2, "KeyError"),
        (of_an_index, 1, 5, "IndexError"),
        (of_an_inverse, np.eye(2), 0.0, "LinAlgError"),
    ],
)
def test_what_the_program_raises_no_handler_gets(f: Any, good: Any, bad: Any, name: str) -> None:
    """And it is not raised as if there were no handler."""
    jitted = np.jit(f)
    assert numpy.allclose(jitted(np.array(good)), f(np.array(good)))
    line = f.__code__.co_firstlineno + 1
    with pytest.raises(RuntimeError, match=f"raises {name} .* `try` at line {line} can catch"):
        jitted(np.array(bad))


def sure_or_not(x):
    try:
        y = math.sqrt(-1) if x > 0 else x
    except ValueError:
        y = x - 1
    return y


def truth_of_an_unknown_value(x):
    try:
        n = int(np.floor(x)) + len("a" * int(x))
    except TypeError:
        n = 0
    return n


def undecided_and_caught(x):
    try:
        if x > 0:
            y = "text"
        else:
            y = x
    except:  # noqa: E722
        y = x - 1
    return y


@pytest.mark.parametrize("f", [sure_or_not, truth_of_an_unknown_value, undecided_and_caught])
def test_a_handler_does_not_get_what_tracing_raises(f: Any) -> None:
    """Python would not be there, or would not raise it."""
    with pytest.raises(TypeError):
        np.jit(f)(np.array(-2.0))


# -- what exceptions hold --------------------------------------------------------------------------


class Coded(Exception):
    def __init__(self, code, *, why):
        super().__init__("coded", why)
        self.code = code


class Formatting(ValueError):
    def __init__(self, place, value, unit="m"):
        super().__init__(f"at {place}: {value:.2f} {unit}", value, "{:g}".format(value))  # noqa: UP032
        self.place, self.kept = place, (place, value)


class Computing(ValueError):
    """Its constructor computes with a number: it is traced."""

    def __init__(self, value):
        super().__init__("twice", value * 2)


def formatting_constructor(x):
    for i in range(20):
        if x > i:
            raise Formatting(i, x + i, unit="s")
    return x


def computing_constructor(x):
    if x > 0:
        raise Computing(x)
    return x


def with_its_own_constructor(x):
    if x > 0:
        raise Coded(x + 1, why="large")
    return x


def with_a_number(x):
    if x > 0:
        raise KeyError(int(x))
    return x


def with_a_name(x):
    if x > 0:
        raise KeyError("name")
    return x


def of_the_system(x):
    if x > 0:
        raise OSError(2, "gone", "file.txt")
    return x


def with_several_arguments(x):
    if x > 0:
        raise Refused("much", 3, (1, 2.5), x, np.float32(x) * 2)
    return x


def from_another(x):
    if x > 0:
        raise ValueError("second") from KeyError("first")
    return x


def formatted(x):
    if x > 0:
        raise ValueError(f"{x} {x:.3f} {x!r} {x!s:>8} {x:+e} {x > 1} {x * 2=}")
    return x


def formatted_otherwise(x):
    if x > 0:
        raise ValueError("%d %5.2f%% of %s %r" % (x, x, "it", x * 2) + str(x))  # noqa: UP031
    return x


def in_a_loop(x):
    total = 0.0
    for i in range(50):
        for j in range(30):
            total += x * i + j
            if total > 1000:
                raise ValueError(f"sum {total:.2f} in round {i}, {j}")
    return total


def in_a_while(x):
    n = 0
    while x < 100:
        x = x * 2
        n += 1
        if n > 5:
            u = np.arange(10.0) * x
            raise IndexError(f"{n} of {int(u[n])}", n)
    return x


def beside_an_index(x):
    u = np.arange(5.0)
    total = 0.0
    for k in range(40):
        total += u[int(x * k) % 7]  # out of bounds now and then
        if total > 9:
            raise ValueError(f"{total}, {k}")
    return total


HOLDING = [
    formatting_constructor, computing_constructor, with_its_own_constructor, with_a_number,
    with_a_name, of_the_system, with_several_arguments,
    from_another, formatted, formatted_otherwise, in_a_loop, in_a_while, _asserted_elements,
    beside_an_index, _asserted_at_once,
]  # fmt: skip


def _held(error: Any) -> Any:
    """What can be told about an exception."""
    attributes = {n: v for n, v in vars(error).items() if n != "__notes__"}
    return (
        type(error), repr(error.args), str(error), repr(attributes), repr(error.__cause__),
        getattr(error, "errno", None), getattr(error, "filename", None),
    )  # fmt: skip


@pytest.mark.parametrize("function", HOLDING, ids=lambda f: f.__name__)
def test_exceptions_hold_what_python_gives_them(function: Any) -> None:
    jitted = np.jit(function)
    for x in (-0.25, 1.5, 0.75, 1.5):
        try:
            want = numpy.asarray(function(x))
        except Exception as error:
            with pytest.raises(type(error)) as caught:
                jitted(x)
            assert _held(caught.value) == _held(error)
        else:
            numpy.testing.assert_allclose(jitted(x), want)


@pytest.mark.parametrize("dtype", ["f4", "i1", "u8", "?", "i8", "f8"])
def test_messages_show_numbers_of_each_dtype(dtype: str) -> None:
    def refused(u):
        for v in u:
            if v > 0:
                raise ValueError(f"{v} {v!r}", v)
        return u

    u = numpy.array([0, 0, -1]).astype(dtype)
    u[1] = 2**63 + 3 if dtype == "u8" else 1.3 if u.dtype.kind == "f" else 77
    with pytest.raises(ValueError) as want:
        refused(u)
    with pytest.raises(ValueError) as got:
        np.jit(refused)(np.array(u))
    assert repr(got.value) == repr(want.value)


def test_a_batch_and_a_derivative_show_numbers_too() -> None:
    def root(x):
        y = x
        for k in range(12):
            y = y - (y * y - x) / (2 * y)
            if y < 0:
                raise ValueError(f"root {y:.3f} of {x} in {k}")
        return y

    with pytest.raises(ValueError) as want:
        root(-2.0)
    for call in (
        lambda: np.vmap(root)(np.array([4.0, -2.0, -1.0])),
        lambda: np.jit(np.vmap(root))(np.array([4.0, -2.0, -1.0])),
        lambda: np.jit(np.grad(root))(-2.0), lambda: np.jit(np.jit(root))(-2.0),
        lambda: np.jvp(np.jit(root), (-2.0,), (1.0,)),
    ):  # fmt: skip
        with pytest.raises(ValueError) as got:
            call()
        assert str(got.value) == str(want.value)
    numpy.testing.assert_allclose(np.jit(np.grad(root))(4.0), 0.25)


def test_each_call_raises_an_exception_of_its_own() -> None:
    refused = np.jit(with_a_number)
    caught = []
    for x in (2.0, 3.0):
        with pytest.raises(KeyError) as one:
            refused(x)
        caught.append(one.value)
    assert [e.args for e in caught] == [(2,), (3,)] and caught[0] is not caught[1]
    assert caught[0].__notes__ == caught[1].__notes__ and len(caught[0].__notes__) == 1
