"""Random programs, run on NumPy and on lazynp under every policy: all variables must agree.

A program is source text over a few arrays: arithmetic, views, writes through views, masks,
reductions, loops, values read in the middle, dropped variables. The generator runs it on NumPy as
it grows, so that most statements are valid. A statement that raises is kept, in a `try`, and must
raise the same class of exception. Operations are exact, so results are compared by bits. A failure
prints the program, made as short as possible.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import numpy
import pytest

import lazynp
from tests.helpers import be_eager, fresh_start

# More programs, other ones: LAZYNP_TEST_PROGRAMS=1000 LAZYNP_TEST_SEED=5000
_COUNT = int(os.environ.get("LAZYNP_TEST_PROGRAMS", "40"))
_SEED = int(os.environ.get("LAZYNP_TEST_SEED", "0"))
_SHARES = {"compiled": 1, "adaptive": 2, "reference": 4, "eager": 4}

_SHAPES = [(3,), (4, 3), (4, 1), (1, 3), (2, 4, 3), (12,), (), (0, 3)]
_DTYPES = ["float64", "float64", "int64", "float32", "int32", "uint8", "bool", "complex128"]
_SCALARS = ["2", "-1", "3", "0.5", "-0.0", "1.25", "True", "np.float32(1.5)", "np.int64(3)", "0"]


class Writer:
    """Writes one random program, running it on NumPy meanwhile."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.space: dict[str, Any] = {"np": numpy, "log": []}
        self.statements: list[str] = []
        self.names = 0

    arrays_at_first = 3

    def makers(self) -> list[tuple[Callable[[Any], str], int]]:
        """What writes a statement, and how often."""
        return _STATEMENTS

    def program(self, length: int) -> list[str]:
        for _ in range(self.arrays_at_first):
            self.add(self.fresh(self.new_array()))
        makers = [m for m, weight in self.makers() for _ in range(weight)]
        for _ in range(length):
            if not self.arrays():  # the last one was deleted
                self.add(self.fresh(self.new_array()))
            self.add(self.random.choice(makers)(self))
        return self.statements

    def add(self, statement: str) -> None:
        if not statement:
            return
        if not run([statement], self.space):
            statement = guarded(statement)
        self.statements.append(statement)
        self.after()

    def after(self) -> None:
        """After a statement."""
        for name in self.arrays(lambda v: not owner(v).flags.c_contiguous):
            self.add(f"{name} = {name}.copy()")  # lazynp's fresh results are in C order always

    def fresh(self, expression: str) -> str:
        self.names += 1
        return f"v{self.names} = {expression}"

    # -- choices --------------------------------------------------------------------------------

    def arrays(self, test: Callable[[Any], bool] = lambda _: True) -> list[str]:
        return [
            name
            for name, value in self.space.items()
            if name[0] == "v" and isinstance(value, numpy.ndarray) and test(value)
        ]

    def array(self, test: Callable[[Any], bool] = lambda _: True) -> str:
        found = self.arrays(test)
        return self.random.choice(found) if found else self.random.choice(self.arrays())

    def scalar(self) -> str:
        names = [n for n, v in self.space.items() if n[0] == "v" and isinstance(v, numpy.generic)]
        return self.random.choice(_SCALARS + names[-4:])

    def new_array(self) -> str:
        shape, dtype = self.random.choice(_SHAPES), self.random.choice(_DTYPES)
        size = int(numpy.prod(shape))
        kind = self.random.randrange(5)
        if kind == 0:
            return f"np.zeros({shape}, {dtype!r})"
        if kind == 1:
            return f"np.full({shape}, 2, {dtype!r})"
        first = self.random.randrange(-4, 5) if dtype[0] in "fi" else 0
        return f"(np.arange({first}, {first + size}) * 0.75).astype({dtype!r}).reshape({shape})"

    def index(self, name: str, integers: bool = True) -> str:
        """A basic index, mostly valid."""
        value = self.space[name]
        items = [self.index_item(n, integers) for n in value.shape]
        items = items[: self.random.randrange(1, len(items) + 1)] if items else []
        if self.random.random() < 0.15:
            items.insert(self.random.randrange(len(items) + 1), "None")
        if not items or self.random.random() < 0.2:
            items.append("...")
        return ", ".join(items)

    def index_item(self, n: int, integers: bool) -> str:
        kind = self.random.randrange(6)
        if kind == 0 and integers:
            return str(self.random.randrange(-n - (self.random.random() < 0.05), max(n, 1)))
        if kind == 1:
            return ":"
        if kind == 2:
            return "::-1"
        bounds = ["", "1", "-1", "2", "0"]
        start, stop = self.random.choice(bounds), self.random.choice(bounds)
        return f"{start}:{stop}:{self.random.choice(['', '', '2', '-1'])}".removesuffix(":")

    def fitting(self, name: str) -> str:
        """Something that broadcasts to the shape of `name`, if possible."""
        shape = self.space[name].shape

        def fits(other: Any) -> bool:
            try:
                return numpy.broadcast_shapes(shape, other.shape) == shape
            except ValueError:
                return False

        return self.scalar() if self.random.random() < 0.3 else self.array(fits)

    # -- statements -----------------------------------------------------------------------------

    def create(self) -> str:
        return self.fresh(self.new_array())

    def arithmetic(self) -> str:
        x = self.array()
        y = self.fitting(x)
        if self.random.random() < 0.5:
            x, y = y, x
        return self.fresh(f"{x} {self.random.choice(['+', '-', '*', '+', '*'])} {y}")

    def compare(self) -> str:
        x = self.array(lambda v: v.dtype.kind != "c")
        return self.fresh(f"{x} {self.random.choice(['<', '>=', '==', '!='])} {self.fitting(x)}")

    def unary(self) -> str:
        x = self.array()
        function = self.random.choice(["-{}", "+{}", "abs({})", "np.square({})", "np.sign({})"])
        return self.fresh(function.format(x))

    def read(self) -> str:
        x = self.array()
        return self.fresh(f"{x}[{self.index(x)}]")

    def view(self) -> str:
        x = self.array()
        views = [
            "{}.T",
            "{}.reshape(-1)",
            "{}[::-1]",
            "{}[...]",
            "{}.ravel()",
            "{}[:]",
            "{}.view()",
        ]
        if self.space[x].dtype.kind == "c":
            views += ["{}.real", "{}.imag"] * 3
        if self.space[x].ndim > 1:
            views += ["np.swapaxes({}, 0, 1)", "{}[:, ::-1]", "{}.diagonal()"]
        if self.space[x].size == 12:
            views += ["{}.reshape(4, 3)", "{}.reshape(2, 6)"]
        return self.fresh(self.random.choice(views).format(x))

    def rows(self) -> str:
        x = self.array(lambda v: v.ndim > 1)
        self.names += 1
        return f"v{self.names} = [row for row in {x}][-1]"

    def write(self) -> str:
        x = self.array()
        index = self.index(x)
        try:
            region = self.space[x][eval(f"numpy.s_[{index}]")]
        except IndexError:
            region = numpy.zeros(())
        self.space["v_"] = numpy.asarray(region)
        value = self.fitting("v_")
        del self.space["v_"]
        return f"{x}[{index}] = {value if value != 'v_' else '1'}"

    def write_in_place(self) -> str:
        x = self.array()
        return (
            f"{x}[{self.index(x, False)}] {self.random.choice(['+=', '-=', '*='])} {self.scalar()}"
        )

    def update(self) -> str:
        x = self.array()
        return f"{x} {self.random.choice(['+=', '-=', '*='])} {self.fitting(x)}"

    def shift(self) -> str:
        """A write that reads its own target."""
        x = self.array(lambda v: v.ndim > 0 and v.shape[0] > 2)
        y = self.array(lambda v, s=self.space[x]: v.shape == s.shape)
        shifts = ["{0}[1:] = {1}[:-1]", "{0}[:-1] = {1}[1:]", "{0}[::-1] = {1}",
                  "{0}[1:] += {1}[:-1]",
                  "{0}[1:] = {1}[:-1] * 2", "{0}[[1, 2]] = {1}[[0, 1]]"]  # fmt: skip
        return self.random.choice(shifts).format(x, self.random.choice([x, y]))

    def mask(self) -> str:
        x = self.array()
        shape = self.space[x].shape
        masks = self.arrays(lambda v: v.dtype == bool and v.shape == shape)
        if masks and self.random.random() < 0.7:
            mask = self.random.choice(masks)
            if numpy.shares_memory(self.space[x], self.space[mask]):  # NumPy reads it as it writes
                mask += ".copy()"
        else:
            mask = f"({x} == {self.random.choice(['0', '1.5', '2'])})"
        return f"{x}[{mask}] = {self.scalar()}"

    def mask_read(self) -> str:
        x = self.array()
        return self.fresh(f"{x}[{x} != 0]")

    def take(self) -> str:
        x = self.array(lambda v: v.ndim > 0 and v.shape[0] > 2)
        return self.fresh(f"{x}[np.array([2, 0, -1])]")

    def put(self) -> str:
        x = self.array(lambda v: v.ndim > 0 and v.shape[0] > 2)
        return f"{x}[[0, 2, 0]] {self.random.choice(['=', '+='])} {self.scalar()}"

    def reduce(self) -> str:
        x = self.array(lambda v: v.dtype.kind in "iub" and v.size > 0)
        axis = self.random.choice(["", "axis=0", "axis=-1", "axis=0, keepdims=True"])
        functions = ["max", "min", "any", "all"]
        if self.space[x].dtype.kind in "iu":
            functions += ["sum", "sum", "prod"]
        return self.fresh(f"{x}.{self.random.choice(functions)}({axis})")

    def compose(self) -> str:
        x = self.array()
        forms = [
            "np.where({0} != 0, {0}, {1})",
            "{0}.copy()",
            "np.roll({0}, 1)",
            "np.concatenate([{0}, {0}])",
            "np.minimum({0}, {1})",
            "{0}.astype('float64')",
            "np.stack([{0}, {0}])",
        ]
        return self.fresh(self.random.choice(forms).format(x, self.fitting(x)))

    def out(self) -> str:
        x = self.array()
        return f"np.{self.random.choice(['add', 'multiply'])}({x}, {self.scalar()}, out={x})"

    def look(self) -> str:
        x = self.array()
        looks = [
            "log.append(np.asarray({}).copy())",
            "log.append({}.tolist())",
            "log.append({}.any())",
        ]
        return self.random.choice(looks).format(x)

    def element(self) -> str:
        x = self.array(lambda v: v.size > 0)
        place = (
            ", ".join(str(self.random.randrange(max(n, 1))) for n in self.space[x].shape) or "()"
        )
        if self.random.random() < 0.5:
            return f"log.append({x}[{place}].item())"
        return f"{x}[{place}] = {self.scalar()}"

    def attributes(self) -> str:
        x = self.array(lambda v: v.size > 0)  # NumPy's strides of nothing follow no rule
        if not self.space[x].size:
            return ""
        # the strides of axes of one element mean nothing, and follow no rule either
        strides = f"[s for s, n in zip({x}.strides, {x}.shape) if n > 1]"
        return f"log.append(({x}.shape, str({x}.dtype), {strides}, {x}.flags.c_contiguous))"

    def drop(self) -> str:
        names = self.arrays()
        return f"del {self.random.choice(names)}" if len(names) > 4 else ""

    def rebind(self) -> str:
        return f"{self.array()} = {self.array()}"

    def loop(self) -> str:
        """A loop over a few statements, with `i` in them."""
        body = []
        for _ in range(self.random.randrange(1, 4)):
            x = self.array()
            choices = [f"{x} = {x} + i", f"{x} = {x} * 1", f"{x}[...] = {self.fitting(x)}"]
            if self.space[x].ndim and self.space[x].shape[0]:
                n = self.space[x].shape[0]
                choices += [
                    f"{x}[i % {n}] = i",
                    f"{x}[i % {n}] = {x}[(i - 1) % {n}]",
                    f"{x}[i % {n}] += 1",
                    f"{x}[1:] = {x}[:-1]",
                    f"{x} = np.roll({x}, 1)",
                    f"if i % 3 == 0: {x}[0] = 2",
                ]
            y = self.array(lambda v, s=self.space[x]: v.shape == s.shape and v.dtype == s.dtype)
            choices += [f"{x}, {y} = {y}, {x}", f"{x} = {x} - {y}", f"log.append({x}[...].max())"]
            body.append("    " + self.random.choice(choices))
        return "\n".join([f"for i in range({self.random.choice([3, 8, 25])}):", *body])


