"""`numpy.lib.stride_tricks`, native."""

from lazynp.functions._strided import as_strided, sliding_window_view

__all__ = ["as_strided", "sliding_window_view"]
