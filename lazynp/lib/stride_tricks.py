"""`numpy.lib.stride_tricks`, native."""

import numpy.lib.stride_tricks as _numpy

from lazynp.functions._dispatch import make_overridable as _make_overridable
from lazynp.functions._strided import as_strided, sliding_window_view

__all__ = ["as_strided", "sliding_window_view"]

_make_overridable(globals(), _numpy)