def owner(array: Any) -> Any:
    return array if array.base is None else array.base


_STATEMENTS: list[tuple[Callable[[Writer], str], int]] = [
    (Writer.create, 2),
    (Writer.arithmetic, 6),
    (Writer.compare, 2),
    (Writer.unary, 2),
    (Writer.read, 6),
    (Writer.view, 5),
    (Writer.rows, 1),
    (Writer.write, 6),
    (Writer.write_in_place, 4),
    (Writer.update, 4),
    (Writer.shift, 3),
    (Writer.mask, 3),
    (Writer.mask_read, 1),
    (Writer.take, 1),
    (Writer.put, 1),
    (Writer.reduce, 3),
    (Writer.compose, 3),
    (Writer.out, 1),
    (Writer.look, 3),
    (Writer.element, 4),
    (Writer.attributes, 1),
    (Writer.drop, 4),
    (Writer.rebind, 1),
    (Writer.loop, 2),
]


# -- running ---------------------------------------------------------------------------------------


def guarded(statement: str) -> str:
    body = "\n".join("    " + line for line in statement.splitlines())
    return f"try:\n{body}\nexcept Exception as e:\n    log.append(error(e))"


def error(e: Exception) -> str:
    """The class that NumPy means: its own subclasses count as their base classes."""
    if isinstance(e, OverflowError):
        return "IndexError"  # with a bad index and a bad value, either exception may come
    known = (IndexError, TypeError, ValueError, ZeroDivisionError, AttributeError)
    return next((k.__name__ for k in known if isinstance(e, k)), repr(e))


