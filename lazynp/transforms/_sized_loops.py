"""Loops and branches whose sizes change, or are decided in their bodies.

Axes of a carry that have one size at the start are a class. It is *kept* if the body returns all of
it with that size: in the body, it is the outer one. Else it is *carried*: a variable of the body.
`Classes` finds out which, by tracing the body again until the types settle. What no single program
can hold becomes `open_loop` or `open_cond`: `_sized_runs` runs them round by round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynp._array import Array, NDArray, new_array, new_scalar
from lazynp._avals import Aval, aval_of
from lazynp._dimensions import LENGTH, Table, in_body, new_axis, table
from lazynp._extents import surely
from lazynp._jaxpr import Jaxpr
from lazynp._primitive import Primitive
from lazynp._recorder import local
from lazynp._sizes import Atom, Dim, Size, smallest, variable
from lazynp._trace import staging
from lazynp._tree import Structure
from lazynp.transforms._branches import Merged, staged_function
from lazynp.transforms._sized_runs import is_open, run_branch, run_loop
from lazynp.transforms._sized_transforms import open_cond, open_loop
from lazynp.transforms._sizing import Own, Required, atoms_of
from lazynp.transforms._stack import Flat, argument_node, kind_of, name_of, telling_why
from lazynp.transforms._stage import Program, Ranges, finish, run_jaxpr, stage_closed
from lazynp.transforms._static import final

Place = tuple[int, int]  # a leaf, and one of its axes
Type = tuple[Any, Any, bool]  # shape, dtype, weak


def may_decide() -> bool:
    """Whether the integers of bodies may be sizes here: where those around them may, and outside of
    traced functions.
    """
    return table() is not None or not local.recorder.staging


# -- staging ---------------------------------------------------------------------------------------


class Staged:
    """A staged body, and the sizes that it has of its own."""

    def __init__(
        self, program: Program, flat: Any, own: Own, required: Sequence[Required] = ()
    ) -> None:
        """required: of sizes that are known before it runs, which is then checked."""
        self.program, self.flat, self.own, self.required = program, flat, own, required

    def settled(self) -> Staged:
        """Said of the body that is used, not of one that was traced to find the types."""
        outer = table()
        if outer is not None:
            outer.required.extend(self.required)
        return self

    @property
    def outs(self) -> Sequence[Aval]:
        """The types of the results."""
        return self.program.jaxpr.out_avals[: self.flat.count]

    @property
    def opens(self) -> bool:
        """Whether no single program can hold it."""
        own = self.own
        return bool(own.variables or own.made or own.required) or is_open(self.program.jaxpr)


def staged_body(
    function: Callable[..., Any], structure: Structure, avals: Sequence[Aval], kinds: Sequence[Any],
    what: str, ranges: Ranges | None = None, variables: Sequence[Size] = (),
    call: Callable[..., list[Any]] | None = None, rounds: Dim = 1,
) -> Staged:  # fmt: skip
    """Stage a body whose integers may be sizes. variables: sizes in `avals` that are its own. call:
    applies the function to handles. rounds: how often it runs.
    """
    flat = Flat(function, structure)
    with telling_why(), staging(f"{what} {name_of(function)}") as recorder:
        recorder.sizes = sizes = Table()
        held = [new_axis(v, recorder) for v in variables]
        inputs = list(map(recorder.input, avals))
        recorder.ranges.update({id(inputs[i]): found for i, found in (ranges or {}).items()})
        handles = [
            new_scalar(n) if k is not NDArray else new_array(n)
            for n, k in zip(inputs, kinds, strict=True)
        ]
        leaves = flat(handles) if call is None else call(flat, handles)
        nodes = [argument_node(x) for x in leaves]
        made = [atom.place._node for atom in sizes.made]
        given = [*(node for _, node in held), *inputs]
        program = finish(recorder, given, [*nodes, *made], list(map(kind_of, leaves)))
    atoms = tuple([s.variables()[0] for s in variables])
    inner, outer = {*atoms, *sizes.made}, table()
    required, known = [], []
    for item in sizes.required:
        found: set[Atom] = set()
        atoms_of(item[:2], found)
        if outer is not None and found.isdisjoint(inner):
            size, told, error = item
            known.append((smallest(rounds, 1) * size, told, in_body(error)))
        else:
            required.append(item)
    return Staged(program, flat, Own(atoms, tuple(sizes.made), tuple(required)), known)


def staged_for(
    function: Any, structure: Structure, avals: Sequence[Aval], slices: Sequence[Aval], kinds: Any,
    what: str, ranges: Ranges | None, preserve: bool | None, classes: Classes, rounds: Dim = 1,
) -> tuple[Staged, list[Aval]]:  # fmt: skip
    """Stage the body of a loop for a carry of these types, and what it scans over. Returns the
    types of the carry in the body, too.
    """
    if preserve is None:
        given = list(avals)
        program, flat = staged_function(function, structure, [*given, *slices], kinds, what, ranges)
        return Staged(program, flat, Own()), given
    while True:
        given = classes.types(avals)
        try:
            body = staged_body(
                function, structure, [*given, *slices], kinds, what, ranges, classes.variables,
                rounds=rounds,
            )  # fmt: skip
        except (TypeError, ValueError, IndexError) as error:
            # a number at first, that the body cannot take for one
            if preserve or not classes.carry_all():
                if not preserve and type(error) is ValueError:  # of sizes that do not mix
                    final(error)
                raise
            continue
        return body, given


# -- classes of sizes ------------------------------------------------------------------------------


class Classes:
    """The axes of a carry, by their sizes: which are kept, and which carried."""

    def __init__(self, start: Sequence[Aval], preserve: bool) -> None:
        self.start, self.preserve = list(start), preserve
        groups: dict[Any, list[Place]] = {}
        for leaf, aval in enumerate(start):
            for axis, n in enumerate(aval.shape):
                if not preserve or type(n) is Size:
                    groups.setdefault(n if preserve else (leaf, axis), []).append((leaf, axis))
        self.groups = list(groups.values())
        self.carried: dict[int, Size] = {}  # by number of the group
        for k in range(len(self.groups)):
            if not preserve and type(self._size(k)) is Size:
                self._carry(k)

    def _size(self, k: int) -> Dim:
        leaf, axis = self.groups[k][0]
        return self.start[leaf].shape[axis]

    def _carry(self, k: int) -> None:
        self.carried[k] = variable(f"d{len(self.carried) + 1}")

    @property
    def variables(self) -> list[Size]:
        return list(self.carried.values())

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the variables are sizes at the start."""
        return tuple([self.groups[k][0] for k in self.carried])

    def types(self, avals: Sequence[Aval]) -> list[Aval]:
        """The types in the body."""
        shapes: list[list[Any]] = [list(a.shape) for a in avals]
        for k, size in self.carried.items():
            for leaf, axis in self.groups[k]:
                shapes[leaf][axis] = size
        return [aval_of(tuple(s), a.dtype, a.weak) for s, a in zip(shapes, avals, strict=True)]

    def changed(self, outs: Sequence[Aval]) -> bool:
        """Whether the body returns other sizes than were thought to be kept; these are carried from
        now on.
        """
        before = len(self.carried)
        for k, group in enumerate(self.groups):
            fits = all(outs[i].ndim == self.start[i].ndim for i, _ in group)
            if k not in self.carried and fits:
                if not all(surely(outs[i].shape[a] == self._size(k)) for i, a in group):
                    self._carry(k)
        return len(self.carried) > before

    def carry_all(self) -> bool:
        """Carry all axes; returns whether that changes anything."""
        before = len(self.carried)
        for k in range(len(self.groups)):
            if k not in self.carried and not self.preserve:
                self._carry(k)
        return len(self.carried) > before

    def check(self, what: str, outs: Sequence[Aval]) -> list[Aval]:
        """The types that the body returns, with the variables in place of what they become."""
        shapes: list[list[Any]] = [list(a.shape) for a in outs]
        for k, size in self.carried.items():
            (first, along), *others = self.groups[k]
            if any(len(shapes[i]) != self.start[i].ndim for i, _ in self.groups[k]):
                continue
            for leaf, axis in others:
                if not surely(outs[leaf].shape[axis] == outs[first].shape[along]):
                    raise TypeError(
                        f"{what}: leaves {first} and {leaf} of the carry have one size at the start"
                        f" ({self.start[first]} and {self.start[leaf]}), but the body returns "
                        f"{outs[first]} and {outs[leaf]}; with preserve_dimensions=False, their "
                        "sizes are carried each for itself"
                    )
            for leaf, axis in self.groups[k]:
                shapes[leaf][axis] = size
        return [aval_of(tuple(s), a.dtype, a.weak) for s, a in zip(shapes, outs, strict=True)]

    def results(self, given: Sequence[Aval], outs: Sequence[Aval]) -> tuple[list[Aval], list[Any]]:
        """The types outside, and for each size that the loop decides its variable and place."""
        shapes: list[list[Any]] = [list(a.shape) for a in given]
        new: list[Any] = []
        for k, size in self.carried.items():
            group = self.groups[k]
            leaf, axis = group[0]
            same = all(surely(outs[i].shape[a] == size) for i, a in group)
            found = self._size(k)
            if not same:
                found = variable(f"size of result {leaf}")
                new.append((found, (leaf, axis)))
            for i, a in group:
                shapes[i][a] = found
        return [aval_of(tuple(s), a.dtype, a.weak) for s, a in zip(shapes, given)], new


