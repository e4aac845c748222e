"""Tells the fast path in C what it must know of lazynp. Until then, its fronts forward every
call.
"""

from __future__ import annotations

import numpy as np

from lazynp import _errstate
from lazynp._array import VIEWED, Array, NDArray, Scalar
from lazynp._avals import Aval, aval_of, interned
from lazynp._config import config
from lazynp._fronts import BUILT, fastpath
from lazynp._node import LENT, Op
from lazynp._stale import LARGE, note, write_lock
from lazynp._strides import in_common_order
from lazynp._trace import Recorder, internal, local, staged
from lazynp._views import Basic
from lazynp.functions._scalars import AVALS


def configure() -> None:
    if BUILT:
        fastpath.configure(
            Array=Array, NDArray=NDArray, Scalar=Scalar, Recorder=Recorder, Op=Op, Aval=Aval,
            Basic=Basic, config=config, local=local, staged=staged, avals=AVALS,
            errstate=vars(_errstate), viewed=VIEWED, lent=LENT, internal=internal,
            in_common_order=in_common_order, note=note, write_lock=write_lock, large=LARGE,
            aval_of=aval_of, avals_by_type=interned, no_value=np._NoValue,  # type: ignore[attr-defined]
        )  # fmt: skip