def run(statements: list[str], space: dict[str, Any]) -> bool:
    """Whether it ran to the end. Statements before the one that raised have had their effect."""
    space["error"] = error
    code = compile("\n".join(statements), "<program>", "exec")
    try:
        with numpy.errstate(all="ignore"):
            exec(code, space)
    except Exception as e:
        space["raised"] = e
        return False
    return True


def mismatch(statements: list[str], policy: str) -> str | None:
    """The differences between NumPy and lazynp after this program; None if there are none."""
    expected: dict[str, Any] = {"np": numpy, "log": []}
    got: dict[str, Any] = {"np": lazynp, "log": []}
    if not run(statements, expected):
        return None  # not a program
    fresh_start()
    with lazynp.config(execution=policy if policy != "eager" else "adaptive"):
        be_eager(policy == "eager")  # as in a long loop of small operations
        if not run(statements, got):
            return f"raised {got['raised']!r}"
        for name, value in expected.items():
            if name[0] == "v" and not same(value, got[name]):
                return f"{name}: {got[name]!r}\nis to be\n{value!r}"
        logs = zip_longest(expected["log"], got["log"], fillvalue="nothing")
        for k, (want, value) in enumerate(logs):
            if not same_log(want, value):
                return f"log[{k}]: {value!r}\nis to be\n{want!r}"
    return None


