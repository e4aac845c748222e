"""The cost of operations on the host, in microseconds: by NumPy, and in a compiled program.

The table is deterministic, so a program makes the same decisions each time it runs. The figures are
fits to `benchmarks/calibrate.py` on one machine. A factor of two does not change the decisions that
depend on them: when a form has cost as much by reference as compiling it would, and which
operations of a program are better left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazynp._avals import Aval
from lazynp._jaxpr import Atom, Eqn, Jaxpr, Rules, Var, jaxprs_in
from lazynp._sizes import Size

DISPATCH = 12.0  # of starting a compiled program, besides its operations
PIECE = 25.0  # of one more piece of a program: a dispatch, buffers in and out, lost fusion

CALL = 0.8  # of an operation by reference: the interpreter's step and NumPy's overhead
_FUSED = 0.1  # of an operation in a program
_PRODUCT = 1.0  # more for a product, by either
# Of a byte read or written. By reference every result goes to memory and comes back; in a program
# that fuses, most do not: 0.1e-5 for one operation more, but 0.4 to 1.2e-5 of what goes in and out.
MOVED, MOVED_FUSED = 1.2e-5, 0.25e-5
# The same for arrays larger than the caches.
_FAR = 1 << 18  # bytes
MOVED_FAR, MOVED_FUSED_FAR = 1.6e-5, 0.4e-5

_INSTRUCTION = 4e-6  # of a byte of the result of an operation that is an instruction of a kernel

# What an operation takes beyond moving its data: each primitive states its own. Nanoseconds, by
# NumPy and by XLA: of an element, or a function of what goes in that gives those of the whole.
Cost = tuple[float, float]
MEMORY_BOUND: Cost = (0.0, 0.0)

# for each multiplication of a product: by BLAS, by XLA
_FLOP = {"f": (1.3e-5, 1.4e-5), "c": (4e-5, 6e-5)}
_FETCHED = {"f": (1e-5, 1.4e-5), "c": (1e-5, 4e-5)}  # for each byte: this dominates for a vector
_FLOP_PLAIN = (1e-3, 3e-4)  # integers and booleans have no BLAS

# Of compiling: a program, an operation of it, one that is an instruction of a kernel, one that
# becomes a dozen of XLA's.
PROGRAM = 15000.0
_COMPILED = 1000.0
_COMPILED_PLAIN = 200.0
_COMPILED_LONG = 9000.0
# Of those whose code is long, in double precision: half of the compiler's time, as it works beside
# Python.
_EXPANDED = {
    "sin": 120e3, "cos": 120e3, "tan": 130e3, "power": 60e3, "log": 50e3, "log1p": 50e3,
    "sort": 120e3, "argsort": 120e3, "arctan2": 35e3, "tanh": 25e3, "exp": 15e3, "expm1": 25e3,
}  # fmt: skip
# A loop takes several times as long to compile as its body alone, but for that code: XLA's other
# emitters make a kernel for each of its fusions.
LOOP = 5.0
_PLAIN = 0.5  # nanoseconds an element, by XLA: up to here an operation is one instruction

# One thread runs a program of at most this much work. Waking others costs 10 to 30 us a loop; at
# 350, on two threads of one core, both take the same time.
ALONE = 250.0

# Microseconds of computing, beyond moving data, from which on a program takes XLA's newer emitters.
COMPUTING = 20.0

RECORDING = 5.0  # an operation, and its share of a flush
CUT = 30.0  # for one operation


def _is_plain(cost: Any) -> bool:
    return type(cost) is tuple and cost[1] <= _PLAIN


def compiling(primitive: Rules, params: dict[str, Any]) -> float:
    """The time that one operation adds to compiling its program."""
    if primitive.name == "jit":
        return sum(compiling(e.primitive, e.params) for e in params["jaxpr"].eqns)
    if primitive.kind == "call":
        return _COMPILED * (1 + sum(len(j.eqns) for j in jaxprs_in(params)))
    expanded = _EXPANDED.get(primitive.name)
    if expanded is not None:
        return expanded
    if primitive.kind == "elementwise" and _is_plain(primitive.cost):
        return _COMPILED_PLAIN
    return _COMPILED_LONG if primitive.kind == "update" else _COMPILED


def of_loop(ops: Iterable[Any], compiling: float) -> float:
    """The time that a loop takes to compile, whose body of these operations alone takes so much."""
    expanded = sum([_EXPANDED.get(op.primitive.name, 0.0) for op in ops])
    return LOOP * (compiling - expanded) + expanded


def cost(
    primitive: Rules, params: dict[str, Any], ins: Sequence[Aval], outs: Sequence[Aval]
) -> Cost:
    """The costs by reference and in a compiled program. `ins`: the avals of the operands as
    given.
    """
    kind = primitive.kind
    if kind == "call":
        return _of_call(primitive.name, params)
    if primitive.free:
        return 0.8, 0.0
    read = ins[1:] if kind == "index" else ins  # however large the array that it indexes
    moved = sum(a.nbytes for a in (*outs, *read))
    size = max((a.size for a in (*outs, *ins)), default=0)
    far = max((a.nbytes for a in outs), default=0) >= _FAR
    reference = CALL + moved * (MOVED_FAR if far else MOVED)
    compiled = _FUSED + moved * (MOVED_FUSED_FAR if far else MOVED_FUSED)
    if kind == "contract":
        numpys, xlas = _FLOP.get(outs[0].dtype.kind, _FLOP_PLAIN)
        flops = 2.0 * products(ins, outs[0])
        flops *= outs[0].dtype.itemsize / (16 if outs[0].dtype.kind == "c" else 8)
        by_numpy, by_xla = _FETCHED.get(outs[0].dtype.kind, _FETCHED["f"])
        return (
            CALL + _PRODUCT + moved * by_numpy + flops * numpys,
            _FUSED + _PRODUCT + moved * by_xla + flops * xlas,
        )
    extra = primitive.cost or MEMORY_BOUND
    by_numpy, by_xla = extra(ins) if callable(extra) else (size * extra[0], size * extra[1])
    # in place, where NumPy also works in place
    if kind == "update" and primitive.name != "put_mask":
        reference = CALL + 1.0 + 2 * MOVED * ins[1].nbytes
        # a large update becomes a select over the whole target
        written = ins[0] if 4 * ins[1].size > ins[0].size else ins[1]
        compiled = _FUSED + 5 * MOVED_FUSED * written.nbytes
    return reference + by_numpy * 1e-3, compiled + by_xla * 1e-3


def per_comparison(numpys: float, xlas: float) -> Callable[[Sequence[Aval]], Cost]:
    """The cost of a sort: n log2(n) comparisons."""

    def extra(ins: Sequence[Aval]) -> Cost:
        size = max((a.size for a in ins), default=0)
        size *= max(size, 2).bit_length()
        return size * numpys, size * xlas

    return extra


def per_index(numpys: float, xlas: float) -> Callable[[Sequence[Aval]], Cost]:
    """The cost of going to places, however large the first operand is."""

    def extra(ins: Sequence[Aval]) -> Cost:
        size = max((a.size for a in ins[1:]), default=0)
        return size * numpys, size * xlas

    return extra


def products(ins: Sequence[Aval], out: Aval) -> float:
    """The number of multiplications in a contraction."""
    x, y = ins
    # the square of that, times the size of the batch axes (small or absent), is |x| |y| |out|
    return (float(x.size) * float(y.size) * float(max(out.size, 1))) ** 0.5


def _of_call(name: str, params: dict[str, Any]) -> Cost:
    """The cost of a jaxpr run as one operation; loops count their rounds.

    The user has asked for a program of a `jit`. So all that its runs by reference take counts
    towards compiling it, not only what a program would save. Loops count several times: equation by
    equation they take ten times as long as in Python, and nobody decorates a loop to wait for it.
    """
    if name == "jit":
        return DISPATCH + (
            _AT_ONCE
            if params.get("compiled") in (True, "generic")
            else by_reference(params["jaxpr"]) + _LOOPED * _looped(params["jaxpr"])
        ), 0.0
    steps = sum(len(j.eqns) for j in jaxprs_in(params)) * _rounds(params)
    return 1.0 + 2.0 * steps, 1.0 + 0.1 * steps


def _rounds(params: dict[str, Any]) -> int:
    """How often a body runs; one that is a size without a value counts once."""
    length = params.get("length", 1)
    return 1 if type(length) is Size else length or 0


_LOOPED = 3.0  # times more that loops count, which a `jit` runs by reference


def _looped(jaxpr: Jaxpr) -> float:
    """What the loops of a jaxpr cost by reference, where their rounds are counted."""
    total = 0.0
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "jit":
            total += _looped(eqn.params["jaxpr"])
        elif eqn.primitive.name == "scan":
            total += _rounds(eqn.params) * (by_reference(eqn.params["jaxpr"]) + _ROUND)
    return total


_ROUND = 5.0  # of running a jaxpr, besides its equations
_AT_ONCE = 1e9  # what takes this long is compiled when it is first met


def by_reference(jaxpr: Jaxpr) -> float:
    """The cost of a jaxpr by the reference rules. A loop of unknown length counts as endless."""
    if jaxpr.cost is not None:
        return jaxpr.cost
    total = 0.0
    for eqn in jaxpr.eqns:
        if eqn.primitive.kind == "call":
            total += call_by_reference(eqn.primitive, eqn.params)
        else:
            ins, outs = [a.aval for a in eqn.inputs], [v.aval for v in eqn.outputs]
            total += cost(eqn.primitive, eqn.params, ins, outs)[0]
            if eqn.primitive.kind == "update":  # never in place there
                total += 2 * stored(ins[0])
    return total


def call_by_reference(primitive: Rules, params: dict[str, Any]) -> float:
    """`by_reference` for one call: of a function, a branch, a loop."""
    if primitive.name == "while":
        return CALL + _AT_ONCE
    inner = max(map(by_reference, jaxprs_in(params)), default=0.0)
    return CALL + (inner + _ROUND) * _rounds(params)


def work(jaxpr: Jaxpr) -> float:
    """The cost of a compiled program's operations. Loops count one round, because threads gain or
    lose in each round.
    """
    total = 0.0
    for eqn in jaxpr.eqns:
        if eqn.primitive.kind == "call":
            total += max(map(work, jaxprs_in(eqn.params)), default=0.0)
        else:
            total += _compiled(eqn)
    return total


def least(jaxpr: Jaxpr) -> float:
    """What a compiled program takes at least: all rounds of its loops, where their number is known,
    and for each operation the data that it moves and computes. (Operations on a few numbers take no
    time in a loop that is one function. Those that are an instruction of a kernel move nothing;
    masks are often the same for several, or for all rounds.)
    """
    total = 0.0
    for eqn in jaxpr.eqns:
        if eqn.primitive.kind == "call":
            inner = max(map(least, jaxprs_in(eqn.params)), default=0.0)
            total += inner * (_rounds(eqn.params) or 1)
        elif _is_instruction(eqn):
            made = eqn.outputs if eqn.inputs else ()  # places are known
            total += sum([_INSTRUCTION * v.aval.nbytes for v in made if v.aval.dtype.kind != "b"])
        else:
            constant = _FUSED + (_PRODUCT if eqn.primitive.kind == "contract" else 0.0)
            total += max(_compiled(eqn) - constant, 0.0)
    return total


def _is_instruction(eqn: Eqn) -> bool:
    plain = eqn.primitive.kind == "elementwise" and _is_plain(eqn.primitive.cost)
    return plain or eqn.primitive.name in ("iota", "broadcast_in_dim")


def computing(jaxpr: Jaxpr) -> float:
    """What the elementwise functions of a compiled program take beyond moving its data."""
    total = 0.0
    for eqn in jaxpr.eqns:
        if eqn.primitive.kind == "call":
            total += max(map(computing, jaxprs_in(eqn.params)), default=0.0)
        elif eqn.primitive.kind == "elementwise" and isinstance(eqn.primitive.cost, tuple):
            total += 1e-3 * eqn.primitive.cost[1] * eqn.outputs[0].aval.size
    return total


def _compiled(eqn: Eqn) -> float:
    ins, outs = [a.aval for a in eqn.inputs], [v.aval for v in eqn.outputs]
    return cost(eqn.primitive, eqn.params, ins, outs)[1]


def better_by_host(
    primitive: Rules, params: dict[str, Any], ins: Sequence[Aval], outs: Sequence[Aval]
) -> bool:
    """Whether NumPy is so much faster here that splitting a program pays."""
    return host_gain(primitive, params, ins, outs) > PIECE


def host_gain(
    primitive: Rules, params: dict[str, Any], ins: Sequence[Aval], outs: Sequence[Aval]
) -> float:
    """The time that NumPy would save on an operation of a program."""
    if primitive.kind not in ("contract", "sort", "index", "update", "reduction"):
        return 0.0
    reference, compiled = cost(primitive, params, ins, outs)
    if primitive.kind == "update":  # not in place there: an interrupted run must lose nothing
        reference += 2 * stored(ins[0])
    return compiled - reference


def stored(aval: Aval) -> float:
    """The cost of writing an array, or of reading it."""
    return (MOVED_FAR if aval.nbytes >= _FAR else MOVED) * aval.nbytes


def left_to_host(jaxpr: Jaxpr) -> set[int]:
    """The places of the equations that NumPy should run: those that it runs so much faster, and the
    views that only such operations read.

    Intermediate results of a program must be stored before NumPy can read them.
    """
    stays = {v for v in jaxpr.outputs if isinstance(v, Var)}
    on_the_way: dict[Atom, Aval] = {}  # by their results: values that need not be stored otherwise
    found: set[int] = set()
    for place, eqn in enumerate(jaxpr.eqns):
        ins, outs = [a.aval for a in eqn.inputs], [v.aval for v in eqn.outputs]
        storing = sum(stored(on_the_way[a]) for a in set(eqn.inputs) if a in on_the_way)
        if host_gain(eqn.primitive, eqn.params, ins, outs) - storing > PIECE:
            found.add(place)
        elif eqn.primitive.kind == "view":
            if eqn.inputs[0] in on_the_way:
                on_the_way[eqn.outputs[0]] = on_the_way[eqn.inputs[0]]
        else:
            on_the_way.update((v, v.aval) for v in eqn.outputs if v not in stays)
    readers: dict[Var, bool] = dict.fromkeys(stays, False)  # whether all readers are NumPy's
    for place in reversed(range(len(jaxpr.eqns))):
        eqn = jaxpr.eqns[place]
        if eqn.primitive.kind == "view" and all(readers.get(v, False) for v in eqn.outputs):
            found.add(place)
        for atom in eqn.inputs:
            if isinstance(atom, Var):
                readers[atom] = readers.get(atom, True) and place in found
    return found
