"""Bools of Python's that traced values decide: they count as ints, and stay bools."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from tests.promoting import front, promoting

SIGNS = [numpy.array([a, b]) for a in (1.0, -1.0) for b in (1.0, -1.0)]


def flags(x: Any) -> tuple[Any, Any]:
    a = b = False
    if x[0] > 0:
        a = True
    for i in range(1, 2):
        if x[i] > 0:
            b = True
    return a, b


EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b, x: a + b,
    "-": lambda a, b, x: a - b,
    "*": lambda a, b, x: a * b,
    "/": lambda a, b, x: a / (b + 1),
    "//": lambda a, b, x: a // (b + 1),
    "%": lambda a, b, x: a % (b + 1),
    "**": lambda a, b, x: (a + 1) ** 2 + b**2,
    "<<": lambda a, b, x: a << 3,
    "unary": lambda a, b, x: (-a, +b, ~a, ~b + 5),
    "&": lambda a, b, x: (a & b, a | b, a ^ b),
    "& with ints": lambda a, b, x: (a & 3, b | 4, (a + b) ^ 1),
    "not": lambda a, b, x: (not a) + (not b),
    "and": lambda a, b, x: (a and b) + (a or b),
    "compared": lambda a, b, x: (a == b) + (a < b) + (a <= b) + (a != b),
    "chained": lambda a, b, x: (0 <= a < 1) + (0 <= b < 1),
    "in": lambda a, b, x: (a in (1, 2)) + (x[0] in (1.0, 3.0)) + (x[1] in x),
    "with an int": lambda a, b, x: a + 3 - b,
    "with a float": lambda a, b, x: a * 1.5 + b,
    "with an array": lambda a, b, x: (a + b) * x + a * x,
    "with True": lambda a, b, x: a + True,
    "sum": lambda a, b, x: sum([a, b, a, b]),
    "abs, round, int": lambda a, b, x: abs(a) + round(b) + int(a) + float(b),
    "max": lambda a, b, x: max(a, b) + min(a, b) + max(a, 0),
    "divmod": lambda a, b, x: divmod(a, b + 1),
    "conditional": lambda a, b, x: (3 if a else b) + 1,
    "float32": lambda a, b, x: np.float32(2.0) * a + (a + b),
}


def at(name: str) -> Callable[[Any], Any]:
    expression = EXPRESSIONS[name]

    def f(x: Any) -> Any:
        a, b = flags(x)
        return expression(a, b, x)

    return f


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_bools_count_as_python_counts_them(name: str) -> None:
    f = at(name)
    jitted = np.jit(f)
    for signs in SIGNS:
        want, got = f(np.asarray(signs)), jitted(np.asarray(signs))
        if not isinstance(want, tuple):
            want, got = (want,), (got,)
        for w, g in zip(want, got, strict=True):
            w = numpy.asarray(w)
            assert g.dtype == w.dtype and numpy.array_equal(numpy.asarray(g), w), (signs, g, w)


def test_a_bool_argument_counts_too() -> None:
    f = np.jit(lambda x, flag: x * (flag + flag) - flag)
    for flag in (True, False):
        assert f(np.ones(2), flag).tolist() == [2 * flag - flag] * 2
    assert f(np.ones(2), np.bool_(True)).tolist() == [0.0, 0.0]  # NumPy's: True + True is True


# -- functions that become programs unasked --------------------------------------------------------


def at_branch(x: Any) -> Any:
    if x[0] > 0:
        return True
    return False


def at_loop(x: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > 0:
            return True
    return False


def at_while(x: Any) -> Any:
    i = 0
    while i < x.shape[0]:
        if x[i] < 0:
            return False
        i += 1
    return True


def at_end(x: Any) -> Any:
    found, other = False, True
    for v in x:
        if v > 0:
            found = not found
            other = other and not v > 0.5
    return found, other + found


def in_a_list(x: Any) -> Any:
    seen = [False] * 4
    for i in range(2):
        if x[i] > 0:
            seen[i + 1] = True
    return seen[1], seen[2], sum(seen)


def constants(x: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > 0:
            return 2.5
    return -1.0


def negated(x: Any) -> Any:
    return not (x[0] > 0 or x[1] > 0)


def within(x: Any) -> Any:
    return x[0] in (1.0, 2.0)


def numpys(x: Any) -> Any:
    return x[0] > 0, x.all()


class Body:
    def __init__(self) -> None:
        self.at_rest, self.hits = False, 0

    def step(self, x: Any) -> Any:
        if x[0] + x[1] > 0:
            self.at_rest = True
            self.hits += 1
        else:
            self.at_rest = False
        return self.at_rest


@pytest.fixture
def hot() -> Iterator[None]:
    with promoting():
        yield


def kinds(out: Any) -> Any:
    out = out if isinstance(out, tuple) else (out,)
    return [(type(v), v if type(v) in (bool, int, float) else bool(v)) for v in out]


@pytest.mark.own_policy
@pytest.mark.parametrize(
    "f", [at_branch, at_loop, at_while, at_end, in_a_list, constants, negated, within, numpys]
)
def test_results_of_programs_are_bools(f: Any, hot: None) -> None:
    want = [kinds(f(np.asarray(signs))) for signs in SIGNS]
    made = front(f)
    for _ in range(3):
        assert [kinds(f(np.asarray(signs))) for signs in SIGNS] == want
    assert made.programs == 1, made.explained()


def one_or_the_other(x: Any) -> Any:
    if x[0] > 0:
        return False
    return x[1] > 0


def within_another(x: Any) -> Any:
    inside = one_or_the_other(x)
    return 2.0 if inside else x[0]


@pytest.mark.own_policy
def test_a_bool_of_pythons_or_of_numpys_stays_with_python(hot: None) -> None:
    """The trial of one path would not show that the other gives another type."""
    made, user = front(one_or_the_other), front(within_another)
    want = [kinds(one_or_the_other(np.asarray(signs))) for signs in SIGNS]
    for _ in range(3):
        assert [kinds(one_or_the_other(np.asarray(signs))) for signs in SIGNS] == want
        for signs in SIGNS:
            within_another(np.asarray(signs))
    assert made.programs == 0 and "a bool of Python's or of NumPy's" in made.explained()
    assert user.programs == 1, user.explained()


@pytest.mark.own_policy
def test_attributes_that_programs_set_are_bools(hot: None) -> None:
    made = front(Body.step)
    ours, plain = Body(), Body()
    for signs in SIGNS * 4:
        x = np.asarray(signs)
        got = ours.step(x)
        with np.config(promotion=False):
            want = plain.step(x)
        assert (type(got), got) == (type(want), want)
        assert vars(ours) == vars(plain) and type(ours.at_rest) is bool
    assert made.programs, made.explained()


def test_a_negative_shift_is_an_error() -> None:
    @np.jit
    def f(n: Any) -> Any:
        return 1 << n if n != 0 else 1

    assert int(f(4)) == 16
    with pytest.raises(ValueError, match="negative shift count"):
        int(f(-1))


# -- random programs -------------------------------------------------------------------------------

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "==": operator.eq, "<": operator.lt,
}  # fmt: skip
LEAVES = st.sampled_from(["a", "b", "True", "False", "2", "c"])
TERMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(sorted(BINARY)), inner),
        st.builds("(not {})".format, inner),
        st.builds("({}{})".format, st.sampled_from("-+~"), inner),
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
    ),
    max_leaves=5,
)
SOURCE = """
def f(x):
    a = b = False
    c = 1
    if x[0] > 0:
        a = True
    for v in x:
        if v > 0:
            b = not b
            c = c + {0}
    if {1}:
        a = not a
    return 1.0 * ({2})
"""


@given(TERMS, TERMS, TERMS)
@settings(max_examples=40)
def test_random_terms(tmp_path_factory: Any, first: str, second: str, third: str) -> None:
    source = SOURCE.format(first, second, third)
    path = tmp_path_factory.mktemp("terms") / "terms.py"
    path.write_text(source)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, str(path), "exec"), space)
    f = space["f"]
    jitted = np.jit(f)
    for signs in SIGNS:
        x = np.asarray(signs)
        assert float(jitted(x)) == float(f(x)), (source, signs)
