"""Kept backward passes: what running a tape backwards recorded, replayed when a tape like it comes.

A function that is differentiated again usually does the same operations, so its tape has the same
templates in the same wiring. The second such tape is run backwards while staging, and what that
records is kept: operations, with places for what the tape read and for the cotangents. From then on
each tape like it costs one look into a table and one node for each operation.

Start indices that are known decide how cotangents are added up (`_sums`), so they are constants of
a kept program, and part of its key. Everything else that has a value is an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, begin, new_array
from lazynp._config import config
from lazynp._fronts import BUILT, fastpath
from lazynp._memo import Memo
from lazynp._node import ARGS, OP, VALUE, Node, aval_of_node
from lazynp._quiet import quiet_result
from lazynp._recorder import inside_operation, local
from lazynp._sequences import Wiring, last_reads, steps_of
from lazynp._signals import let_through
from lazynp._trace import staging
from lazynp._values import there, watched
from lazynp.transforms._sums import Sums, fuses
from lazynp.transforms._tape import FIXED, Entry, LinearTracer, expanded, is_index
from lazynp.transforms._templates import chosen, known_by

_LONGEST = 1 << 15  # items of a tape: longer ones are not kept
_HELD = 1 << 18  # operations of all kept programs together
_CHUNK = 128  # operations after which values that nothing more reads are let go
_SMALL = 1 << 12  # bytes of an array that may be a constant of a program

Run = Callable[..., list[Node | None]]


class _Programs(Memo[Any, Any]):
    """Kept programs by key; None: unfit. Bounded by their operations and keys."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        super().__init__("kept derivatives", 1 << 10, costly=True)
        self.held = 0

    def put(self, key: Any, value: Any) -> Any:
        size = len(key) + (0 if value is None else value.size)
        if size > _HELD:
            return None
        if self.held + size > _HELD:
            self.clear()
            _seen.clear()  # or each call of too many that alternate would make its program again
        self.held += size
        return super().put(key, value)

    def clear(self) -> None:
        self.held = 0
        super().clear()


_programs = _Programs()
_seen: Memo[int, bool] = Memo("derivatives seen once", 1 << 12)  # by the hash of their key


def backward(program: Any, cts: Sequence[Array | None], run: Run) -> list[Array | None] | None:
    """The cotangents of the inputs of a tangent program; None if nothing is kept for it.

    run: runs entries backwards.
    """
    tape = program.written
    if len(tape) > _LONGEST or local.recorder.staging or config.debug_nans or watched():
        return None
    given = [None if ct is None else ct._read() for ct in cts]
    found = _key(program, given)
    if found is None:
        return None
    key, read = found
    try:
        made = _programs.get(key, _programs)
    except TypeError:  # parameters that have no hash
        return None
    if made is _programs:
        mark = hash(key)
        if mark not in _seen:
            _seen.put(mark, True)
            return None
        made = _programs.put(key, _build(program, read, given, run))
    return None if made is None else made.run([*read, *given])


def _key(program: Any, cts: Sequence[Node | None]) -> tuple[Any, list[Node]] | None:
    """What two tapes have in common if one kept program serves both, and what the tape reads."""
    read: list[Node] = []
    key: list[Any] = [fuses()]
    tape = program.written
    at = 0
    while at < len(tape):
        at = _add_templates(tape, at, key, read)
        if at < len(tape) and not _add_entry(tape[at], key, read):
            return None
        at += 1
    for tracer in (*program.inputs, *program.outputs):
        key.append(tracer.index if type(tracer) is LinearTracer else None)
    for ct in cts:
        aval = None if ct is None else known_by(ct)
        if ct is not None and aval is None:
            return None
        key.append(aval)
    return tuple(key), read


def _in_python(tape: Sequence[Any], at: int, key: list[Any], read: list[Node]) -> int:
    """Add applied templates, from this place on; the place of the first item that is none."""
    while at < len(tape) and type(tape[at]) is tuple:
        template, tangent, _, _, *operands = tape[at]
        nodes = operands[template.moving :]
        key += template, tangent.index
        for t in operands[: template.moving]:
            key.append(t.index)
        read += nodes
        for i in template.starts:
            key.append(_start(nodes[i]))
        at += 1
    return at


def _add_templates(tape: list[Any], at: int, key: list[Any], read: list[Node]) -> int:
    """`_in_python`, in C if it was built."""
    return fastpath.add_templates(tape, at, key, read) if BUILT else _in_python(tape, at, key, read)


def _add_entry(entry: Entry, key: list[Any], read: list[Node]) -> bool:
    """Add an entry that no template made. False if an outer transformation interprets it, or if its
    rule may call a function of the user's.
    """
    if entry.primitive.kind in ("call", "host"):
        return False
    key += Entry, entry.primitive, tuple(entry.params.items()), len(entry.operands)
    for a in entry.operands:
        if type(a) is LinearTracer:
            key.append(a.index)
            continue
        aval = known_by(a)
        if aval is None:
            return False
        key.append(aval)
        if is_index(aval):
            key.append(_start(a))
        read.append(a)
    key += [t.index for t in entry.outs]
    return True


def _start(node: Node) -> int | None:
    """The value of an index, if it is known as the sums of cotangents want it."""
    value = node[VALUE]
    return int(value) if isinstance(value, np.integer) else None


