"""Compile options by jaxlib version and platform: one table.

What is in it was measured with float32 and float64, on two slow cores; times are best of many.

Emitters (0.10.2). The older ones compile small programs in half the time (2 operations 16 ms
against 28, 10 operations 17 against 28) and their code is as fast or faster (10-operation chain
over 1e6 elements 0.06 of NumPy's time against 0.26, transpose + add 0.7 against 7.2; exp 1.9
against 1.4). From 0.11 they are gone, and the new ones as good (0.06, 0.4; 2 to 10 operations
compile in 17 to 28 ms).

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

from typing import Any

from lazynp.lowering import _compat

Option = tuple[str, Any]

# XLA's evaluator computes what constants alone decide while it compiles: a sort of 300,000 elements
# takes 5 s, and where memory is short, it ends the process. Small constants are folded by LLVM as
# well: 24 programs, with and without loops, compiled as fast and ran as fast without this pass.
_UNFOLDED: Option = ("xla_disable_hlo_passes", "constant_folding")

# (platform, first version, options): the first row that fits is taken.
_TABLE: tuple[tuple[str, tuple[int, ...], tuple[Option, ...]], ...] = (
    ("cpu", (0, 11), (_UNFOLDED,)),
    ("cpu", (0, 0), (("xla_cpu_use_fusion_emitters", False), _UNFOLDED)),
)

_unknown: set[str] = set()  # options this release turned out not to have


def options_for(platform: str) -> tuple[Option, ...]:
    """The options every program is compiled with on this platform."""
    for name, since, options in _TABLE:
        if name == platform and since <= _compat.VERSION:
            return tuple(o for o in options if o[0] not in _unknown)
    return ()


def compile_options(platform: str) -> Any:
    opts = _compat.CompileOptions()
    opts.env_option_overrides = list(options_for(platform))
    return opts


def forget_unknown(message: str) -> bool:
    """Whether a compile failed only for an option this release lacks; it is not given again."""
    if "No such compile option" not in message:
        return False
    lacking = {name for row in _TABLE for name, _ in row[2] if name in message} - _unknown
    _unknown.update(lacking)
    return bool(lacking)
