"""What the dialects of kernels share: elementwise operations by MLIR's `arith` and `math`, control
flow by `scf`, and how such a module is written.

The builder has the methods of the one for StableHLO, so the `lower` rules of primitives serve here
too. A value of no axes is a scalar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._errors import LoweringError
from lazynp.lowering._arith_ops import COMPARISONS, MATH, PLAIN, conversion
from lazynp.lowering._builder import Builder
from lazynp.lowering._core import Body, Value, Values

INT32, INT64, FLOAT32 = np.dtype("i4"), np.dtype("i8"), np.dtype("f4")
BOOL = np.dtype("?")


class Arith(Builder):
    """Writes the body of a kernel. A dialect says how types and functions are spelled."""

    dialect = ""
    counter = INT64  # the type of the numbers of rounds
    math: Mapping[str, str] = MATH  # operations on floats

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._known: dict[str, str] = {}  # what was written: the name of each right side
        self.written: dict[str, int] = {}  # pointers to memory that was written, and how often

    @staticmethod
    def element(dtype: np.dtype[Any]) -> str:
        """The type of an element."""
        raise NotImplementedError

    @staticmethod
    def kind(aval: Aval) -> str:
        """The type of a value."""
        raise NotImplementedError

    def lacks(self, what: str) -> LoweringError:
        return LoweringError(f"{self.dialect} has no operation for {what}")

    # -- text --------------------------------------------------------------------------------------

    def write(self, right: str, aval: Aval, again: bool = False) -> Value:
        """A line whose result has this aval. Lines that say the same are written once, unless they
        may mean something else.
        """
        name = self._known.get(right)
        if name is None or again:
            name = self._known[right] = self._fresh()
            self.lines.append(f"{name} = {right}")
        return Value(name, aval)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def text(self) -> str:
        return "\n".join(map(str, self.lines))

    def use(self, value: Value) -> str:
        if value.name:
            return value.name
        assert value.literal is not None
        key = value.literal, value.aval
        if key not in self._constants:
            self._constants[key] = self.write(self._constant(value), value.aval).name
        return self._constants[key]

    def _constant(self, value: Value) -> str:
        aval, literal = value.aval, value.literal
        if value.static is None:
            raise LoweringError("a table of numbers in a kernel; pass it as an argument")
        if aval.dtype.kind == "u":  # the same bits, with a sign
            literal = str(np.array(value.static, aval.dtype).astype(f"i{aval.dtype.itemsize}"))
        if not aval.shape:
            text = f" : {self.kind(aval)}" if aval.dtype.kind != "b" else ""
            return f"arith.constant {literal}{text}"
        return f"arith.constant dense<{literal}> : {self.kind(aval)}"

    def settled(self, operands: Sequence[Any]) -> list[Any]:
        """The operands as values."""
        return list(operands)

    def inner(self) -> Any:
        """A builder for a region of this one."""
        made = type(self)(self.platform, self._names)
        made.written = self.written
        return made

    def block(self, avals: Sequence[Aval], body: Body, end: str) -> tuple[list[Value], str]:
        """The arguments and the text of a region that ends with the body's results."""
        inner = self.inner()
        args = [Value(self._fresh(), aval) for aval in avals]
        results = body(inner, args)
        results = [results] if isinstance(results, Value) else inner.settled(results)
        names = ", ".join([inner.use(v) for v in results])
        types = ", ".join([self.kind(v.aval) for v in results])
        inner.line(f"{end} {names} : {types}" if results else end)
        return args, inner.text()

    def region(self, avals: Sequence[Aval], body: Callable[..., Any], loop: bool = False) -> str:
        raise self.lacks("what it computes")

    def custom_call(self, target: str, *_: Any, **__: Any) -> Any:
        raise self.lacks(target)

    # -- elementwise -------------------------------------------------------------------------------

    def op(
        self, name: str, *operands: Value, out: Any, attrs: str = "", regions: Sequence[str] = ()
    ) -> Any:
        short = name.removeprefix("stablehlo.").removeprefix("chlo.")
        if short == "optimization_barrier":
            return operands
        if not isinstance(out, Aval) or attrs or regions:
            raise self.lacks(short)
        return self.elementwise(short, operands)

    def elementwise(self, name: str, operands: Values) -> Value:
        """An operation by its name in StableHLO or CHLO."""
        made = self._composed(name, operands)
        if made is not None:
            return made
        aval = operands[0].aval
        args, kind = ", ".join([self.use(v) for v in operands]), self.kind(aval)
        sort = "f" if aval.dtype.kind == "f" else "u" if aval.dtype.kind in "ub" else "i"
        found = PLAIN.get((name, sort)) or (self.math.get(name) if sort == "f" else None)
        if found is not None:
            return self.write(f"{found} {args} : {kind}", aval)
        raise self.lacks(f"{name} of {aval.dtype}")

    def _composed(self, name: str, operands: Values) -> Value | None:
        """Operations that others express."""
        aval = operands[0].aval
        dtype, is_float = aval.dtype, aval.dtype.kind == "f"
        if name == "not":
            ones = {"b": True, "i": -1}.get(dtype.kind)
            ones = np.iinfo(dtype).max if ones is None else ones
            return self.elementwise("xor", [operands[0], self.constant(ones, dtype, aval.shape)])
        if name == "negate" and not is_float:
            return self.elementwise("subtract", [self.constant(0, dtype, aval.shape), *operands])
        if name == "abs" and dtype.kind in "ub":
            return operands[0]
        if name == "is_finite":
            size = self.elementwise("abs", operands)
            return self.compare(size, self.constant(math.inf, dtype, aval.shape), "LT")
        if name == "rsqrt" and name not in self.math:
            root = self.elementwise("sqrt", operands)
            return self.elementwise("divide", [self.constant(1, dtype, aval.shape), root])
        if name == "logistic":
            one = self.constant(1, dtype, aval.shape)
            power = self.elementwise("exponential", [self.elementwise("negate", operands)])
            return self.elementwise("divide", [one, self.elementwise("add", [one, power])])
        if name == "clamp":
            low, x, high = operands
            low, high = (self.broadcast_in_dim(v, x.aval.shape, ()) for v in (low, high))
            x = self.select(self.compare(x, low, "LT"), low, x)
            return self.select(self.compare(x, high, "GT"), high, x)
        return None

    def multiplied(self, x: Value, y: Value) -> Value:
        return self.elementwise("multiply", [x, y])

    def hidden(self, x: Value) -> Value:
        return x

    def barrier(self, x: Value) -> Value:
        return x

    def compare(self, x: Value, y: Value, direction: str, total: bool = False) -> Value:
        out, sort = aval_of(x.aval.shape, BOOL), x.aval.dtype.kind
        if total:
            raise self.lacks("a total order of floats")
        if sort == "f":
            what = f"arith.cmpf {'u' if direction == 'NE' else 'o'}{direction.lower()}"
        else:
            what = f"arith.cmpi {COMPARISONS[direction, sort in 'ub']}"
        return self.write(f"{what}, {self.use(x)}, {self.use(y)} : {self.kind(x.aval)}", out)

    def select(self, c: Value, x: Value, y: Value) -> Value:
        kind = self.kind(x.aval)
        types = kind if not x.aval.shape else f"{self.kind(c.aval)}, {kind}"
        names = f"{self.use(c)}, {self.use(x)}, {self.use(y)}"
        return self.write(f"arith.select {names} : {types}", x.aval)

    def convert(self, x: Value, dtype: np.dtype[Any]) -> Value:
        source, dtype = x.aval.dtype, np.dtype(dtype)
        out = aval_of(x.aval.shape, dtype)
        if source == dtype:
            return x
        if x.static is not None:
            return self.constant(np.array(x.static, source).astype(dtype), dtype, x.aval.shape)
        if dtype.kind == "b":
            return self.compare(x, self.constant(0, source, x.aval.shape), "NE")
        if self.element(source) == self.element(dtype):
            return Value(self.use(x), out)
        what = conversion(source, dtype)
        types = f"{self.kind(x.aval)} to {self.kind(out)}"
        return self.write(f"arith.{what} {self.use(x)} : {types}", out)

    def bitcast(self, x: Value, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Value:
        out = aval_of(shape, np.dtype(dtype))
        if shape != x.aval.shape:
            raise self.lacks("bits of another size")
        if self.element(x.aval.dtype) == self.element(out.dtype):
            return Value(self.use(x), out)
        types = f"{self.kind(x.aval)} to {self.kind(out)}"
        return self.write(f"arith.bitcast {self.use(x)} : {types}", out)

    # -- shapes: the methods that begin with _ spell the dialect's operations ----------------------

    def broadcast_in_dim(self, x: Value, shape: tuple[int, ...], dims: Sequence[int]) -> Value:
        out = aval_of(tuple(shape), x.aval.dtype)
        if x.static is not None:
            return Value("", out, x.static, x.literal)
        if out.shape == x.aval.shape:
            return x
        if x.aval.shape:
            sizes = [1] * len(shape)
            for n, axis in zip(x.aval.shape, dims, strict=True):
                sizes[axis] = n
            x = self.reshape(x, tuple(sizes))
            if x.aval.shape == out.shape:
                return x
        return self._spread(x, out)

    def _spread(self, x: Value, out: Aval) -> Value:
        """A scalar in each element, or axes of size 1 repeated."""
        raise NotImplementedError

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        out = aval_of(tuple(shape), x.aval.dtype)
        if out.shape == x.aval.shape:
            return x
        if x.static is not None or not x.aval.shape:
            return self.broadcast_in_dim(x, out.shape, ())
        return self._reshaped(x, out) if shape else self._first(x)

    def _reshaped(self, x: Value, out: Aval) -> Value:
        """With other axes, at least one before and after."""
        raise NotImplementedError

    def _first(self, x: Value) -> Value:
        """The element of a value that has one."""
        raise NotImplementedError

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        if tuple(perm) == tuple(range(x.aval.ndim)):
            return x
        out = aval_of(tuple(x.aval.shape[p] for p in perm), x.aval.dtype)
        return self._transposed(x, perm, out)

    def _transposed(self, x: Value, perm: Sequence[int], out: Aval) -> Value:
        raise NotImplementedError

    def contracted(self, x: Value, y: Value, contracting: Any, batching: Any) -> tuple[int, int]:
        """The axis of each factor over which a product of two matrices sums."""
        (lc, rc), (lb, _) = contracting, batching
        if x.aval.ndim != 2 or y.aval.ndim != 2 or len(lc) != 1 or lb:
            raise LoweringError(
                f"{self.dialect} multiplies two matrices, got {x.aval} and {y.aval}"
            )
        return lc[0], rc[0]

    # -- control flow ------------------------------------------------------------------------------

    def counted(self, length: int, init: Values, body: Body) -> list[Value]:
        """`body(b, number, state) -> state`, so many times."""
        number = Value(self._fresh(), aval_of((), self.counter))
        lower, upper, step = [self.use(self.constant(n, self.counter)) for n in (0, length, 1)]
        args, text = self.block(
            [v.aval for v in init], lambda b, state: body(b, number, state), "scf.yield"
        )
        given = ", ".join(f"{a.name} = {self.use(v)}" for a, v in zip(args, init, strict=True))
        types = ", ".join(self.kind(v.aval) for v in init)
        carried = f"iter_args({given}) -> ({types}) " if init else ""
        return self._many(
            f"scf.for {number.name} = {lower} to {upper} step {step} {carried}: "
            f"{self.element(self.counter)} {{\n{text}\n}}", init,
        )  # fmt: skip

    def alternates(self, body: Body, init: Values) -> bool:
        """Whether a loop should have two rounds in one: blocks are in registers."""
        return False

    def while_loop(self, cond: Body, body: Body, init: Values) -> list[Value]:
        inner = self.inner()
        args = [Value(self._fresh(), v.aval) for v in init]
        going = cond(inner, args)
        types = ", ".join(self.kind(v.aval) for v in init)
        names = ", ".join(a.name for a in args)
        inner.line(f"scf.condition({inner.use(going)}) {names} : {types}")
        state, text = self.block([v.aval for v in init], body, "scf.yield")
        given = ", ".join(f"{a.name} = {self.use(v)}" for a, v in zip(args, init, strict=True))
        head = ", ".join(f"{a.name}: {self.kind(a.aval)}" for a in state)
        return self._many(
            f"scf.while ({given}) : ({types}) -> ({types}) {{\n{inner.text()}\n}} do {{\n"
            f"^bb0({head}):\n{text}\n}}", init,
        )  # fmt: skip

    def case(self, index: Value, branches: Sequence[Body]) -> list[Value]:
        if len(branches) == 1:
            return list(branches[0](self))
        first = self.compare(index, self.constant(0, index.aval.dtype), "EQ")
        rest = branches[1] if len(branches) == 2 else self._next(index, branches[1:])
        return self.if_(first, branches[0], rest)

    def _next(self, index: Value, branches: Sequence[Body]) -> Body:
        def chosen(b: Arith) -> list[Value]:
            one = b.constant(1, index.aval.dtype)
            return b.case(b.elementwise("subtract", [index, one]), branches)

        return chosen

    def if_(self, pred: Value, then: Body, else_: Body) -> list[Value]:
        found: list[list[Value]] = []

        def noted(branch: Body) -> Callable[..., Any]:
            def run(b: Arith, _: Any) -> list[Value]:
                results = branch(b)
                found.append([results] if isinstance(results, Value) else list(results))
                return found[-1]

            return run

        _, first = self.block((), noted(then), "scf.yield")
        _, second = self.block((), noted(else_), "scf.yield")
        types = ", ".join(self.kind(v.aval) for v in found[0])
        types = f" -> ({types})" if types else ""
        return self._many(
            f"scf.if {self.use(pred)}{types} {{\n{first}\n}} else {{\n{second}\n}}", found[0]
        )

    def _many(self, right: str, like: Values) -> list[Value]:
        name, n = self._fresh(), len(like)
        self.line(f"{name}{f':{n}' if n > 1 else ''} = {right}" if n else right)
        return [Value(f"{name}#{k}" if n > 1 else name, v.aval) for k, v in enumerate(like)]
