"""checkpoint: reverse mode keeps little of a function and recomputes the rest."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lazynp._array import Array
from lazynp._avals import Aval, SizedAval
from lazynp._dimensions import table
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Eqn, Jaxpr, Var
from lazynp._memo import cached
from lazynp._primitive import Missing, Primitive, Undefined
from lazynp._recorder import local
from lazynp._tree import tree_flatten
from lazynp.transforms._branches import Operands
from lazynp.transforms._call import jaxpr_explicit, jit_call, moving_flags, present
from lazynp.transforms._checks import discharge_call, unchecked
from lazynp.transforms._jit import jit
from lazynp.transforms._recipes import remade
from lazynp.transforms._sized_loops import staged_body
from lazynp.transforms._stack import check_callable, name_of
from lazynp.transforms._stage import (
    batch_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    repeated,
    run_jaxpr,
    spread_out,
    stage_closed,
    transpose_jaxpr,
)
from lazynp.transforms._static import numbers as numbers_of, places_and_names, strings
from lazynp.transforms._vmap import flagged


def _remat_abstract(*avals: Aval, jaxpr: Jaxpr, policy: str) -> tuple[Aval, ...]:
    return tuple(jaxpr.out_avals)


def _remat_reference(*values: Any, jaxpr: Jaxpr, policy: str) -> tuple[Any, ...]:
    return tuple(eval_reference(jaxpr, values))


def _remat_lower(b: Any, *values: Any, jaxpr: Jaxpr, policy: str) -> tuple[Any, ...]:
    """The barriers keep XLA from reusing earlier results in place of the recomputation."""
    return tuple(b.subjaxpr(jaxpr, [b.barrier(v) for v in values]))


def _remat_jvp(primals: Any, tangents: Any, *, jaxpr: Jaxpr, policy: str) -> Any:
    pushed, moves = jvp_jaxpr(jaxpr, moving_flags(tangents))
    outs = remat_call(*primals, *present(tangents), jaxpr=pushed, policy=policy)
    n = len(jaxpr.outputs)
    return outs[:n], spread_out(outs[n:], moves)


def _remat_linearize(primals: Any, tangents: Any, *, jaxpr: Jaxpr, policy: str) -> Any:
    """The residuals are the operands and whatever the policy saves; the tangent program recomputes
    everything else.
    """
    n = len(jaxpr.outputs)
    again = unchecked(jaxpr)  # the first computation reports what the checks find
    saved: tuple[int, ...] = ()
    if policy == "dots":
        jaxpr, _ = with_products(jaxpr)
        again, saved = with_products(again)
    outs = remat_call(*primals, jaxpr=jaxpr, policy=policy)
    tangent, moves = _replayed(again, saved, moving_flags(tangents), n)
    moved = remat_call(*primals, *outs[n:], *present(tangents), jaxpr=tangent, policy=policy)
    return outs[:n], spread_out(moved, moves)


@cached()
def with_products(jaxpr: Jaxpr) -> tuple[Jaxpr, tuple[int, ...]]:
    """Inline inner calls, and return the products as further results, with their places."""
    if any(eqn.primitive is jit_call for eqn in jaxpr.eqns):
        jaxpr = stage_closed(lambda xs: _inlined(jaxpr, xs), jaxpr.in_avals)
    places = tuple(i for i, eqn in enumerate(jaxpr.eqns) if eqn.primitive.kind == "contract")
    products = [jaxpr.eqns[i].outputs[0] for i in places]
    return Jaxpr(jaxpr.inputs, jaxpr.eqns, [*jaxpr.outputs, *products]), places


def _inlined(jaxpr: Jaxpr, args: Sequence[Array]) -> list[Array]:
    def special(eqn: Eqn, operands: list[Array]) -> list[Array] | None:
        return _inlined(eqn.params["jaxpr"], operands) if eqn.primitive is jit_call else None

    return run_jaxpr(jaxpr, args, special)


@cached()
def _replayed(
    jaxpr: Jaxpr, saved: tuple[int, ...], moving: tuple[bool, ...], n: int
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """`(operands, saved products, moving tangents) -> moving tangents` of n results."""
    products = [jaxpr.eqns[i].outputs[0] for i in saved]
    swapped = list(jaxpr.eqns)
    inputs = [Var(v.aval) for v in products]
    for i, known in zip(saved, inputs, strict=True):
        eqn = jaxpr.eqns[i]
        params = {"primitive": eqn.primitive, "params": tuple(eqn.params.items())}
        swapped[i] = Eqn(known_product, [known, *eqn.inputs], params, eqn.outputs)
    replay = Jaxpr([*jaxpr.inputs, *inputs], swapped, jaxpr.outputs[:n])
    pair = linearize_jaxpr(replay, (*moving, *[False] * len(saved)))
    known = len(replay.inputs)

    def run(xs: list[Array]) -> list[Array]:
        """Compute the primals separately, before: only linear equations can be transposed."""
        residuals = run_jaxpr(pair.primal, xs[:known])[n:]
        return run_jaxpr(pair.tangent, [*residuals, *xs[known:]])

    tangents = [v.aval for v, m in zip(jaxpr.inputs, moving, strict=True) if m]
    return stage_closed(run, [*replay.in_avals, *tangents]), pair.moves


def _remat_transpose(cts: Sequence[Array], *operands: Any, jaxpr: Jaxpr, policy: str) -> list[Any]:
    linear = tuple(isinstance(x, Undefined) for x in operands)
    known = [x for x in operands if not isinstance(x, Undefined)]
    found = remat_call(*known, *cts, jaxpr=transpose_jaxpr(jaxpr, linear), policy=policy)
    return spread_out(found, linear)


def _remat_batch(
    size: int, batched: Sequence[bool], *operands: Array, jaxpr: Jaxpr, policy: str
) -> tuple[Any, ...]:
    mapped, flags = batch_jaxpr(jaxpr, size, tuple(batched))
    return flagged(remat_call(*operands, jaxpr=mapped, policy=policy), flags)


def _known_jvp(primals: Any, tangents: Any, *, primitive: Any, params: Any) -> Any:
    """The product is known; its tangent is the tangent of the product of the operands."""
    return primals[0], primitive.jvp(primals[1:], tangents[1:], **dict(params))[1]


def _known_batch(size: int, batched: Any, value: Array, *_: Any, **__: Any) -> Array:
    return value if batched[0] else repeated(value, size)


# (value, operands) -> value, which is known to be the product of the operands
known_product = Primitive(
    "known_product",
    abstract=lambda value, *_, **__: value,
    reference=lambda value, *_, **__: value,
    lower=lambda b, value, *_, **__: value,
    jvp=_known_jvp,
    transpose=Missing("gone once the jvp rule was applied"),
    batch=_known_batch,
)


remat_call = Primitive(
    "checkpoint",
    abstract=_remat_abstract,
    explicit=jaxpr_explicit,
    reference=_remat_reference,
    lower=_remat_lower,
    jvp=_remat_jvp,
    linearize=_remat_linearize,
    transpose=_remat_transpose,
    batch=_remat_batch,
    discharge=lambda operands, first, **params: discharge_call(
        remat_call, operands, first, **params
    ),
    multiple_results=True,
    kind="call",
)


@cached()
def _has_sizes(jaxpr: Jaxpr) -> bool:
    atoms = [*jaxpr.inputs, *(v for e in jaxpr.eqns for v in e.outputs)]
    return any(type(v.aval.plain) is SizedAval for v in atoms)


_OF = "checkpoint of"


def _staged(
    call: Callable[..., Any], arguments: Any, what: str
) -> tuple[Operands, Any, Any] | None:
    """The operands, the program and the results of a call; None if there is no single program of
    which reverse mode can be made: the function is then run as it is.
    """
    leaves, structure = tree_flatten(arguments)
    given = Operands(leaves, what)
    if table() is not None:
        body = staged_body(
            call, structure, given.avals, given.kinds, _OF, call=given.applied
        ).settled()
        # reverse mode keeps no values of several programs anyway; or its transpose would need sizes
        # that only the program around it has
        if body.opens or _has_sizes(body.program.jaxpr):
            return None
        return given, body.program, body.flat
    try:
        return given, *given.staged(call, structure, _OF)
    except TypeError as error:
        if local.recorder.staging or not _looked(error):
            raise
    given = Operands(leaves, what)
    try:  # its branches and loops look at values
        program, flat = given.staged(jit(call), structure, _OF)
    except TypeError as error:
        if not _looked(error):
            raise
        return None
    return given, program, flat


def _looked(error: TypeError) -> bool:
    """Whether it says that a value is not known."""
    return getattr(error, "only_traced", False)


POLICIES = ("nothing", "everything", "dots")


def checkpoint(
    fun: Callable[..., Any] | None = None, *, policy: str | None = None,
    prevent_cse: bool = True, static_argnums: Any = (), static_argnames: Any = (),
) -> Any:  # fmt: skip
    """A function that keeps only its arguments for reverse mode, and is recomputed there.

    policy says what else is kept: "nothing" (the default), "dots" (results of products and
    convolutions, which take longest to compute), or "everything" (no checkpoint at all).
    prevent_cse: no effect; recomputed values are always kept separate. Nothing is recomputed inside
    a function whose sizes are traced, nor where Python looks at values in a way that `jit` refuses
    (a search of SciPy's).
    """
    if policy not in (None, *POLICIES):
        raise ValueError(f"checkpoint: policy must be one of {POLICIES}, got {policy!r}")
    if fun is None:
        return lambda f: checkpoint(
            f, policy=policy, static_argnums=static_argnums, static_argnames=static_argnames
        )
    check_callable("checkpoint", fun)
    numbers, names = places_and_names(
        fun, numbers_of(static_argnums), strings(static_argnames), of="checkpoint"
    )
    primitive = jit_call if policy == "everything" else remat_call
    kept = primitive is jit_call
    how = {"name": name_of(fun)} if kept else {"policy": policy or "nothing"}
    what = f"checkpoint of {name_of(fun)}"

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not (local.recorder.staging or local.level):
            return fun(*args, **kwargs)  # nobody keeps anything
        fixed = {n % len(args): args[n] for n in numbers if -len(args) <= n < len(args)}
        named = {k: v for k, v in kwargs.items() if k in names}
        dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)

        @functools.wraps(fun)  # its name, for errors
        def call(dynamic: Any, keywords: Any) -> Any:
            rest = iter(dynamic)
            whole = [fixed[i] if i in fixed else next(rest) for i in range(len(args))]
            return fun(*whole, **named, **keywords)

        rest = {k: v for k, v in kwargs.items() if k not in names}
        found = _staged(call, (dynamic, rest), what)
        if found is None:
            return fun(*args, **kwargs)
        given, program, flat = found
        outs = primitive(*given.values, *program.captured, jaxpr=program.jaxpr, **how)
        program.write_back(outs[flat.count :])
        given.finish()
        return flat.rebuilt([o._read() for o in outs], program.like)

    static = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    return remade(checkpointed, checkpoint, fun, policy=policy, **static)