# -- loops -----------------------------------------------------------------------------------------


def opened_loop(
    what: str, body: Staged, test: Staged | None, classes: Classes, given: Sequence[Aval],
    start: Sequence[Array], xs: Sequence[Array], slices: Sequence[Aval], length: Dim | None,
    reverse: bool,
) -> tuple[list[Array], list[Array]]:  # fmt: skip
    """Run a loop round by round, or record that. given: the types of the carry in the body. Returns
    the last carry, and the stacked results.
    """
    n, v, count = len(start), len(classes.variables), len(start) + len(slices)
    merged = Merged([s.program for s in (body, test) if s is not None], v + count)
    written = merged.written
    others = [i for i in range(len(merged.avals)) if i not in written]
    consts, w, m = len(others), len(written), len(body.own.made)
    ys = body.outs[n:]

    def run_body(values: list[Array]) -> list[Array]:
        outs = run_jaxpr(merged.jaxprs[0], ordered(values))
        last = len(outs) - w - m
        return [*outs[:n], *outs[last + m :], *outs[n:last], *outs[last : last + m]]

    def run_test(values: list[Array]) -> list[Array]:
        outs = run_jaxpr(merged.jaxprs[1], ordered(values))
        return outs[: len(outs) - w]

    def ordered(values: list[Array]) -> list[Array]:
        sizes, rest = values[:v], values[v:]
        captured = dict(zip(others, rest[:consts], strict=True))
        captured.update(zip(written, rest[consts + n : consts + n + w], strict=True))
        state = rest[consts : consts + n]
        return [*sizes, *state, *rest[consts + n + w :],
                *(captured[i] for i in range(len(merged.avals)))]  # fmt: skip

    avals = [*[LENGTH] * v, *(merged.avals[i] for i in others), *classes.types(given),
             *(merged.avals[i] for i in written)]  # fmt: skip
    last, new = classes.results(given, body.outs)
    stacked = [aval_of((0 if length is None else length, *a.shape), a.dtype) for a in ys]
    outs = [*last, *(merged.avals[i] for i in written), *stacked]
    params = {
        "body": stage_closed(run_body, [*avals, *slices]), "own": body.own,
        "cond": None if test is None else stage_closed(run_test, avals),
        "cond_own": None if test is None else test.own,
        "consts": consts, "carry": n + w, "length": length, "reverse": reverse,
        "places": classes.places, "decided": tuple([place for _, place in new]),
        "outs": _types(new, outs), "through": (),
    }  # fmt: skip
    captured = merged.captured
    operands = [*(captured[i] for i in others), *start, *(captured[i] for i in written), *xs]
    results = _decided(open_loop, run_loop, operands, params, [size for size, _ in new], what)
    merged.write_back(results[n : n + w])
    return results[:n], results[n + w :]


