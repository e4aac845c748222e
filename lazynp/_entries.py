"""The entries of a node.

A node is a plain list, the cheapest object Python can build (a third of a slotted class with
`__init__`), laid out by the constants below:

    pending    [op, operands, None,  code, offset]
    evaluated  [op, plan,     value, code, offset]   plan: what computed it, for `explain`
    leaf       [None, None,   value, None, aval]     data, recorded by nobody
    tracer     [None, None,  tracer, None, aval]     a value as a transformation sees it
    input      [None, None,    None, None, aval]     of a function that is staged

`operands` is a tuple of nodes and Python scalars. `code, offset` is the position of the user's
instruction.
"""

from __future__ import annotations

from typing import Any

OP, ARGS, VALUE, CODE, OFFSET = range(5)
AVAL = 4  # of a leaf

# as the code of a leaf
LENT = "lent"  # its memory is lent to a program as an operand
BORROWED = "borrowed"  # its memory is that of a NumPy array, which its owner may write at any time

Node = list[Any]


def at(nodes: list[Node], place: int) -> Node | None:
    """The node at a place of a list that a destructor may empty at any time; None if there is none.

    (Not a slice of it: the collector may run in that, and CPython 3.11 goes on copying from memory
    that the list no longer has.)
    """
    try:
        return nodes[place]
    except IndexError:
        return None
