"""Programs with sizes that the data decide: run in pieces.

A piece is what can run as one program once the sizes in it are known. After it, the integers that
are sizes in later pieces are read. A loop that changes sizes, and a branch that decides some, stand
between pieces: a `driver` runs their bodies, which are programs of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._dataclass import dataclass
from lazynp._extents import Numbers, mapped
from lazynp._flush import host_value
from lazynp._jaxpr import Eqn, Jaxpr, Literal, Var
from lazynp._memo import cached
from lazynp._node import is_interpreted, leaf
from lazynp._recorder import local
from lazynp._sizes import Atom
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._call import jit_call
from lazynp.transforms._direct import Earnings, once, runs_here
from lazynp.transforms._loop_at_once import LoopAtOnce
from lazynp.transforms._sized_program import Programs, SizedProgram, computing
from lazynp.transforms._sizing import Own, Required, atoms_in, atoms_of
from lazynp.transforms._stack import node_of
from lazynp.transforms._stage import literal, run_jaxpr

Values = dict[Atom, int]

Driver = Callable[[dict[str, Any], list[Array], Values, str], list[Array]]
DRIVERS: dict[str, Driver] = {}  # of what no program can hold, by the name of the primitive


def is_open(jaxpr: Jaxpr) -> bool:
    """Whether it contains a loop that changes sizes, or a branch that decides some."""
    return any(eqn.primitive.name in DRIVERS for eqn in jaxpr.eqns)


@dataclass
class _Piece:
    """Equations that run together, and what runs after them: drivers, and reading sizes."""

    jaxpr: Jaxpr  # its first inputs are variables that hold sizes
    held: list[Atom]
    atoms: list[Atom]
    after: list[Eqn]
    reads: list[tuple[Atom, Any]]

    def __post_init__(self) -> None:
        self.programs, self.earnings = Programs(self.jaxpr), Earnings(self.jaxpr)

    def call(self, values: Values, numbers: Any, taken: list[Array], name: str) -> list[Array]:
        """The results where the sizes have these values."""
        if not self.atoms:
            return list(jit_call(*taken, jaxpr=self.jaxpr, name=name))
        key = tuple([values[a] for a in self.atoms])
        held = [values[a] for a in self.held]
        if self.programs.first(key) and runs_here(self.jaxpr, taken):
            cost = self.programs.cost(key, numbers, held)
            if not self.earnings.leaves_room(cost):
                found = self.programs.once(numbers, held)
                if found is not None:
                    return once(found, taken)
        program = self.programs.exact(key, numbers, held)
        return self.earnings.call(program, key, taken, name)


class Pieces:
    """A jaxpr with sizes, cut where one must be read."""

    def __init__(self, jaxpr: Jaxpr, own: Own) -> None:
        first = len(jaxpr.outputs) - len(own.made)
        self.jaxpr, self.own, self.results = jaxpr, own, jaxpr.outputs[:first]
        self.places: dict[Atom, Any] = dict(zip(own.made, jaxpr.outputs[first:], strict=True))
        self.maker: dict[Any, int] = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.outputs}
        self.levels: dict[int, int] = {}
        for i in range(len(jaxpr.eqns)):
            self._level(i)
        given = {*jaxpr.inputs}
        self.at_first = [
            (a, v) for a, v in self.places.items() if isinstance(v, Literal) or v in given
        ]
        self.pieces = [self._piece(k) for k in range(max(self.levels.values(), default=-1) + 1)]

    def _open(self, i: int) -> bool:
        return self.jaxpr.eqns[i].primitive.name in DRIVERS

    def _level(self, i: int) -> int:
        """The piece of an equation: after what decides its sizes, and after open operands."""
        if i not in self.levels:
            level, eqn = 0, self.jaxpr.eqns[i]
            for a in eqn.inputs:
                p = self.maker.get(a) if isinstance(a, Var) else None
                if p is not None:
                    level = max(level, self._level(p) + self._open(p))
            for atom in atoms_in(eqn):
                p = self.maker.get(self.places.get(atom))
                if p is not None and p != i:
                    level = max(level, self._level(p) + 1)
            self.levels[i] = level
        return self.levels[i]

    def _piece(self, level: int) -> _Piece:
        eqns = [e for i, e in enumerate(self.jaxpr.eqns) if self.levels[i] == level]
        after = [e for e in eqns if e.primitive.name in DRIVERS]
        inside = [e for e in eqns if e.primitive.name not in DRIVERS]
        made = {v for e in inside for v in e.outputs}
        here = {v for e in eqns for v in e.outputs}
        reads = [(a, v) for a, v in self.places.items() if v in here]
        later = [e for i, e in enumerate(self.jaxpr.eqns) if self.levels[i] > level]
        wanted = {a for e in (*after, *later) for a in e.inputs}
        wanted.update(self.results, (v for _, v in reads))
        outs = [v for e in inside for v in e.outputs if v in wanted]
        holds = dict(zip(self.jaxpr.inputs, self.own.variables, strict=False))
        taken = dict.fromkeys(
            a for e in inside for a in e.inputs if isinstance(a, Var) and a not in made
        )
        held = [v for v in taken if v in holds]
        rest = [v for v in taken if v not in holds]
        atoms: set[Atom] = {holds[v] for v in held}
        jaxpr = Jaxpr([*held, *rest], inside, outs)
        atoms_of(jaxpr, atoms)
        ordered = sorted(atoms, key=lambda a: a.order)
        return _Piece(jaxpr, [holds[v] for v in held], ordered, after, reads)

    def run(self, args: Sequence[Array], values: Values, name: str) -> list[Array]:
        """args: after the variables. values: of the variables, and of sizes from outside; those
        that are read are added.
        """
        numbers = Numbers(values.__getitem__).__getitem__
        inputs, first = self.jaxpr.inputs, len(self.own.variables)
        env: dict[Any, Array] = dict(zip(inputs[first:], args, strict=True))
        for var, atom in zip(inputs, self.own.variables, strict=False):
            env[var] = number(values[atom])
        for atom, var in self.at_first:
            values[atom] = _int(literal(var) if isinstance(var, Literal) else env[var])
        waiting = _checked(self.own.required, values, numbers)

        def read(a: Any) -> Array:
            return literal(a) if isinstance(a, Literal) else env[a]

        for piece in self.pieces:
            if piece.jaxpr.eqns:
                taken = list(map(read, piece.jaxpr.inputs[len(piece.held) :]))
                outs = piece.call(values, numbers, taken, name)
                env.update(zip(piece.jaxpr.outputs, outs, strict=True))
            for eqn in piece.after:
                driver = DRIVERS[eqn.primitive.name]
                results = driver(eqn.params, list(map(read, eqn.inputs)), values, name)
                env.update(zip(eqn.outputs, results, strict=True))
            for atom, var in piece.reads:
                values[atom] = _int(env[var])
            waiting = _checked(waiting, values, numbers)
        return [_strong(read(a)) for a in self.results]


def _checked(required: Sequence[Required], values: Values, numbers: Any) -> list[Required]:
    """Raise the error of a size that must not be negative and is. Returns what is not known."""
    waiting = []
    for item in required:
        size, told, error = item
        atoms: set[Atom] = set()
        atoms_of((size, told), atoms)
        if atoms - values.keys():
            waiting.append(item)
        elif mapped(size, numbers) < 0:
            raise error(mapped(told, numbers))
    return waiting


def number(n: int) -> Array:
    """An int as an operand."""
    return new_array(leaf(np.int64(n)))


def _int(x: Array) -> int:
    return int(host_value(x._read()))


def _strong(x: Array) -> Array:
    return elementwise.convert(x, dtype=x.dtype) if x.aval.weak else x


@cached()
def pieces_of(jaxpr: Jaxpr, own: Own) -> Pieces:
    return Pieces(jaxpr, own)


def program_in_pieces(sized: SizedProgram) -> Pieces:
    """A traced function whose sizes the data decide."""
    if sized.pieces is None:
        own = Own(tuple(sized.axes), tuple(sized.made), tuple(sized.required))
        sized.pieces = Pieces(sized.raw, own)
    return sized.pieces


def decided_by_data(sized: SizedProgram) -> bool:
    """Whether more than a few scalars must be computed to know all sizes."""
    if sized.by_data is None:
        first = len(sized.raw.outputs) - len(sized.made)
        sized.by_data = is_open(sized.raw) or any(
            any(v.aval.ndim for eqn in computing(sized.raw, i).eqns for v in eqn.outputs)
            for i in range(first, len(sized.raw.outputs))
        )
    return sized.by_data


def eval_jaxpr(jaxpr: Jaxpr, *args: Any) -> list[Array]:
    """Record the equations of a jaxpr on these arguments, for whatever interprets these now."""
    if len(args) != len(jaxpr.inputs):
        raise TypeError(f"eval_jaxpr: {len(jaxpr.inputs)} arguments are required, got {len(args)}")
    arrays = [x if isinstance(x, Array) else new_array(node_of(x)) for x in args]
    raw, own = jaxpr.raw or (jaxpr, Own())
    first = len(own.variables)
    sized = jaxpr.raw is not None and not any(is_interpreted(x._read()) for x in arrays[:first])
    if not (sized and (is_open(raw) or not local.recorder.staging)):
        return run_jaxpr(jaxpr, arrays)
    values = dict(zip(own.variables, map(_int, arrays[:first]), strict=True))
    results = pieces_of(raw, own).run(arrays[first:], values, "eval_jaxpr")
    sizes: dict[Any, Any] = {v: size for size, v in jaxpr.sizes.items()}
    implicit = jaxpr.outputs[: len(jaxpr.outputs) - len(results)]
    return [*[number(sizes[v].at(values.__getitem__)) for v in implicit], *results]


# -- drivers ---------------------------------------------------------------------------------------


def run_loop(
    params: dict[str, Any], operands: list[Array], values: Values, name: str
) -> list[Array]:
    """A loop whose rounds are programs of their own: see `open_loop`."""
    consts, carry = params["consts"], params["carry"]
    own, places = params["own"], params["places"]
    body = pieces_of(params["body"], own)
    fixed, state = operands[:consts], operands[consts : consts + carry]
    xs, rows = operands[consts + carry :], []
    numbers = Numbers(values.__getitem__).__getitem__
    length = mapped(params["length"], numbers)
    tests = params["cond"], params["cond_own"]
    program = None if xs else _loop_at_once(params["body"], own, *tests, consts)
    if program is not None and runs_here(params["body"], operands):
        outs = program.call(operands, values, length, name)
        if outs is not None:
            return outs
    test = None if length is not None else pieces_of(params["cond"], params["cond_own"])
    rounds = 0
    order = range(1 << 62) if length is None else range(length)
    for i in order[:: -1 if params["reverse"] else 1]:
        inner = dict(values)
        for atom, (k, axis) in zip(own.variables, places, strict=True):
            inner[atom] = state[k].shape[axis]
        if test is not None:
            (going,) = test.run([*fixed, *state], dict(inner), name)
            if not bool(host_value(going._read())):
                break
        outs = body.run([*fixed, *state, *[_row(x, i) for x in xs]], inner, name)
        state, rounds = outs[:carry], rounds + 1
        rows.append(outs[carry:])
    if program is not None:
        program.tell(operands, values, length, rounds)
    found = [number(state[k].shape[axis]) for k, axis in params["decided"]]
    types = params["body"].out_avals[carry : len(params["body"].outputs) - len(own.made)]
    stacked = [
        _stacked([r[k] for r in rows][:: -1 if params["reverse"] else 1],
                 mapped(a.shape, numbers), a.dtype)
        for k, a in enumerate(types)
    ]  # fmt: skip
    return [*found, *state, *stacked]


@cached()
def _loop_at_once(
    body: Jaxpr, own: Own, test: Jaxpr | None, test_own: Own | None, consts: int
) -> LoopAtOnce | None:
    """The programs of a loop that keeps its sizes; None if it may have none."""
    if own.variables or is_open(body):
        return None
    if test is not None and (test_own is None or test_own.made or test_own.required):
        return None
    outer: set[Atom] = set()
    atoms_of(body, outer)
    if test is not None:
        atoms_of(test, outer)
    atoms_of(tuple([size for size, _, _ in own.required]), outer)
    ordered = sorted(outer - own.atoms(), key=lambda a: a.order)
    required = [size for size, _, _ in own.required]
    return LoopAtOnce(body, own.made, test, ordered, consts, required)


def _row(x: Array, i: int) -> Array:
    shape = x.shape[1:]
    row = shaping.slice(x, i, axes=(0,), sizes=(1,), strides=(1,), shape=(1, *shape))
    return shaping.reshape(row, shape=shape)


def _stacked(rows: list[Array], shape: tuple[int, ...], dtype: Any) -> Array:
    if not rows:
        return shaping.full(0, shape=(0, *shape), dtype=dtype)
    return shaping.concatenate(*[shaping.reshape(r, shape=(1, *r.shape)) for r in rows], axis=0)


def run_branch(
    params: dict[str, Any], operands: list[Array], values: Values, name: str
) -> list[Array]:
    """The chosen branch: see `open_cond`."""
    chosen = _int(operands[0])
    branch = pieces_of(params["branches"][chosen], params["owns"][chosen])
    outs = branch.run(operands[1:], dict(values), name)
    return [*[number(outs[k].shape[axis]) for k, axis in params["decided"]], *outs]