def _types(new: Sequence[Any], outs: Sequence[Aval]) -> tuple[Type, ...]:
    return tuple([(a.shape, a.dtype, a.weak) for a in (*[LENGTH] * len(new), *outs)])


def _decided(
    primitive: Primitive, run: Any, operands: list[Array], params: dict[str, Any],
    new: Sequence[Size], what: str,
) -> list[Array]:  # fmt: skip
    """Run it, or record it where a function is traced; there, it defines the sizes in `new`."""
    sizes = table()
    if sizes is None:
        return run(params, operands, {}, what)[len(new) :]
    sizes.opens = True
    results = primitive(*operands, **params)
    for size, x in zip(new, results, strict=False):
        (atom,) = size.variables()
        define(atom, x, sizes)
    return list(results[len(new) :])


def define(atom: Atom, x: Array, sizes: Table) -> None:
    """Let an integer of the program be the value of a size."""
    node = x._read()
    atom.place = new_scalar(node)
    sizes.made.append(atom)
    sizes.by_node[id(node)] = Size({(atom,): 1})
    sizes.kept.append(node)


# -- branches --------------------------------------------------------------------------------------


def merged_types(staged: Sequence[Staged]) -> tuple[list[Aval], list[Any]] | None:
    """The types of what branches return, and the sizes that they decide, with their places. None if
    their types differ by more than sizes.
    """
    firsts = staged[0].outs
    new: dict[Any, tuple[Size, Place]] = {}
    avals = []
    for i, first in enumerate(firsts):
        others = [s.outs[i] for s in staged]
        if any(a.ndim != first.ndim or a.dtype != first.dtype for a in others):
            return None
        shape = []
        for axis in range(first.ndim):
            dims = tuple([a.shape[axis] for a in others])
            if all(surely(d == dims[0]) for d in dims) and not _is_own(dims[0], staged[0]):
                shape.append(dims[0])
                continue
            if all(type(d) is not Size for d in dims):
                return None
            if dims not in new:
                new[dims] = variable(f"size of result {i}"), (i, axis)
            shape.append(new[dims][0])
        avals.append(aval_of(tuple(shape), first.dtype, all(a.weak for a in others)))
    return avals, list(new.values())


