"""Tells the fast path in C what it must know of lazynp. Until then, its fronts forward every
call.
"""

from __future__ import annotations

import collections

import numpy as np

from lazynp._array import VIEWED, Array, NDArray, Scalar
from lazynp._avals import Aval, aval_of, interned
from lazynp._backends import EAGER, FIRST
from lazynp._config import config
from lazynp._cutsites import LARGE as STAGE
from lazynp._errstate import noticed, tell
from lazynp._flush import large_update
from lazynp._fronts import BUILT, fastpath
from lazynp._memo import BOUND, State, state
from lazynp._node import LENT, Op
from lazynp._policy import LoopPolicy
from lazynp._positions import internal
from lazynp._quiet import WARNED, errors, heard
from lazynp._recorder import TICK, GivesWay, Recorder, local, staged
from lazynp._stale import LARGE, note, write_lock
from lazynp._steps import Basic, Field, Reshape, Transpose
from lazynp._strides import in_common_order, order_of_strides
from lazynp._views import same
from lazynp.functions._eager import FEW, FILLED, undispatched
from lazynp.functions._recording import Entry
from lazynp.functions._records import dtype_of_records
from lazynp.functions._scalars import AVALS
from lazynp.functions._subclass import Subclass


def configure() -> None:
    if BUILT:
        fastpath.configure(
            Array=Array, NDArray=NDArray, Subclass=Subclass, Scalar=Scalar, same=same,
            Recorder=Recorder, Policy=LoopPolicy,
            Op=Op, Entry=Entry, Aval=Aval, Basic=Basic, Field=Field, Transpose=Transpose,
            Reshape=Reshape, State=State,
            config=config, local=local, staged=staged, avals=AVALS, state=state, eager=EAGER,
            first=FIRST, viewed=VIEWED, lent=LENT, internal=internal,
            in_common_order=in_common_order, note=note,
            write_lock=write_lock, order_of_strides=order_of_strides, large_update=large_update,
            stage=STAGE, large=LARGE, bound=BOUND, few=FEW, filled=FILLED, tick=TICK,
            aval_of=aval_of, gives_way=GivesWay, heard=heard, tell=tell, noticed=noticed,
            errors=errors, warned=WARNED,
            avals_by_type=interned.table,
            no_value=np._NoValue,  # type: ignore[attr-defined]
            deque=collections.deque, records=dtype_of_records,
        )  # fmt: skip
        fastpath.take_kernels(
            (np.add, np.maximum, np.minimum, np.logical_or, np.logical_and),
            (
                undispatched(np.where), np.ndarray.cumsum, np.ndarray.mean,
                undispatched(np.linalg.norm),
            ),
        )  # fmt: skip
