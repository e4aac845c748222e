"""Python's own control flow in a function under `jit`: loops and branches on traced values.

`converted(f)` is f with its control flow rewritten (`_source`, `_names`, `_jumps`, `_rewrite`) to
calls of the operators below. These decide while tracing: what is known in Python stays Python's,
what is not becomes `cond`, `fori_loop` or `while_loop`.
"""

from typing import Any

from lazynp.transforms.control._absent import absent, equals, present
from lazynp.transforms.control._calls import (
    PURE,
    bounds_only,
    call,
    call_or_none,
    converted,
    is_rewritten,
    is_users,
    transplanted,
    wrappers,
)
from lazynp.transforms.control._choice import (
    and_,
    assert_,
    branch,
    chain,
    choose,
    not_,
    or_,
    result,
    tested,
)
from lazynp.transforms.control._counted import counted
from lazynp.transforms.control._handlers import catches, catching, caught, depth, surely
from lazynp.transforms.control._known import arithmetic, augmented, unary
from lazynp.transforms.control._laid import refuse_unlaid
from lazynp.transforms.control._loops import COUNT, for_, while_
from lazynp.transforms.control._matching import is_sequence
from lazynp.transforms.control._membership import within
from lazynp.transforms.control._messages import message, percent, raised, said
from lazynp.transforms.control._modular import modular
from lazynp.transforms.control._names import binds, jumps, names
from lazynp.transforms.control._numbers import STANDING
from lazynp.transforms.control._places import changed, kept_inside, own
from lazynp.transforms.control._plainer import plainer
from lazynp.transforms.control._printing import text, written
from lazynp.transforms.control._records import Record, closed, opened
from lazynp.transforms.control._recursion import TooLong
from lazynp.transforms.control._reductions import reduced, reduced_or_none, summed
from lazynp.transforms.control._seeded import left_behind
from lazynp.transforms.control._sequences import elements, sequence
from lazynp.transforms.control._sharing import refuse_merged, same
from lazynp.transforms.control._source import (
    Door,
    Front,
    front_of,
    inner_codes,
    plain_of,
    whole_tree,
)
from lazynp.transforms.control._state import (
    CannotStage,
    fresh,
    load,
    operators,
    pythons,
    session,
    undecided,
    user_line,
)
from lazynp.transforms.control._tables import cut, item, place
from lazynp.transforms.control._trees import copied


class _Operators:
    """The namespace of the rewritten code."""


for _function in (
    absent, and_, arithmetic, assert_, augmented, branch, call, call_or_none, catches, catching,
    caught, chain, changed, choose, counted, cut, depth, elements, equals, for_, fresh, is_sequence,
    item, load, message, modular,
    not_, or_, own, percent, present, raised, reduced, reduced_or_none, result, said, same,
    sequence, summed, surely, tested, text, unary, while_, within, written,
):  # fmt: skip
    _made: Any = staticmethod(_function)  # type: ignore[arg-type]
    setattr(_Operators, _function.__name__, _made)
operators.append(_Operators)

__all__ = [
    "COUNT", "CannotStage", "Door", "Front", "PURE", "Record", "STANDING", "TooLong", "binds",
    "bounds_only", "changed", "closed", "converted", "copied", "fresh", "front_of", "inner_codes",
    "is_rewritten", "is_users", "jumps", "kept_inside", "left_behind", "names", "opened", "place",
    "plain_of", "plainer", "pythons", "refuse_merged", "refuse_unlaid", "session",
    "transplanted", "undecided", "user_line", "whole_tree", "wrappers",
]  # fmt: skip
