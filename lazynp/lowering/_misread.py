"""Programs that XLA's library for products and sums (YNN) computes wrongly: compile them otherwise.

XLA fuses a sum with the product of matrices that it adds up, and with what the product reads
(0.10.2). Where the second factor is one number in every place, the fused kernel reads beyond that
number: `(x @ np.ones((64, 64))).sum()` gave another result each time. XLA may find out for itself
that a factor is one number, in the body of a loop or after a slice, so the compiled program is
looked at, not its text. Factors of other broadcasts are read rightly, but none of them is trusted.

Such a program is compiled again, with products and sums apart from each other. Its sums then take
three to five times as long.
"""

from __future__ import annotations

import re
from typing import Any

_APART = ("xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT")
_FUSION = re.compile(r" calls=(%[\w.-]+)[^\n]*__ynn_fusion")
_PRODUCT = re.compile(r" dot\(([^)]*)\)")
_NAME = re.compile(r"%[\w.-]+")
_SAFE = re.compile(r"(%[\w.-]+) = \S+ (?:parameter|dot)\(")


def recompiled(loaded: Any, text: str, options: Any) -> Any:
    """The options for compiling the text again, or None if the compiled program is right."""
    if '"stablehlo.dot_general"' not in text or '"stablehlo.reduce' not in text:
        return None
    if not any(is_misread(module.to_string()) for module in loaded.hlo_modules()):
        return None
    options.env_option_overrides = [*map(tuple, options.env_option_overrides), _APART]
    return options


def is_misread(optimised: str) -> bool:
    """Whether a product in a fusion reads more than the parameters of it and other products."""
    fusions = set(_FUSION.findall(optimised))
    for computation in optimised.split("\n}") if fusions else ():
        name = _NAME.search(computation)
        if name is None or name[0] not in fusions:
            continue
        factors = " ".join(_PRODUCT.findall(computation))
        if set(_NAME.findall(factors)) - set(_SAFE.findall(computation)):
            return True
    return False
