"""Indexing by arrays (`_index_arrays`) and by masks (`_masks`), which hold the rules."""

from __future__ import annotations

from lazynp.primitives._index_arrays import put, take
from lazynp.primitives._masks import put_mask, put_masked_values, take_mask

__all__ = ["put", "put_mask", "put_masked_values", "take", "take_mask"]
