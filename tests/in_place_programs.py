"""Random programs that change arrays in place in every way NumPy has: for a test, and for `make
soak`.

They add to the statements of `test_fuzz`: index arrays and masks in all combinations, `out=` and
`where=`, functions that write their argument, ufunc methods, attributes that are set, arrays in
every memory order, casts between all dtypes, swaps. Without rounding: results agree by bits.
`python -m tests.in_place_programs COUNT SEED` compares many.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from tests import test_fuzz
from tests.test_fuzz import Writer, mismatch, shortened

_DTYPES = ["f8", "f8", "f4", "f2", "i8", "i8", "i4", "i2", "i1", "u1", "u2", "u8", "?", "c16", "c8"]
_SHAPES = [(3,), (4, 3), (4, 1), (1, 3), (2, 4, 3), (12,), (), (0, 3), (5,), (3, 3), (2, 2, 2, 2)]
_VALUES = [
    "2", "-1", "3", "0.5", "-0.0", "True", "np.float32(1.5)", "np.int64(3)", "0", "np.nan",
    "np.inf", "300", "-129", "1j", "np.uint8(200)", "2**40", "[1, 2, 3]", "[[1], [2]]",
    "np.array(2)", "None",
]  # fmt: skip
_OPERATORS = ["+=", "-=", "*=", "+=", "//=", "%=", "/=", "&=", "|=", "^=", "<<=", ">>="]
_BINARY = [
    "add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder", "divide",
    "logical_and", "logical_xor", "bitwise_or", "less", "equal", "copysign", "fmod", "not_equal",
]  # fmt: skip
_UNARY = ["negative", "absolute", "square", "sign", "invert", "logical_not", "conjugate", "floor"]


class InPlaceWriter(Writer):
    """Writes one random program of changes in place."""

    arrays_at_first = 4

    def makers(self) -> list[Any]:
        return _STATEMENTS

    def after(self) -> None:
        """Every memory order is allowed."""

    def new_array(self) -> str:
        shape, dtype = self.random.choice(_SHAPES), self.random.choice(_DTYPES)
        size = int(numpy.prod(shape))
        order = self.random.choice(["", "", "", ", order='F'"])
        first = self.random.randrange(-4, 5) if dtype[0] in "fi" else 0
        base = f"(np.arange({first}, {first + size}) * 0.75).astype({dtype!r}).reshape({shape})"
        kinds = [
            base, base, f"np.zeros({shape}, {dtype!r}{order})", f"np.full({shape}, 2, {dtype!r})",
            f"np.array({base}{order})", f"np.ones_like({base})", f"{base}.T",
        ]  # fmt: skip
        return self.random.choice(kinds)

    def value(self, name: str) -> str:
        kind = self.random.random()
        if kind < 0.35:
            return self.random.choice(_VALUES)
        if kind < 0.45:
            return f"np.array({self.array()})"
        if kind < 0.55:
            return f"np.asarray({self.fitting(name)}).tolist()"
        return self.fitting(name)

    def dtype(self) -> str:
        return repr(self.random.choice(_DTYPES))

    def axis(self, name: str) -> str:
        n = self.space[name].ndim
        return self.random.choice(["None", *map(str, range(-n, n)), "0", str(n)])

    # -- indices --------------------------------------------------------------------------------

    def any_index(self, name: str) -> str:
        """Basic items, index arrays and masks, mixed."""
        shape, items = self.space[name].shape, []
        axis = 0
        while axis < len(shape) and self.random.random() < 0.85:
            n = shape[axis]
            kind = self.random.randrange(10)
            if kind < 4:
                items.append(self.index_item(n, True))
                axis += 1
            elif kind < 7:
                items.append(self.index_array(n))
                axis += 1
            elif kind == 7:
                items.append(f"np.arange({n}) % 2 == {self.random.randrange(2)}")
                axis += 1
            elif kind == 8 and len(shape) - axis > 1:
                part = shape[axis : axis + 2]
                items.append(f"(np.arange({part[0] * part[1]}) % 3 > 0).reshape({part})")
                axis += 2
            else:
                items.append(self.random.choice(["None", "...", "True", "[]"]))
        if items.count("...") > 1:
            items = [i for i in items if i != "..."]
        return ", ".join(items) or self.random.choice(["...", "()", "None", f"{name} == {name}"])

    def index_array(self, n: int, valid: bool = False) -> str:
        if not n:  # of two faults NumPy names another one
            return "np.zeros(0, int)"
        top = n
        pick = [self.random.randrange(-top, top) for _ in range(self.random.choice([1, 2, 3, 3]))]
        if self.random.random() < 0.04 and not valid:
            pick.append(n)
        forms = ["{}", "np.array({})", "np.array({}, 'i4')", "np.array([{}, {}])", "np.array({}).T"]
        return self.random.choice(forms).format(pick, pick[::-1])

    def get(self) -> str:
        x = self.array()
        return self.fresh(f"{x}[{self.any_index(x)}]")

    def set(self) -> str:
        x = self.array()
        index = self.any_index(x)
        region: Any = numpy.zeros(())
        with contextlib.suppress(Exception):
            region = eval(f"{x}[{index}]", dict(self.space))
        self.space["v_"] = numpy.asarray(region)
        value = self.value("v_")
        del self.space["v_"]
        value = value.replace("v_", "1")  # the region itself
        if self.space[x].dtype == bool and value[0] == "[":  # the truth of a list
            value = "1"
        if "==" in index and value in self.space:
            # NumPy stores by a mask while it reads: if it reads what it writes, order matters
            value = f"np.array({value})"
        operator = self.random.choice(["=", "=", "=", self.random.choice(_OPERATORS)])
        return f"{x}[{index}] {operator} {value}"

    # -- functions that write -------------------------------------------------------------------

    def operate(self) -> str:
        x = self.array()
        return f"{x} {self.random.choice(_OPERATORS)} {self.value(x)}"

    def ufunc_out(self) -> str:
        x = self.array()
        y, z = self.fitting(x), self.fitting(x)
        options = ["", "", ", casting='unsafe'", ", casting='no'"]
        if y[0] == z[0] == "v":  # or a number may be a second fault
            options.append(f", dtype={self.dtype()}")
        option = self.random.choice(options)
        target = self.random.choice([x, x, f"{x}[...]", f"{x}[::-1]", f"{x}.T", f"({x},)"])
        if self.random.random() < 0.3:
            # not where the memory is the operand's: NumPy overwrites what `where` leaves out
            option, y, z, target = f", where={self.truth(x)}", f"np.array({y})", f"np.array({z})", x
            if self.space[x].dtype != float:
                return ""
        if self.random.random() < 0.3:
            return f"np.{self.random.choice(_UNARY)}({y}, out={target}{option})"
        return f"np.{self.random.choice(_BINARY)}({y}, {z}, out={target}{option})"

    def has_name(self, array: numpy.ndarray) -> bool:
        return any(array is named for named in self.space.values())

    def has_both_zeros(self, name: str) -> bool:
        x = self.space[name]
        parts = [x.real, x.imag] if x.dtype.kind == "c" else [x] if x.dtype.kind == "f" else []
        return any(len(set(numpy.signbit(part[part == 0]).tolist())) == 2 for part in parts)

    def truth(self, name: str) -> str:
        shape = self.space[name].shape
        masks = self.arrays(lambda v: v.dtype == bool and v.shape == shape)
        made = f"np.arange({self.space[name].size}).reshape({shape}) % 2 == 0"
        return self.random.choice([*[m for m in masks if m != name], made, "True", "False"])

    def reduce_out(self) -> str:
        x = self.array(lambda v: v.dtype.kind in "iub")
        if self.space[x].dtype.kind not in "iub" or (self.space[x] > 2**63 - 1).any():
            return ""  # NumPy casts the first element, and reduces what is left as float64
        out = self.array(lambda v: v.dtype.kind in "ifc")
        functions = ["sum", "max", "min", "prod", "any", "all", "argmax"]
        if self.space[x].shape == self.space[out].shape != ():  # of 0-d arrays, NumPy 2.4 crashes
            functions += ["cumsum"] * 2
        function = self.random.choice(functions)
        if numpy.shares_memory(self.space[x], self.space[out]):
            return ""  # NumPy writes `argmax` and `max` while it reads
        if function in ("max", "min") and not numpy.can_cast(
            self.space[x].dtype, self.space[out].dtype
        ):
            return ""  # it casts the first element apart from the rest
        axis = "0" if function == "cumsum" else self.axis(x)
        return f"{x}.{function}(axis={axis}, out={out})"

    def method(self) -> str:
        x = self.array()
        forms = [
            "{0}.fill(3)", "{0}.fill(2.5)", "{0}.sort(axis={2})", "{0}.put({3}, {1})",
            "{0}.byteswap()", "{0}.setfield(1, 'i1')",
            "{0}.flat = {5}", "{0}.flat[{3}] = {5}", "{0}.flat[1::2] = {5}",
            "{0}.flat[0] += 1", "{0}.real = {1}", "{0}.imag = {1}", "{0}.real += 1",
            "{0}.shape = {4}", "{0}.shape = -1", "{0}.flags.writeable = False",
            "{0}.flags.writeable = True", "{0}.T[...] = {1}",
            "{0}.reshape(-1)[{3}] = {1}", "{0}.ravel()[1:2] = {1}", "{0}.squeeze()[...] = {1}",
            "{0}.swapaxes(0, -1)[...] = {1}", "{0}.view('u1')[...] = 1", "{0}.diagonal()[...] = 1",
            "{0}[..., None][...] = {1}", "{0}[None].T[0] = {1}",
            "{0}.__setitem__(slice(1, 3), {1})",
        ]  # fmt: skip
        form = self.random.choice(forms)
        shares = any(not s and n > 1 for s, n in zip(self.space[x].strides, self.space[x].shape))
        if form == "{0}.flags.writeable = True" and shares:
            return ""  # elements share memory: see docs/reliability.md
        base = self.space[x].base
        if form == "{0}.flags.writeable = True" and not (base is None or self.has_name(base)):
            return ""  # some results of NumPy's, as that of `roll`, are views of a writable array
        if "setfield" in form and self.space[x].dtype.kind in "fc":
            return ""  # subnormal numbers, which compiled programs flush
        if "sort" in form and self.has_both_zeros(x):
            return ""  # their order depends on the instructions that NumPy finds in the processor
        shape = self.random.choice([*_SHAPES, self.space[x].size])
        pick = self.index_array(self.space[x].size, valid=True)
        value = self.value(x)
        apart = f"np.array({value})" if value[0] == "v" else value  # NumPy reads while it writes
        return form.format(x, value, self.axis(x), pick, shape, apart)

    def function(self) -> str:
        x = self.array(lambda v: v.flags.writeable)  # `ufunc.at` does not look
        y, m = self.value(x), f"np.array({self.truth(x)})"  # or NumPy reads what it has written
        pick = self.index_array(self.space[x].size, valid=True)  # NumPy writes up to a wrong one
        first = self.index_array(self.space[x].shape[0] if self.space[x].ndim else 1)
        same = self.array(lambda v, s=self.space[x]: v.shape == s.shape)
        same = same if self.space[same].shape == self.space[x].shape else x
        y = y if y != "None" else "1"
        added = f"np.array({y})"
        within = f"np.array({y})" if y in self.space else y  # or NumPy reads what it has written
        joined = self.array(
            lambda v, s=self.space[x]: v.flags.writeable and not numpy.shares_memory(v, s)
        )
        if numpy.shares_memory(self.space[joined], self.space[x]):
            joined = "np.zeros(3)"
        elif not self.space[joined].flags.writeable:
            joined = "np.zeros(3)"  # NumPy writes to what is read-only
        if self.space[x].ndim == 1:  # NumPy reads past the end of what it broadcasts
            added = f"np.broadcast_to({y}, {x}[{first}].shape)"
        forms = [
            f"np.copyto({x}, {y})", f"np.copyto({x}, {y}, where={m})",
            f"np.copyto({x}, {y}, casting='unsafe')", f"np.put({x}, {pick}, {y})",
            f"np.put({x}, {pick}, {y}, mode='wrap')", f"np.place({x}, {m}, [1, 2])",
            f"np.putmask({x}, {m}, {y})", f"np.fill_diagonal({x}, {within})",
            f"np.put_along_axis({x}, np.array([0, 1]), 7, {self.axis(x)})",
            f"np.add.at({x}, {first}, {added})", f"np.maximum.at({x}, {first}, 2)",
            f"np.negative.at({x}, {first})",
            f"np.clip({x}, 1, 3, out={x})", f"np.take({x}, {pick}, out={self.array()})",
            f"np.choose([0, 1, 0], [{x}, {y}], out={self.array()})",
            f"np.add.accumulate({x}, out={same})" if self.exact(x) else "",
            f"np.nan_to_num({x}, copy=False)", f"np.concatenate([{x}, {x}], out={joined})",
            f"np.compress([True, False, True], {x}, axis={self.axis(x)}, out={self.array()})",
            f"np.random.default_rng(3).shuffle({x})", f"np.round({x}, out={x})",
            f"np.matmul({x}, {x}, out={same})" if self.exact(x) else "",
            f"np.stack([{x}, {x}], out={joined})", f"np.copyto({x}.T, {x})",
            f"np.broadcast_to({x}, (2, *{x}.shape))[...] = 1",
        ]  # fmt: skip
        return self.random.choice(forms)

    def exact(self, name: str) -> bool:
        return self.space[name].dtype.kind in "iub"

    # -- the rest -------------------------------------------------------------------------------

    def convert(self) -> str:
        x = self.array()
        forms = ["{0}.astype({1})", "np.array({0}, {1})", "{0}.astype({1}, copy=False)",
                 "np.asarray({0}, {1})", "np.array({0}, order='F')", "{0}.copy(order='K')",
                 "np.asfortranarray({0})", "np.ascontiguousarray({0})"]  # fmt: skip
        return self.fresh(self.random.choice(forms).format(x, self.dtype()))

    def more_views(self) -> str:
        x = self.array()
        forms = ["{0}[...]", "{0}.view()", "{0}.T", "np.moveaxis({0}, 0, -1)", "np.flip({0})",
                 "np.rot90({0})", "np.expand_dims({0}, 0)", "np.atleast_2d({0})", "{0}.squeeze()",
                 "np.split({0}, 2)[0]", "np.broadcast_to({0}, (2, *{0}.shape))", "{0}[None, ...]",
                 "np.diagonal({0})", "{0}.reshape(-1, 1)", "{0}.reshape(3, -1)", "{0}.view('i8')",
                 "{0}.view('u1')", "np.ravel({0}, 'K')", "{0}.reshape({0}.shape[::-1])",
                 "np.lib.stride_tricks.sliding_window_view({0}, 2, 0)", "list({0})[-1]",
                 "{0}.ravel('F')", "{0}.reshape(-1, order='F')", "np.unstack({0})[0]"]  # fmt: skip
        if self.space[x].dtype == bool and not self.space[x].ndim:
            forms.remove("{0}.view('u1')")  # here a bool's byte is 0 or 1, not what was written
        return self.fresh(self.random.choice(forms).format(x))

    def swap(self) -> str:
        x, y = self.array(), self.array()
        pick = ["[1, 0]", "::-1", "0"]
        i = self.random.choice(pick)
        forms = [f"{x}, {y} = {y}, {x}", f"{x}[0], {x}[1] = {x}[1], {x}[0]",
                 f"{x}[[0, 1]] = {x}[[1, 0]]", f"{x}[{i}] = {x}[{i}]", f"{x}[:] = {x}[::-1]",
                 f"{x}[0], {y}[0] = {y}[0].copy(), {x}[0].copy()"]  # fmt: skip
        return self.random.choice(forms)

    def state(self) -> str:
        x, y = self.array(), self.array()
        forms = ["{0}.flags.writeable", "{0}.shape",
                 "str({0}.dtype)", "{0}.tolist()", "repr({0})", "{0}.tobytes()",
                 "bool(np.shares_memory({0}, {1}))"]  # fmt: skip
        return f"log.append({self.random.choice(forms).format(x, y)})"


_STATEMENTS: list[tuple[Callable[[Any], str], int]] = [
    *[(m, w) for m, w in test_fuzz._STATEMENTS if m.__name__ not in ("attributes", "mask", "rows")],
    (InPlaceWriter.get, 5),
    (InPlaceWriter.set, 14),
    (InPlaceWriter.operate, 6),
    (InPlaceWriter.ufunc_out, 8),
    (InPlaceWriter.reduce_out, 2),
    (InPlaceWriter.method, 12),
    (InPlaceWriter.function, 10),
    (InPlaceWriter.convert, 3),
    (InPlaceWriter.more_views, 7),
    (InPlaceWriter.swap, 4),
    (InPlaceWriter.state, 4),
]


# -- many of them ----------------------------------------------------------------------------------


def compared(count: int, seed: int, policy: str, length: int) -> list[int]:
    """Seeds of programs that differ from NumPy. Each is printed, made short."""
    wrong = []
    for k in range(seed, seed + count):
        statements = InPlaceWriter(k).program(length)
        if mismatch(statements, policy):
            wrong.append(k)
            short = shortened(statements, policy)
            told = mismatch(short, policy) or mismatch(statements, policy) or "only the first time"
            print(f"\n== seed {k} under {policy}", *short, told, sep="\n", flush=True)
        if (k + 1 - seed) % 1000 == 0:
            print(f"{k + 1 - seed} programs, {len(wrong)} differ", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Random programs of changes in place, compared.")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=int(time.time()) * 1000)
    parser.add_argument("--policy", default="adaptive", help="adaptive, compiled, reference, eager")
    parser.add_argument("--length", type=int, default=12, help="statements of one program")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong = compared(given.count, given.seed, given.policy, given.length)
    print(f"{given.count} programs from seed {given.seed}, {given.policy}: {len(wrong)} differ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
