"""The floating-point operations of an optimised program, read from its HLO.

XLA's own count takes each computation as a whole. A fusion computes only the elements that its
result needs, so here an operation counts for those: a halo of one row costs one row.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_LINE = re.compile(r"^\s+(ROOT )?%([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*)$")
_TYPE = re.compile(r"(\w+)\[([\d,]*)\]")
_NAMES = re.compile(r"%([\w.\-]+)")
_CALLED = re.compile(r"(?:calls|body|to_apply)=%([\w.\-]+)")
_ROUNDS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_NUMBERS = {
    name: re.compile(rf"{name}=\{{([\d,]*)\}}") for name in ("lhs_contracting_dims", "fft_length")
}
_COUNTED = frozenset(
    ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "sqrt", "rsqrt",
     "cbrt", "exponential", "exponential-minus-one", "log", "log-plus-one", "tanh", "logistic",
     "sine", "cosine", "tan", "atan2", "erf", "remainder", "negate", "abs")
)  # fmt: skip
_THROUGH = frozenset(("fusion", "call", "while", "conditional"))


class _Instruction(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int, ...]
    op: str
    operands: list[str]
    rest: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def operations(text: str) -> float:
    """How many one run of the program makes on one device."""
    computations, entry = _parsed(text)
    return _of(computations, entry, {})


def _parsed(text: str) -> tuple[dict[str, list[_Instruction]], str]:
    found: dict[str, list[_Instruction]] = {}
    here: list[_Instruction] = []
    entry = ""
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            here = found[head[2]] = []
            entry = head[2] if head[1] else entry
            continue
        parts = _LINE.match(line)
        if parts:
            given, _, rest = parts[5].partition(")")
            kind = _TYPE.search(parts[3])
            dtype = kind[1] if kind else ""
            shape = tuple(int(n) for n in kind[2].split(",") if n) if kind else ()
            here.append(_Instruction(parts[2], dtype, shape, parts[4], _NAMES.findall(given), rest))
    return found, entry


def _of(computations: dict[str, list[_Instruction]], name: str, known: dict[str, float]) -> float:
    if name in known:
        return known[name]
    body = computations[name]
    by_name = {i.name: i for i in body}
    wanted = dict.fromkeys(by_name, 0)  # elements that the result needs
    wanted[body[-1].name] = body[-1].size
    total = 0.0
    for i in reversed(body):
        elements = min(wanted[i.name], i.size) or (i.size if i.op in _THROUGH else 0)
        total += _alone(i, elements, by_name)
        if i.op in _THROUGH:
            rounds = _ROUNDS.search(i.rest)
            times = int(rounds[1]) if rounds else 1
            total += sum(times * _of(computations, c, known) for c in _CALLED.findall(i.rest))
        part = elements / i.size if i.size else 0
        for operand in i.operands:
            if operand in by_name:
                size = by_name[operand].size
                # an elementwise operation and a slice take as many as they give
                asked = elements if size >= i.size and i.op not in _WHOLE else size * bool(part)
                wanted[operand] += min(asked, size)
    known[name] = total
    return total


_WHOLE = frozenset(
    ("reduce", "dot", "fft", "sort", "gather", "scatter", "custom-call", "reduce-window",
     "convolution", "tuple", "get-tuple-element", "dynamic-slice")
) | _THROUGH  # fmt: skip


def _alone(i: _Instruction, elements: int, by_name: dict[str, _Instruction]) -> float:
    if i.dtype[:1] not in "fc" or not elements:
        return 0.0
    if i.op in _COUNTED:
        return elements * _complex(i, 6 if i.op in ("multiply", "divide") else 2)
    if i.op == "dot":
        left = by_name[i.operands[0]].shape
        inner = math.prod(left[a] for a in _ints(i.rest, "lhs_contracting_dims"))
        return 2.0 * i.size * inner * _complex(i, 4)
    if i.op == "fft":
        length, numbers = math.prod(_ints(i.rest, "fft_length")), by_name[i.operands[0]].size
        real = "fft_type=RFFT" in i.rest or "fft_type=IRFFT" in i.rest
        return 5.0 * numbers * math.log2(length) * (0.5 if real else 1.0)
    if i.op in ("reduce", "all-reduce", "reduce-scatter"):
        return float(by_name[i.operands[0]].size) * _complex(i, 2)
    return 0.0


def _complex(i: _Instruction, factor: int) -> int:
    return factor if i.dtype.startswith("c") else 1


def _ints(rest: str, name: str) -> list[int]:
    found = _NUMBERS[name].search(rest)
    return [int(n) for n in found[1].split(",") if n] if found else []
