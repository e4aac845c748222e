"""Kernels for NVIDIA GPUs, as modules of Triton's dialect. JAX has deprecated its Triton back end;
`_triton*.py` hold all that would go with it.

The builder has the methods of the one for StableHLO, so the `lower` rules of primitives serve here
too. A value of no axes is a scalar; others are tensors, whose sizes must be powers of 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._errors import LoweringError
from lazynp.lowering._builder import Builder
from lazynp.lowering._core import Body, Value, Values
from lazynp.lowering._text import ELEMENT_TYPES
from lazynp.lowering._triton_ops import COMPARISONS, LIBRARY, MATH, PLAIN, conversion

INT32, INT64, FLOAT32 = np.dtype("i4"), np.dtype("i8"), np.dtype("f4")
BOOL = np.dtype("?")
_DOT = 16  # the least size of a product's factors


def element_text(dtype: np.dtype[Any]) -> str:
    """The type of an element: Triton's integers have no sign."""
    text = ELEMENT_TYPES.get(dtype)
    if text is None or dtype.kind == "c":
        raise LoweringError(f"Triton has no {dtype}")
    return text.removeprefix("u")


def tensor_text(shape: tuple[int, ...], element: str) -> str:
    """`tensor<16x16xf32>`, or the element's type."""
    if any(n & (n - 1) or not n for n in shape):
        raise LoweringError(f"Triton's tensors have sizes that are powers of 2, got shape {shape}")
    return "tensor<" + "".join(f"{n}x" for n in shape) + f"{element}>" if shape else element


def kind(aval: Aval) -> str:
    return tensor_text(aval.shape, element_text(aval.dtype))


