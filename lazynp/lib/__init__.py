"""`numpy.lib`."""

from numpy.lib import (
    Arrayterator,
    NumpyVersion,
    add_docstring,
    add_newdoc,
    array_utils,
    format,
    introspect,
    mixins,
    npyio,
    tracemalloc_domain,
)

from lazynp import emath as scimath
from lazynp.lib import stride_tricks

__all__ = [
    "Arrayterator", "NumpyVersion", "add_docstring", "add_newdoc", "array_utils", "format",
    "introspect", "mixins", "npyio", "scimath", "stride_tricks", "tracemalloc_domain",
]  # fmt: skip