def _build(program: Any, read: list[Node], cts: Sequence[Node | None], run: Run) -> Any:
    """The kept program of this tape; None if it cannot be kept, or if a rule raises."""
    fused = fuses()
    with staging("a derivative") as recorder:
        recorder.fuses = fused
        atoms = []
        for node in read:
            known = is_index(aval_of_node(node)) and isinstance(node[VALUE], np.integer)
            atoms.append(node if known else recorder.input(aval_of_node(node)))
        given = [None if ct is None else recorder.input(aval_of_node(ct)) for ct in cts]
        try:
            entries = expanded(_substituted(program.written, atoms))
            found = run(entries, program.inputs, program.outputs, given, Sums())
            if recorder.handles or recorder.aliases:
                return None
            return _Program([*atoms, *given], recorder.pending, found)
        except _Unfit:
            return None
        except Exception as error:  # the rules will raise it again where it belongs
            let_through(error)
            return None


def _substituted(tape: Sequence[Any], atoms: Sequence[Node]) -> list[Any]:
    """The tape with other nodes in place of those that it reads."""
    made: list[Any] = []
    rest = iter(atoms)
    for item in tape:
        if type(item) is tuple:
            first = FIXED + item[0].moving
            made.append((*item[:first], *[next(rest) for _ in item[first:]]))
        else:
            operands = [a if type(a) is LinearTracer else next(rest) for a in item.operands]
            made.append(Entry(item.primitive, operands, item.params, item.outs, item.where))
    return made


class _Unfit(Exception):
    """Host code, or something from outside."""


class _Program:
    """Operations on inputs. Places count constants, then the inputs that are read, then results."""

    __slots__ = ("constants", "read", "chunks", "outs", "size", "steps", "largest")

    def __init__(
        self, inputs: Sequence[Any], pending: Sequence[Node], outs: Sequence[Node | None]
    ) -> None:
        nodes = _reached(pending, outs)
        made = {id(n) for n in nodes}
        of_inputs = {id(x): i for i, x in enumerate(inputs) if x is not None and x[VALUE] is None}
        read: dict[int, Any] = {}
        constants: dict[int, Any] = {}
        for a in [*(a for n in nodes for a in n[ARGS]), *(n for n in outs if n is not None)]:
            if id(a) in of_inputs:
                read[id(a)] = a
            elif id(a) not in made:
                _check_constant(a)
                constants[id(a)] = a
        self.constants = list(constants.values())
        self.read = chosen([of_inputs[i] for i in read])
        places = {id(a): i for i, a in enumerate([*self.constants, *read.values(), *nodes])}
        self.outs = [None if n is None else places[id(n)] for n in outs]
        self.size = len(nodes)
        first = len(places) - len(nodes)
        wiring = [(n[OP], [places[id(a)] for a in n[ARGS]]) for n in nodes]
        last = last_reads(wiring, first, {i for i in self.outs if i is not None})
        self.chunks = _chunks(wiring, last)
        self.steps = steps_of(wiring, last)
        of_nodes = [_bytes(n) for n in [*read.values(), *nodes]]
        self.largest = max(of_nodes, default=0)  # bytes

    def run(self, inputs: list[Any]) -> list[Array | None]:
        """Run the operations, or record them; the cotangents of the tape's inputs."""
        recorder = local.recorder
        values: list[Any] = [*self.constants, *self.read(inputs)]
        if BUILT and self.largest <= recorder.policy.largest:
            found = recorder.backend.attempt(_run_now, self, values)
            if found is not None:
                return found
        with inside_operation():
            code, offset = local.where  # type: ignore[misc]
            for operations, done in self.chunks:
                pending = recorder.pending
                for op, operands in operations:
                    node = [op, operands(values), None, code, offset]
                    pending.append(node)
                    values.append(node)
                for i in done:
                    values[i] = None
                begin(recorder)
        return [None if i is None else new_array(values[i]) for i in self.outs]


def _reached(pending: Sequence[Node], outs: Sequence[Node | None]) -> list[Node]:
    """The pending nodes that the results need."""
    wanted = {id(n) for n in outs if n is not None}
    nodes: list[Node] = []
    for node in reversed(pending):
        if id(node) in wanted:
            op = node[OP]
            if op.host or op.primitive.kind in ("host", "call"):
                raise _Unfit
            wanted.update([id(a) for a in node[ARGS] if type(a) is list])
            nodes.append(node)
    nodes.reverse()
    return nodes


def _bytes(node: Node) -> int:
    """The bytes of a node's largest result."""
    op = node[OP]
    if op is not None and op.primitive.multiple_results:
        return max([a.nbytes for a in op.aval])
    return aval_of_node(node).nbytes


def _check_constant(a: Any) -> None:
    if type(a) is not list or isinstance(a[VALUE], np.generic):
        return
    if not isinstance(a[VALUE], np.ndarray) or a[VALUE].nbytes > _SMALL:
        raise _Unfit


def _run_now(program: _Program, nodes: list[Any]) -> list[Array | None] | None:
    """Run the operations by NumPy, into memory that is free; None if a value is not there."""
    first = len(nodes)
    quiet = local.recorder.quiet
    values = quiet_result(quiet, fastpath.run_steps, program.steps, nodes)
    if values is None:  # C does not know how to get one
        values = [there(n) if type(n) is list else n for n in nodes]
        if any([v is None for v in values]):
            return None
        values = quiet_result(quiet, fastpath.run_steps, program.steps, values)
    found: list[Array | None] = []
    for i in program.outs:
        if i is None or i < first:
            found.append(None if i is None else new_array(nodes[i]))
        else:
            aval = program.steps[i - first][0].aval
            found.append(new_array([None, None, values[i], None, aval]))
    return found


def _chunks(wiring: Wiring, last: dict[int, int]) -> list[Any]:
    """The operations in pieces, each with the places that nothing reads after it."""
    made: list[tuple[list[Any], list[int]]] = []
    for begins in range(0, len(wiring), _CHUNK):
        piece = wiring[begins : begins + _CHUNK]
        made.append(([(op, chosen(places)) for op, places in piece], []))
    for place, i in last.items():
        made[i // _CHUNK][1].append(place)
    return made