class Triton(Builder):
    """Writes the body of a kernel."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._known: dict[str, str] = {}  # what was written: the name of each right side
        self.written: dict[str, int] = {}  # pointers to memory that was written, and how often

    # -- text --------------------------------------------------------------------------------------

    def write(self, right: str, aval: Aval) -> Value:
        """A line whose result has this aval. Lines that say the same are written once."""
        name = self._known.get(right)
        if name is None or right.startswith("tt.load"):
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
            text = f" : {kind(aval)}" if aval.dtype.kind != "b" else ""
            return f"arith.constant {literal}{text}"
        return f"arith.constant dense<{literal}> : {kind(aval)}"

    def settled(self, operands: Sequence[Any]) -> list[Any]:
        """The operands as values."""
        return list(operands)

    def inner(self) -> Triton:
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
        types = ", ".join([kind(v.aval) for v in results])
        inner.line(f"{end} {names} : {types}" if results else end)
        return args, inner.text()

    def custom_call(self, target: str, *_: Any, **__: Any) -> Any:
        raise LoweringError(f"Triton has no operation for {target}")

    # -- elementwise -------------------------------------------------------------------------------

    def op(
        self, name: str, *operands: Value, out: Any, attrs: str = "", regions: Sequence[str] = ()
    ) -> Any:
        short = name.removeprefix("stablehlo.").removeprefix("chlo.")
        if short == "optimization_barrier":
            return operands
        if not isinstance(out, Aval) or attrs or regions:
            raise LoweringError(f"Triton has no operation for {short}")
        return self._elementwise(short, operands)

    def _elementwise(self, name: str, operands: Values) -> Value:
        aval = operands[0].aval
        dtype = aval.dtype
        args = ", ".join([self.use(v) for v in operands])
        sort = "f" if dtype.kind == "f" else "u" if dtype.kind in "ub" else "i"
        if name == "not":
            ones = self.constant(True if dtype.kind == "b" else -1, dtype, aval.shape)
            if dtype.kind == "u":
                ones = self.constant(np.iinfo(dtype).max, dtype, aval.shape)
            return self._elementwise("xor", [operands[0], ones])
        if name == "negate" and sort != "f":
            return self._elementwise("subtract", [self.constant(0, dtype, aval.shape), *operands])
        if name == "is_finite":
            size = self._elementwise("abs", operands)
            return self.compare(size, self.constant(math.inf, dtype, aval.shape), "LT")
        if name == "rsqrt":
            root = self._elementwise("sqrt", operands)
            return self._elementwise("divide", [self.constant(1, dtype, aval.shape), root])
        if name == "logistic":
            one = self.constant(1, dtype, aval.shape)
            power = self._elementwise("exponential", [self._elementwise("negate", operands)])
            return self._elementwise("divide", [one, self._elementwise("add", [one, power])])
        if name == "clamp":
            low, x, high = operands
            dtype, aval = x.aval.dtype, x.aval
            low, high = (self.broadcast_in_dim(v, aval.shape, ()) for v in (low, high))
            x = self.select(self.compare(x, low, "LT"), low, x)
            return self.select(self.compare(x, high, "GT"), high, x)
        if dtype == FLOAT32 and name in ("divide", "sqrt"):  # the plain ones are approximations
            exact = {"divide": "tt.precise_divf", "sqrt": "tt.precise_sqrt"}[name]
            return self.write(f"{exact} {args} : {kind(aval)}", aval)
        found = PLAIN.get((name, sort)) or (MATH.get(name) if sort == "f" else None)
        if found is not None:
            return self.write(f"{found} {args} : {kind(aval)}", aval)
        if name == "abs":
            return (
                operands[0] if sort == "u" else self.write(f"math.absi {args} : {kind(aval)}", aval)
            )
        if name in LIBRARY and sort == "f":
            return self._library(name, operands)
        raise LoweringError(f"Triton has no operation for {name} of {dtype}")

    def _library(self, name: str, operands: Values) -> Value:
        """A function of libdevice, which has those of float32 and float64."""
        dtype = operands[0].aval.dtype
        if dtype.itemsize < 4:
            wide = [self.convert(v, FLOAT32) for v in operands]
            return self.convert(self._library(name, wide), dtype)
        symbol = f"__nv_{LIBRARY[name]}{'f' if dtype == FLOAT32 else ''}"
        args, aval = ", ".join([self.use(v) for v in operands]), operands[0].aval
        types = ", ".join([kind(v.aval) for v in operands])
        return self.write(
            f'tt.extern_elementwise {args} {{libname = "", libpath = "", pure = true, '
            f'symbol = "{symbol}"}} : ({types}) -> {kind(aval)}', aval,
        )  # fmt: skip

    def multiplied(self, x: Value, y: Value) -> Value:
        return self._elementwise("multiply", [x, y])

    def hidden(self, x: Value) -> Value:
        return x

    def barrier(self, x: Value) -> Value:
        return x

    def compare(self, x: Value, y: Value, direction: str, total: bool = False) -> Value:
        out, sort = aval_of(x.aval.shape, BOOL), x.aval.dtype.kind
        if total:
            raise LoweringError("Triton has no total order of floats")
        if sort == "f":
            what = f"arith.cmpf {'u' if direction == 'NE' else 'o'}{direction.lower()}"
        else:
            what = f"arith.cmpi {COMPARISONS[direction, sort in 'ub']}"
        return self.write(f"{what}, {self.use(x)}, {self.use(y)} : {kind(x.aval)}", out)

    def select(self, c: Value, x: Value, y: Value) -> Value:
        types = kind(x.aval) if not x.aval.shape else f"{kind(c.aval)}, {kind(x.aval)}"
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
        if element_text(source) == element_text(dtype):
            return Value(self.use(x), out)
        what = conversion(source, dtype)
        return self.write(f"arith.{what} {self.use(x)} : {kind(x.aval)} to {kind(out)}", out)

    def bitcast(self, x: Value, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Value:
        out = aval_of(shape, np.dtype(dtype))
        if shape != x.aval.shape:
            raise LoweringError("Triton has no operation for bits of another size")
        if element_text(x.aval.dtype) == element_text(out.dtype):
            return Value(self.use(x), out)
        return self.write(f"arith.bitcast {self.use(x)} : {kind(x.aval)} to {kind(out)}", out)

    # -- shapes ------------------------------------------------------------------------------------

    def iota(self, shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Value:
        n = shape[axis]
        tensor_text((n,), "i32")
        made = self.write(
            f"tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32>",
            aval_of((n,), INT32),
        )
        return self.broadcast_in_dim(self.convert(made, dtype), shape, (axis,))

    def broadcast_in_dim(self, x: Value, shape: tuple[int, ...], dims: Sequence[int]) -> Value:
        out = aval_of(tuple(shape), x.aval.dtype)
        if x.static is not None:
            return Value("", out, x.static, x.literal)
        if out.shape == x.aval.shape:
            return x
        if not x.aval.shape:
            return self.write(f"tt.splat {self.use(x)} : {kind(x.aval)} -> {kind(out)}", out)
        sizes = [1] * len(shape)
        for n, axis in zip(x.aval.shape, dims, strict=True):
            sizes[axis] = n
        x = self.reshape(x, tuple(sizes))
        if x.aval.shape == out.shape:
            return x
        return self.write(f"tt.broadcast {self.use(x)} : {kind(x.aval)} -> {kind(out)}", out)

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        out = aval_of(tuple(shape), x.aval.dtype)
        if out.shape == x.aval.shape:
            return x
        if x.static is not None or not x.aval.shape:
            return self.broadcast_in_dim(x, out.shape, ())
        if not shape:
            while x.aval.shape:  # each axis has one element
                x = self._reduced([x], 0, lambda b, old, new: new)[0]
            return x
        name = self.use(x)
        if [n for n in shape if n != 1] == list(x.aval.shape) and len(shape) > x.aval.ndim:
            for axis in [k for k, n in enumerate(shape) if n == 1]:  # cheaper than a reshape
                wide = list(x.aval.shape)
                wide.insert(axis, 1)
                aval = aval_of(tuple(wide), x.aval.dtype)
                text = f"tt.expand_dims {self.use(x)} {{axis = {axis} : i32}}"
                x = self.write(f"{text} : {kind(x.aval)} -> {kind(aval)}", aval)
            return x
        return self.write(f"tt.reshape {name} : {kind(x.aval)} -> {kind(out)}", out)

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        if tuple(perm) == tuple(range(x.aval.ndim)):
            return x
        out = aval_of(tuple(x.aval.shape[p] for p in perm), x.aval.dtype)
        order = ", ".join(map(str, perm))
        return self.write(
            f"tt.trans {self.use(x)} {{order = array<i32: {order}>}} : "
            f"{kind(x.aval)} -> {kind(out)}", out,
        )  # fmt: skip

    # -- reductions and products -------------------------------------------------------------------

    def reduce(
        self, xs: Values, inits: Values, axes: Sequence[int], body: Body, name: str = ""
    ) -> list[Value]:
        """Rules begin reductions with neutral elements, which Triton does not need."""
        for axis in sorted(axes, reverse=True):
            xs = self._reduced(xs, axis, body)
        return list(xs)

    def _reduced(self, xs: Values, axis: int, body: Body) -> list[Value]:
        n, shape = len(xs), xs[0].aval.shape
        scalars = [aval_of((), x.aval.dtype) for x in xs]
        args, text = self.block(
            scalars * 2, lambda b, a: body(b, a[:n], a[n:]), "tt.reduce.return"
        )  # fmt: skip
        outs = [aval_of((*shape[:axis], *shape[axis + 1 :]), x.aval.dtype) for x in xs]
        name, head = self._fresh(), ", ".join(f"{a.name}: {kind(a.aval)}" for a in args)
        self.line(
            f'{name}{f":{n}" if n > 1 else ""} = "tt.reduce"({", ".join(map(self.use, xs))}) '
            f"<{{axis = {axis} : i32}}> ({{\n^bb0({head}):\n{text}\n}}) : "
            f"({', '.join(kind(x.aval) for x in xs)}) -> ({', '.join(map(kind, outs))})"
        )
        return [Value(f"{name}#{k}" if n > 1 else name, a) for k, a in enumerate(outs)]

    def dot_general(
        self, x: Value, y: Value, contracting: Any, batching: Any = ((), ()), dtype: Any = None
    ) -> Value:
        """The product of two matrices, in full precision."""
        (lc, rc), (lb, _) = contracting, batching
        if x.aval.ndim != 2 or y.aval.ndim != 2 or len(lc) != 1 or lb:
            raise LoweringError(f"Triton multiplies two matrices, got {x.aval} and {y.aval}")
        if min(*x.aval.shape, *y.aval.shape) < _DOT:
            raise LoweringError(
                f"Triton multiplies matrices of at least {_DOT} rows and columns, got {x.aval} "
                f"and {y.aval}"
            )
        x = x if lc[0] == 1 else self.transpose(x, (1, 0))
        y = y if rc[0] == 0 else self.transpose(y, (1, 0))
        out = aval_of((x.aval.shape[0], y.aval.shape[1]), dtype or x.aval.dtype)
        start = self.constant(0, out.dtype, out.shape)
        names = ", ".join(map(self.use, (x, y, start)))
        types = f"{kind(x.aval)} * {kind(y.aval)} -> {kind(out)}"
        return self.write(f"tt.dot {names}, inputPrecision = ieee : {types}", out)

    # -- control flow ------------------------------------------------------------------------------

    def counted(self, length: int, init: Values, body: Body) -> list[Value]:
        """`body(b, number, state) -> state`, so many times; the number is an int64."""
        number = Value(self._fresh(), aval_of((), INT64))
        bounds = [self.use(self.constant(n, INT64)) for n in (0, length, 1)]
        args, text = self.block(
            [v.aval for v in init], lambda b, state: body(b, number, state), "scf.yield"
        )
        given = ", ".join(f"{a.name} = {self.use(v)}" for a, v in zip(args, init, strict=True))
        types = ", ".join(kind(v.aval) for v in init)
        lower, upper, step = bounds
        carried = f"iter_args({given}) -> ({types}) " if init else ""
        return self._many(
            f"scf.for {number.name} = {lower} to {upper} step {step} {carried}: i64 {{\n{text}\n}}",
            init,
        )

    def while_loop(self, cond: Body, body: Body, init: Values) -> list[Value]:
        inner = self.inner()
        args = [Value(self._fresh(), v.aval) for v in init]
        going = cond(inner, args)
        types = ", ".join(kind(v.aval) for v in init)
        names = ", ".join(a.name for a in args)
        inner.line(f"scf.condition({inner.use(going)}) {names} : {types}")
        state, text = self.block([v.aval for v in init], body, "scf.yield")
        given = ", ".join(f"{a.name} = {self.use(v)}" for a, v in zip(args, init, strict=True))
        head = ", ".join(f"{a.name}: {kind(a.aval)}" for a in state)
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
        def chosen(b: Triton) -> list[Value]:
            one = b.constant(1, index.aval.dtype)
            return b.case(b._elementwise("subtract", [index, one]), branches)

        return chosen

    def if_(self, pred: Value, then: Body, else_: Body) -> list[Value]:
        found: list[list[Value]] = []

        def noted(branch: Body) -> Callable[..., Any]:
            def run(b: Triton, _: Any) -> list[Value]:
                results = branch(b)
                found.append([results] if isinstance(results, Value) else list(results))
                return found[-1]

            return run

        _, first = self.block((), noted(then), "scf.yield")
        _, second = self.block((), noted(else_), "scf.yield")
        types = ", ".join(kind(v.aval) for v in found[0])
        return self._many(
            f"scf.if {self.use(pred)} -> ({types}) {{\n{first}\n}} else {{\n{second}\n}}", found[0]
        )

    def _many(self, right: str, like: Values) -> list[Value]:
        name, n = self._fresh(), len(like)
        self.line(f"{name}{f':{n}' if n > 1 else ''} = {right}" if n else right)
        return [Value(f"{name}#{k}" if n > 1 else name, v.aval) for k, v in enumerate(like)]
