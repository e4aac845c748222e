"""The builder that `lower` rules use: one method for each StableHLO operation.

It has layers: `_core` (text, regions, constants), `_elementwise`, `_structure`, and in this module
contractions, control flow, calls and whole jaxprs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._errors import InternalError, LoweringError
from lazynp._jaxpr import Eqn, Jaxpr, Literal
from lazynp.lowering import _holds
from lazynp.lowering._alternation import alternates, is_large
from lazynp.lowering._core import Body, Value, Values
from lazynp.lowering._reads import Reads
from lazynp.lowering._stacks import fft_attrs, fft_call, notes
from lazynp.lowering._structure import Structure
from lazynp.lowering._text import dims, flag, ints, layouts_text, text

_HIGHEST = "#stablehlo<precision HIGHEST>"
_TRANSPOSES = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


class Builder(Structure):
    """Everything a `lower` rule may emit."""

    # -- contraction, transforms ---------------------------------------------------------------

    def dot_general(
        self,
        x: Value,
        y: Value,
        contracting: tuple[Sequence[int], Sequence[int]],
        batching: tuple[Sequence[int], Sequence[int]] = ((), ()),
        dtype: np.dtype[Any] | None = None,
    ) -> Value:
        """Result axes: batch, then the rest of x, then the rest of y."""
        (lc, rc), (lb, rb) = contracting, batching
        xs, ys = x.aval.shape, y.aval.shape
        shape = (
            *(xs[i] for i in lb),
            *(d for i, d in enumerate(xs) if i not in lc and i not in lb),
            *(d for i, d in enumerate(ys) if i not in rc and i not in rb),
        )
        numbers = (
            f"#stablehlo.dot<lhs_batching_dimensions = {dims(lb)}, "
            f"rhs_batching_dimensions = {dims(rb)}, lhs_contracting_dimensions = {dims(lc)}, "
            f"rhs_contracting_dimensions = {dims(rc)}>"
        )
        return self.op(
            "stablehlo.dot_general", x, y,
            out=aval_of(shape, dtype or x.aval.dtype),
            attrs=f"dot_dimension_numbers = {numbers}" + self._exactly(x),
        )  # fmt: skip

    def fft(self, x: Value, kind: str, length: Sequence[int]) -> Value:
        """FFT, IFFT, RFFT or IRFFT over the last axes, at most three; `length` is their size."""
        if self.mesh is not None:
            return self._fft_by_axes(x, kind, length)
        out = _transformed(x.aval, kind, length[-1])
        attrs = fft_attrs(kind, length)
        return self._by_rows(self.op("stablehlo.fft", self._by_rows(x), out=out, attrs=attrs))

    def _by_rows(self, x: Value) -> Value:
        """x, in row-major order also where LAPACK asks for another: Fourier transforms need it."""
        if x.aval.ndim < 2 or not self.columns:
            return x
        if self.holds_in_place:
            size = self.constant(x.aval.nbytes, np.dtype(np.int64))
            attrs = _holds.call_attrs(_holds.WRITTEN, x.aval, True)
            return self.op("stablehlo.custom_call", x, size, out=x.aval, attrs=attrs)
        self.functions[_holds.function_name(x)] = _holds.function_text(x)
        attrs, notes = _holds.function_attrs(x)
        return self.op("func.call", x, out=x.aval, attrs=attrs, notes=notes)

    def _fft_by_axes(self, x: Value, kind: str, length: Sequence[int]) -> Value:
        """One axis after the other, the last one first unless its result is real: each device
        transforms the lines that it has.
        """
        axes = [*range(-len(length), 0)]
        for axis in axes if kind == "IRFFT" else axes[::-1]:
            one = kind if axis == -1 else "IFFT" if kind[0] == "I" else "FFT"
            x = self._fft_of_lines(x, one, axis, length[axis])
        return x

    def _fft_of_lines(self, x: Value, kind: str, axis: int, n: int) -> Value:
        order = [*range(x.aval.ndim)]
        order[axis], order[-1] = order[-1], order[axis]
        x = self.transpose(x, order)
        out = _transformed(x.aval, kind, n)
        rule = notes([x.aval], [out], len(order) - 1, through=x.aval.shape == out.shape)
        made = self.op("stablehlo.custom_call", x, out=out, attrs=fft_call(kind, n), notes=rule)
        return self.transpose(made, order)

    def convolution(
        self,
        x: Value,
        kernel: Value,
        *,
        strides: Sequence[int] | None = None,
        padding: Sequence[tuple[int, int]] | None = None,
        lhs_dilation: Sequence[int] | None = None,
        rhs_dilation: Sequence[int] | None = None,
        feature_groups: int = 1,
        batch_groups: int = 1,
    ) -> Value:
        """x: (batch, feature, *space); kernel: (out, in, *space); the result has the layout
        of x.
        """
        if self.mesh is not None:  # XLA's result is wrong if signal and kernel are split alike
            kernel = self.whole(kernel, range(kernel.aval.ndim))
        n = x.aval.ndim - 2
        ones = (1,) * n
        strides, lhs_dilation = strides or ones, lhs_dilation or ones
        rhs_dilation, padding = rhs_dilation or ones, padding or ((0, 0),) * n
        space = []
        for i in range(n):
            have = max(0, (x.aval.shape[i + 2] - 1) * lhs_dilation[i] + 1) + sum(padding[i])
            want = (kernel.aval.shape[i + 2] - 1) * rhs_dilation[i] + 1
            space.append(max(0, (have - want) // strides[i] + 1))
        shape = (x.aval.shape[0] // batch_groups, kernel.aval.shape[0], *space)
        axes = "".join(f", {i}" for i in range(n))
        pairs = "[" + ", ".join(dims(p) for p in padding) + "]"
        return self.op(
            "stablehlo.convolution", x, kernel,
            out=aval_of(shape, x.aval.dtype),
            attrs=f"batch_group_count = {batch_groups} : i64, "
            f"dimension_numbers = #stablehlo.conv<[b, f{axes}]x[o, i{axes}]->[b, f{axes}]>, "
            f"feature_group_count = {feature_groups} : i64, lhs_dilation = {ints(lhs_dilation)}, "
            f"padding = dense<{pairs}> : tensor<{n}x2xi64>, "
            f"rhs_dilation = {ints(rhs_dilation)}, window_strides = {ints(strides)}"
            + self._exactly(x),
        )  # fmt: skip

    def _exactly(self, x: Value) -> str:
        """The attribute that keeps a platform from rounding the factors to fewer bits."""
        if not self.platform.exact_products or x.aval.dtype.char not in "fF":
            return ""
        return f", precision_config = [{_HIGHEST}, {_HIGHEST}]"

    def triangular_solve(
        self, a: Value, x: Value, *, lower: bool, transpose: str, unit_diagonal: bool
    ) -> Value:
        """op(a)^-1 x on stacks; transpose: N, T or C. The other triangle of a is not read."""
        return self.op(
            "stablehlo.triangular_solve", a, x,
            out=x.aval,
            attrs=f"left_side = true, lower = {flag(lower)}, "
            f"transpose_a = #stablehlo<transpose {_TRANSPOSES[transpose]}>, "
            f"unit_diagonal = {flag(unit_diagonal)}",
        )  # fmt: skip

    # -- control flow --------------------------------------------------------------------------

    def alternates(self, body: Body, init: Values) -> bool:
        """Whether two rounds of a loop with this body take less than two times one: see
        `_alternation`.
        """
        if not self.holds_in_place or not any(map(is_large, init)):
            return False
        scratch = type(self)(self.platform)
        scratch.looping = True
        args = [Value(f"%a{i}", v.aval) for i, v in enumerate(init)]
        results = body(scratch, args)
        return alternates(scratch.operations, args, results)

    def twice(self, body: Body, state: Values) -> list[Value]:
        """Two rounds. What goes from one to the other is stored, for in one kernel the second round
        would compute the first one again for each neighbour.
        """
        first = body(self, state)
        computed = {v for o in self.operations for v in o.results}
        self.between += [v for v in dict.fromkeys(first) if is_large(v) and v in computed]
        self.second = True
        return body(self, first)

    def while_loop(self, cond: Body, body: Body, init: Values) -> list[Value]:
        """`cond(b, state) -> bool value`, `body(b, state) -> values`; both may use outer values."""
        avals = [v.aval for v in init]
        regions = [self.region(avals, cond), self.region(avals, body, loop=True)]
        return list(self.op("stablehlo.while", *init, out=avals, regions=regions))

    def case(self, index: Value, branches: Sequence[Body]) -> list[Value]:
        """`branches[i](b) -> values`; index is 0-d int32; out of range, the last branch runs."""
        return self._branches("stablehlo.case", index, branches)

    def if_(self, pred: Value, then: Body, else_: Body) -> list[Value]:
        """`then(b) -> values`, `else_(b) -> values`; both may use outer values."""
        return self._branches("stablehlo.if", pred, (then, else_))

    def _branches(self, name: str, choice: Value, branches: Sequence[Body]) -> list[Value]:
        avals: list[Aval] = []

        def noted(b: Builder, branch: Body) -> Values:
            results = branch(b)
            results = [results] if isinstance(results, Value) else list(results)
            avals[:] = [v.aval for v in results]
            return results

        regions = [self.region((), lambda b, _, f=f: noted(b, f)) for f in branches]
        return list(self.op(name, choice, out=avals, regions=regions))

    # -- calls ---------------------------------------------------------------------------------

    def barrier(self, x: Value) -> Value:
        """Prevents simplification across it, but not fusion (see `product`)."""
        return self.op("stablehlo.optimization_barrier", x, out=[x.aval])[0]

    def custom_call(
        self,
        target: str,
        operands: Values,
        outs: Sequence[Aval],
        *,
        attrs: dict[str, str] | None = None,
        config: str | None = None,
        operand_layouts: Sequence[Sequence[int]] | None = None,
        result_layouts: Sequence[Sequence[int]] | None = None,
        aliases: dict[int, int] | None = None,
        has_side_effect: bool = False,
        leading: int = 0,
    ) -> list[Value]:
        """Call a target by the typed FFI. `attrs`: names to MLIR text (`"76 : ui8"`). `config`: a
        text instead, by the interface before that.

        Layouts are minor to major; the default is row-major. `aliases`: output to operand.
        leading: the dimensions in front along which it computes each entry apart.
        """
        if config is None:
            version, config = (
                4,
                "{" + ", ".join(f"{k} = {v}" for k, v in (attrs or {}).items()) + "}",
            )
        else:
            version, config = 1, text(config)
        parts = [
            f"api_version = {version} : i32",
            f"backend_config = {config}",
            f'call_target_name = "{target}"',
            f"has_side_effect = {flag(has_side_effect)}",
            f"operand_layouts = {layouts_text([v.aval for v in operands], operand_layouts)}",
            f"output_operand_aliases = {_aliases(aliases or {}, len(outs))}",
            f"result_layouts = {layouts_text(outs, result_layouts)}",
        ]
        # `op` must know whether there is one result, which it returns bare, or a tuple
        out: Any = outs[0] if len(outs) == 1 else outs
        apart = leading and self.mesh is not None
        rule = notes([v.aval for v in operands], outs, leading) if apart else ""
        results = self.op(
            "stablehlo.custom_call", *operands, out=out, attrs=", ".join(parts), notes=rule
        )
        return [results] if isinstance(results, Value) else list(results)

    def subjaxpr(self, jaxpr: Jaxpr, operands: Values) -> list[Value]:
        """Emit the equations of a jaxpr here."""
        return emit_eqns(self, jaxpr, operands)


def emit_eqns(b: Builder, jaxpr: Jaxpr, operands: Values) -> list[Value]:
    """Emit every equation by its primitive's `lower`, and check the results."""
    env: dict[Any, Value] = dict(zip(jaxpr.inputs, operands, strict=True))

    def read(atom: Any) -> Value:
        if isinstance(atom, Literal):
            return b.constant(atom.value, atom.aval.dtype, atom.aval.shape)
        return env[atom]

    def emit(eqn: Eqn) -> None:
        operands = [read(a) for a in eqn.inputs]
        try:
            if reads is None:
                out = eqn.primitive.lower(b, *operands, **eqn.params)
            else:
                out = reads.lowered(b, eqn, operands, read)
        except LoweringError as error:
            raise error.of(eqn.primitive.name, eqn.where) from None
        outs = out if eqn.primitive.multiple_results else (out,)
        for var, value in zip(eqn.outputs, outs, strict=True):
            if value.aval is not var.aval and not _same_type(value.aval, var.aval):
                raise InternalError(
                    f"{eqn.primitive.name}: lower gives {value.aval}, abstract says {var.aval}"
                )
            env[var] = value

    reads = Reads(jaxpr) if b.looping and b.platform.host else None
    for eqn in jaxpr.eqns:
        for earlier in reads.first(eqn, env) if reads else ():
            emit(earlier)
        if not eqn.outputs or eqn.outputs[0] not in env:
            emit(eqn)
    return [read(a) for a in jaxpr.outputs]


def _transformed(x: Aval, kind: str, n: int) -> Aval:
    """The aval of a Fourier transform of this length."""
    size = x.dtype.itemsize
    if kind == "RFFT":
        return aval_of((*x.shape[:-1], n // 2 + 1), np.dtype(f"c{2 * size}"))
    if kind == "IRFFT":
        return aval_of((*x.shape[:-1], n), np.dtype(f"f{size // 2}"))
    return x


def _same_type(x: Aval, y: Aval) -> bool:
    """Equal apart from weakness, which StableHLO does not have."""
    return x.shape == y.shape and x.dtype == y.dtype


def _aliases(aliases: dict[int, int], outs: int) -> str:
    texts = [
        f"#stablehlo.output_operand_alias<output_tuple_indices = {dims([o] if outs > 1 else [])}, "
        f"operand_index = {i}, operand_tuple_indices = []>"
        for o, i in aliases.items()
    ]
    return "[" + ", ".join(texts) + "]"


__all__ = ["Builder", "Value", "emit_eqns"]
