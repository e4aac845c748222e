"""The builder's core: values, operations, regions, constants.

The builder writes text in the generic form (`"stablehlo.add"(%0, %1) : (...) -> ...`). A string
costs a tenth of a binding call and needs no context. Constants are kept as values and written only
where used, once for each region. So any region can refer to them, and a rule that reads
`b.static(v)` and does not use the operand leaves no text behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp.lowering import _hold_call, _holds, _rounding
from lazynp.lowering._holds import Operation
from lazynp.lowering._kernel import Launched
from lazynp.lowering._platform import CPU, Platform
from lazynp.lowering._rounding import Product
from lazynp.lowering._text import dense_text, scalar_text, type_text


class Value:
    """An SSA value. A constant has no name, but a `literal`, its text.

    operands: what it was computed from. fixed: constants only, so that XLA computes it. parts:
    of a complex one, if it was put together from them. products: those whose value it may be.
    """

    __slots__ = (
        "name", "aval", "static", "literal", "fixed", "parts", "operands", "renames", "products",
        "counts",
    )  # fmt: skip

    def __init__(
        self, name: str, aval: Aval, static: Any = None, literal: str | None = None
    ) -> None:
        self.name, self.aval, self.static, self.literal = name, aval, static, literal
        self.fixed = literal is not None
        self.parts: tuple[Value, Value] | None = None
        self.operands: tuple[Value, ...] = ()
        # whether XLA may treat it as its operand's memory with other dimensions
        self.renames = False
        self.products = _rounding.NONE
        self.counts: int | None = None  # the axis along which it is 0, 1, 2, ...

    def __repr__(self) -> str:
        return f"{self.name or self.literal}: {self.aval}"


_RENAMING = {
    f"stablehlo.{name}"
    for name in ("bitcast_convert", "broadcast_in_dim", "reshape", "reverse", "slice", "transpose")
}
Values = Sequence[Value]
Body = Callable[..., Any]


class _Names:
    """Fresh SSA numbers, shared by a builder and the builders of its regions."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Core:
    """Writes operations, one on each line. Operands must have exactly the types the operation
    wants.
    """

    def __init__(self, platform: Platform = CPU, names: _Names | None = None) -> None:
        self.platform = platform
        self.mesh: Any = None  # that the program is split over, if any
        self.columns = False  # whether it has LAPACK's calls, which read matrices by columns
        self.lines: list[str | Product] = []
        self._names = names or _Names()
        self._constants: dict[tuple[str, Aval], str] = {}
        self.looping = False  # whether this is inside the body of a loop
        self.operations: list[Operation] = []
        self.second = False  # whether this is in the second of two rounds in one
        self.between: list[Value] = []  # what the first of two rounds hands to the second
        self.functions: dict[str, str] = {}  # of the module, by name
        self.kernels: list[Launched] = []  # that the module launches

    def _fresh(self) -> str:
        self._names.count += 1
        return f"%{self._names.count}"

    def use(self, value: Value) -> str:
        """The name of a value in this region. Writes a constant at its first use."""
        if value.name:
            return value.name
        assert value.literal is not None
        key = value.literal, value.aval
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = self._fresh()
            kind = type_text(value.aval)
            self.lines.append(
                f'{name} = "stablehlo.constant"() <{{value = dense<{value.literal}> : {kind}}}> '
                f": () -> {kind}"
            )
        return name

    def op(
        self,
        name: str,
        *operands: Value,
        out: Aval | Sequence[Aval],
        attrs: str = "",
        regions: Sequence[str] = (),
        notes: str = "",
    ) -> Any:
        """Write one operation. Returns a Value, or a tuple of Values if `out` is a sequence.

        notes: attributes that are not the operation's own, in braces.
        """
        if "." not in name:
            name = "stablehlo." + name
        args = ", ".join([v.name or self.use(v) for v in operands])
        kinds = ", ".join([type_text(v.aval) for v in operands])
        if attrs:
            attrs = f" <{{{attrs}}}>"
        if regions:
            attrs += " (" + ", ".join(regions) + ")"
        if notes:
            attrs += " " + notes
        self._names.count = count = self._names.count + 1
        products = _rounding.NONE
        for v in operands:
            if v.products:
                products = _rounding.met(name, operands, [out] if isinstance(out, Aval) else out)
                break
        if isinstance(out, Aval):
            kind = type_text(out)
            self.lines.append(f'%{count} = "{name}"({args}){attrs} : ({kinds}) -> {kind}')
            value = Value(f"%{count}", out)
            value.fixed = bool(operands) and all([v.fixed for v in operands])
            value.operands, value.products = operands, products
            value.renames = name in _RENAMING and out.nbytes == operands[0].aval.nbytes
            self.operations.append(Operation(name, attrs, operands, (value,)))
            return value
        head = f"%{count}:{len(out)} = " if out else ""
        types = ", ".join([type_text(aval) for aval in out])
        self.lines.append(f'{head}"{name}"({args}){attrs} : ({kinds}) -> ({types})')
        values = tuple([Value(f"%{count}#{i}", aval) for i, aval in enumerate(out)])
        for value in values:
            value.operands, value.products = operands, products
            value.fixed = bool(operands) and all([v.fixed for v in operands])
        if values:
            self.operations.append(Operation(name, attrs, operands, values))
        return values

    def region(self, avals: Sequence[Aval], body: Callable[..., Any], loop: bool = False) -> str:
        """The text of a region whose block has arguments with these avals.

        `body(inner_builder, arguments)` returns a Value or a sequence of them.
        """
        inner = type(self)(self.platform, self._names)
        inner.looping, inner.functions = loop or self.looping, self.functions
        inner.kernels = self.kernels
        inner.mesh, inner.columns = self.mesh, self.columns
        args = [Value(self._fresh(), aval) for aval in avals]
        results = body(inner, args)
        results = [results] if isinstance(results, Value) else list(results)
        inner.op("stablehlo.return", *results, out=())
        head = ", ".join(f"{v.name}: {type_text(v.aval)}" for v in args)
        block = f"^bb0({head}):\n" if args else ""
        return "{\n" + block + inner.text(results) + "\n}"

    @property
    def holds_in_place(self) -> bool:
        """Whether a value can be stored without a copy."""
        return _hold_call.BUILT and self.platform.host and self.mesh is None

    def text(self, results: Sequence[Value] = ()) -> str:
        """All that was written, once nothing more will be. results: of the region."""
        lines = _rounding.written(self.lines)
        if not self.platform.host:
            return "\n".join(lines)
        held = _holds.held(self.operations, results)
        called = dict.fromkeys(held, "")
        if self.holds_in_place:
            large = [v for v in (*held, *self.between) if v.aval.nbytes >= _holds.MUCH]
            written = dict.fromkeys(_holds.overwritten(self.operations, results), _holds.WRITTEN)
            called = called | written | dict.fromkeys(large, _holds.TARGET)
        for value, target in called.items():
            if not target:
                self.functions[_holds.function_name(value)] = _holds.function_text(value)
        return "\n".join(_holds.stored(lines, called, self.columns) if called else lines)

    def multiplied(self, x: Value, y: Value) -> Value:
        """x * y, kept from being contracted with an addition if it meets one."""
        args = f"{x.name or self.use(x)}, {y.name or self.use(y)}"
        self._names.count = count = self._names.count + 1
        line = Product(count, args, x.aval)
        self.lines.append(line)
        value = Value(f"%{count}", x.aval)
        value.fixed, value.operands = x.fixed and y.fixed, (x, y)
        _rounding.met("stablehlo.multiply", (x, y), [x.aval])
        value.products = frozenset((line,))
        self.operations.append(Operation("stablehlo.multiply", "", (x, y), (value,)))
        return value

    def static(self, value: Value) -> Any:
        """The Python scalar that fills a constant, or None for a computed value."""
        return value.static

    # -- constants -----------------------------------------------------------------------------

    def constant(self, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] = ()) -> Value:
        """A constant with `value` in every element, bit for bit (nan, inf, -0.0)."""
        if isinstance(value, np.generic | np.ndarray):
            value = value.item()
        # equal keys must mean equal bits: the type distinguishes 1 from True, the text 0.0 from
        # -0.0 and 1+0j from 1-0j
        sign = str(value) if value == 0 or isinstance(value, complex) else ""
        return _splat(value, sign, np.dtype(dtype), tuple(shape))

    def dense(self, array: Any) -> Value:
        """A constant array. Its elements become program text, so use it for small tables only."""
        array = np.asarray(array)
        if array.ndim == 0:
            return self.constant(array[()], array.dtype)
        return Value("", aval_of(array.shape, array.dtype), None, dense_text(array))

    def iota(self, shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Value:
        value = self.op(
            "stablehlo.iota", out=aval_of(shape, dtype), attrs=f"iota_dimension = {axis} : i64"
        )
        value.counts = axis
        return value


def concatenated(xs: Values, axis: int) -> Aval:
    """What several values are along an axis."""
    shape = list(xs[0].aval.shape)
    shape[axis] = sum(x.aval.shape[axis] for x in xs)
    return aval_of(tuple(shape), xs[0].aval.dtype)


@lru_cache(4096, typed=True)
def _splat(value: Any, sign: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Value:
    return Value("", aval_of(shape, dtype), value, scalar_text(value, dtype))