def same(expected: Any, got: Any) -> bool:
    """Bit for bit, and a scalar where NumPy has one."""
    if isinstance(expected, numpy.generic) != isinstance(got, lazynp.Scalar):
        return False
    want, value = numpy.asarray(expected), numpy.asarray(got)
    if want.dtype != value.dtype or want.shape != value.shape:
        return False
    return bits(want) == bits(value)


def bits(x: Any) -> bytes:
    """The bytes, with one NaN and one True for all: through a view, a bool's byte may become 3."""
    x = numpy.array(x)
    if x.dtype == bool:
        return (x.view("u1") != 0).tobytes()
    if x.dtype.kind == "c":
        return bits(x.real) + bits(x.imag)
    if x.dtype.kind == "f":
        x[numpy.isnan(x)] = numpy.nan
    return x.tobytes()


def same_log(expected: Any, got: Any) -> bool:
    if isinstance(expected, numpy.ndarray):
        return bits(expected) == bits(numpy.asarray(got))
    if isinstance(expected, numpy.generic):
        return same(expected, got)
    return repr(expected) == repr(got)


def shortened(statements: list[str], policy: str) -> list[str]:
    """A shorter program that fails too: statements are left out while that is so."""
    k = len(statements) - 1
    while k >= 0:
        shorter = statements[:k] + statements[k + 1 :]
        if mismatch(shorter, policy):
            statements = shorter
        k -= 1
    return statements


@pytest.mark.parametrize("policy", list(_SHARES))
@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int, policy: str) -> None:
    share = _COUNT * _SHARES[policy] // 4
    for seed in range(_SEED + part * share, _SEED + (part + 1) * share):
        statements = Writer(seed).program(25)
        if mismatch(statements, policy):
            short = shortened(statements, policy)
            pytest.fail(
                f"seed {seed}, {policy}:\n" + "\n".join(short) + f"\n{mismatch(short, policy)}"
            )


def test_the_comparison_sees_differences() -> None:
    assert not same(numpy.array([0.0]), lazynp.array([-0.0]))
    assert not same(numpy.array([1.0]), lazynp.array([1]))
    assert not same(numpy.float64(1.0), lazynp.array(1.0))
    assert mismatch(["v = np.array(float(np.__name__ == 'numpy'))"], "reference")