def _is_own(n: Dim, body: Staged) -> bool:
    """Whether a size is known only in the body."""
    return type(n) is Size and not set(n.variables()).isdisjoint(body.own.made)


def opened_branches(
    what: str, index: Array, values: Sequence[Array], staged: Sequence[Staged],
    types: tuple[list[Aval], list[Any]],
) -> list[Array]:  # fmt: skip
    """Run the chosen branch, or record that. Returns the results."""
    avals, new = types
    merged = Merged([s.program for s in staged], len(values))
    w = len(merged.written)

    def ordered(jaxpr: Jaxpr, made: int) -> Jaxpr:
        def run(xs: list[Array]) -> list[Array]:
            outs = run_jaxpr(jaxpr, xs)
            last = len(outs) - w - made
            return [*outs[:last], *outs[last + made :], *outs[last : last + made]]

        return stage_closed(run, jaxpr.in_avals)

    outs = [*avals, *(merged.avals[i] for i in merged.written)]
    params = {
        "branches": tuple([
            ordered(j, len(s.own.made)) for j, s in zip(merged.jaxprs, staged, strict=True)
        ]),
        "owns": tuple([s.own for s in staged]), "decided": tuple([place for _, place in new]),
        "outs": _types(new, outs), "through": (),
    }  # fmt: skip
    operands = [index, *values, *merged.captured]
    results = _decided(open_cond, run_branch, operands, params, [size for size, _ in new], what)
    merged.write_back(results[len(avals) :])
    return results[: len(avals)]
