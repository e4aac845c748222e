"""Compile options by jaxlib version, platform and program: one table.

Measured on two cores with 512-bit vectors, float64; microseconds are the best of many runs,
milliseconds those of compiling.

Emitters (0.10.2) and width of vectors. 256-bit vectors are XLA's default; 512 costs nothing where
the CPU lacks them, for LLVM then splits them.

| program, elements | older, 256 | older, 512 | default, 256 | default, 512 |
|---|---|---|---|---|
| ten operations, 10^5: ms | 17 | 18 | 25 | 25 |
| the same: us | 44 | 24 | 45 | 24 |
| exp, 10^5: us | 100 | 53 | 53 | 53 |
| cbrt, 10^5: us | 930 | 920 | 1510 | 1460 |
| transpose and add, 1000 x 1000: us | 790 | 670 | 12600 | 5100 |
| `while`, 50 rounds of ten operations, 10^5: us | 8600 | 8500 | 2060 | 1000 |
| the same: ms | 26 | 26 | 45 | 50 |

So a program without a loop takes the older emitters, which compile in two thirds of the time; a
program with a loop takes the default ones, for in the body of a loop the older ones write scalar
code. That does not matter where rounds only compute scalars (`_element_loops`): a product of
matrices in three loops compiles in 85 ms instead of 140. From 0.11 the older ones are gone.

Unrolled stages (a value held between two: `_holds`) are the exception, from four on. The default
emitters compile equal stages once:

| program | no holds, older | holds, older | holds, default |
|---|---|---|---|
| 8 rounds of np.roll, 100 x 100 | 880 ms, 68 us | 267 ms, 31 us | 171 ms, 32 us |
| 16 rounds, heat equation in place, 10^4 | | 565 ms, 37 us | 190 ms, 39 us |
| 32 rounds of Jacobi in place, 400 x 400 | 1200 ms, 27 ms | 1145 ms, 1.2 ms | 321 ms, 1.2 ms |
| gradient of 32 rounds of Jacobi, 100 x 100 | 44 s, 96 ms | 3400 ms, 0.19 ms | 580 ms, 0.27 ms |

A program that computes much is the other exception. Where a kernel writes its result over its
operand, the older emitters pass two pointers that LLVM must compare, and equal ones take the scalar
loop. XLA reuses memory so between kernels, in the body of a loop as well; and it begins a kernel
where an expensive value (a quotient, a root) has several readers, as in our formulas:

| program, 20,000 elements | older | default |
|---|---|---|
| arcsin: us | 630 | 41 |
| arctan(x / y): us | 540 | 53 |
| tanh(m @ m + 1) * 2 - m, 150 x 150: us | 340 | 136 |
| softmax, 150 x 150: us | 37 | 51 |
| (x - mean) / std: us | 22 | 31 |

Small loops (`backend` below). XLA turns a `while` into one function if a round touches fewer bytes
than a threshold, 1024 by default. Otherwise each fusion is a kernel, at 35 to 65 ns a round, and
each conditional costs 1 to 3 us. A loop over the elements of an array touches little but, with
bounds checks and several reads, often more than that.

*`xla_cpu_copy_insertion_use_region_analysis` gives wrong results* in loops within loops (0.10.2:
Floyd-Warshall, LU): the copies that it omits are needed. `_reads` orders reads and writes instead.

Library reductions (YNN), on by default, stay on. With them a sum over 1e6 elements takes 0.2
(float32) or 0.4 (float64) of NumPy's time, is as accurate (relative error 1e-8 or 2e-17, without
them 5e-8 or 9e-17; np.sum 1e-8 or 2e-17) and compiles in 7 ms instead of 32; over axis 0 of
(1000, 1000) its error is 1e-7 where np.sum's is 1e-6. Functions fused into a sum there are at
least as accurate as elsewhere, 3 ulp at most. But *their maximum and minimum lose nan*, reduced
over and elementwise alike: the builder never writes them (`Elementwise.maximum`,
`Structure.reduce_max`). Turning YNN reductions off instead
(`xla_cpu_experimental_ynn_fusion_type=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT`) would make maximum
reductions 9 times slower than np.max, and sums 3 to 5 times slower than they are.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from lazynp.lowering import _compat, _holds
from lazynp.lowering._element_loops import only_elements

Option = tuple[str, Any]


class Row(NamedTuple):
    """The options of a platform, from a version on."""

    platform: str
    since: tuple[int, ...]
    always: tuple[Option, ...]
    straight: tuple[Option, ...] = ()  # programs without a loop, and of few stages
    # Programs with a loop: the backend's own options. XLA silently ignores unknown ones;
    # tests/lowering/test_options.py shows that these work.
    backend: tuple[tuple[str, str], ...] = ()


_WIDE = ("xla_cpu_prefer_vector_width", 512)
_OLDER = ("xla_cpu_use_fusion_emitters", False)
# This pass evaluates operations on constants at compile time, slowly: a sort of 300,000 elements
# takes 5 s, and a lack of memory ends the process. LLVM folds small constants anyway: 24 programs,
# with and without loops, compiled as fast and ran as fast without the pass.
_UNFOLDED = ("xla_disable_hlo_passes", "constant_folding")
_SMALL_LOOPS = ("xla_cpu_small_while_loop_byte_threshold", "16384")

# The first row that fits is taken.
_TABLE: tuple[Row, ...] = (
    Row("cpu", (0, 11), (_WIDE, _UNFOLDED), backend=(_SMALL_LOOPS,)),
    Row("cpu", (0, 0), (_WIDE, _UNFOLDED), straight=(_OLDER,), backend=(_SMALL_LOOPS,)),
)

_HOLDS, _STAGES = ('"func.call"(', _holds.TARGET), 4

_unknown: set[str] = set()  # options that this release turned out not to have


def options_for(platform: str, straight: bool = True) -> tuple[Option, ...]:
    """The options of every program on this platform, with or without loops and stages."""
    row = _row(platform)
    if row is None:
        return ()
    options = row.always + (row.straight if straight else ())
    return tuple(o for o in options if o[0] not in _unknown)


def compile_options(platform: str, text: str = "", heavy: bool = False) -> Any:
    """The options to compile the text of a module with. heavy: it computes much, beyond moving
    data.
    """
    looping, row = '"stablehlo.while"' in text, _row(platform)
    vectors = looping and not only_elements(text)
    opts = _compat.CompileOptions()
    if looping and row is not None:
        opts = _compat.with_backend_options(opts, row.backend)
    straight = not vectors and not heavy and sum(map(text.count, _HOLDS)) < _STAGES
    opts.env_option_overrides = list(options_for(platform, straight))
    return opts


def forget_unknown(message: str) -> bool:
    """Whether a compile failed only because this release lacks an option; it is not passed
    again.
    """
    if "No such compile option" not in message:
        return False
    options = {name for row in _TABLE for name, _ in row.always + row.straight}
    lacking = {name for name in options if name in message} - _unknown
    _unknown.update(lacking)
    if lacking:
        warnings.warn(
            f"lazynp: jaxlib {_compat.RELEASE} has no compile option {', '.join(sorted(lacking))}; "
            "programs are compiled without it and may be slower",
            RuntimeWarning,
            stacklevel=2,
        )
    return bool(lacking)


def _row(platform: str) -> Row | None:
    for row in _TABLE:
        if row.platform == platform and row.since <= _compat.VERSION:
            return row
    return None
