"""Calls in a rewritten function. Functions of the user's are rewritten as well, libraries' are not.

In a staged body, only calls pass that are known to change no object.
"""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import dataclasses
import functools
import itertools
import math
import os
import sysconfig
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._errstate import errstate
from lazynp._memo import Memo
from lazynp.transforms import wrappers
from lazynp.transforms._recipes import within
from lazynp.transforms.control._affected import is_affected
from lazynp.transforms.control._asked import by_key, looked_at
from lazynp.transforms.control._by_rounds import OF_TRACED, STANDING
from lazynp.transforms.control._letters import Letter
from lazynp.transforms.control._names import Unsupported, names_in_sum
from lazynp.transforms.control._printing import formatting
from lazynp.transforms.control._records import making, replaced
from lazynp.transforms.control._recursion import check_depth
from lazynp.transforms.control._rewrite import rewritten
from lazynp.transforms.control._seeded import seeded
from lazynp.transforms.control._sharing import refuse_merged
from lazynp.transforms.control._source import (
    RUNTIME,
    compiled,
    inner_codes,
    is_harmless,
    plain_of,
    tree_of,
)
from lazynp.transforms.control._state import (
    CannotStage,
    kind,
    may_change,
    operators,
    session,
    undecided,
    user_line,
    value_of,
)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))) + os.sep
_PLACES = tuple(
    os.path.realpath(p) + os.sep
    for name, p in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
# by identity of the code; the entry keeps it alive
_rewritten: Memo[tuple[int, bool], tuple[CodeType, CodeType | None]] = Memo("rewritten", 4096)
_users: Memo[str, bool] = Memo("files of users", 4096)


def is_users(code: CodeType) -> bool:
    found = _users.get(code.co_filename)
    return _users.put(code.co_filename, _is_users(code.co_filename)) if found is None else found


def _is_users(path: str) -> bool:
    if path.startswith("<frozen"):
        return False
    path = path if path.startswith("<") else os.path.realpath(path)
    return not path.startswith((_PACKAGE, *_PLACES)) and "site-packages" not in path


def converted(function: Any, always: bool = False) -> Any:
    """The function with operators in place of control flow; itself, if there is nothing to do.

    always: also if it has no control flow itself, but calls functions that may.
    """
    if isinstance(function, MethodType):
        inner = converted(function.__func__, always)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)
    if type(function) is functools.partial:
        inner = converted(function.func, always)
        if inner is function.func:
            return function
        return functools.partial(inner, *function.args, **function.keywords)
    function = plain_of(function)
    if not isinstance(function, FunctionType):
        return _callable_object(function, always)
    if _transforms(function) or function.__code__ in wrappers:
        return _inside(function, always)
    code = _code_of(function, always)
    if code is None:
        return function
    cells = {
        name: session.cells.get(id(cell), cell)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        )
    }
    cells[RUNTIME] = CellType(operators[0])
    return _remade(function, code, tuple(cells[n] for n in code.co_freevars))


def is_rewritten(function: FunctionType) -> bool:
    """Whether the function, in a body that is staged, runs as rewritten code."""
    found = _rewritten.get((id(function.__code__), True))
    return found is not None and found[1] is not None


def bounds_only(function: Any) -> tuple[str, ...]:
    """The parameters that the function reads only as bounds of the ranges that `for` loops over."""
    function = plain_of(function)
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None or "range" not in code.co_names:
        return ()
    found = tree_of(function) if is_users(code) else None
    if found is None or isinstance(found[0], ast.Lambda):
        return ()
    body, bounds = found[0].body, set[ast.AST]()
    for s in (n for statement in body for n in ast.walk(statement)):
        if isinstance(s, ast.For) and isinstance(s.iter, ast.Call) and _is_range(s.iter, function):
            bounds |= {n for a in s.iter.args for n in names_in_sum(a)}
    uses: dict[str, set[bool]] = {}
    for n in (n for statement in body for n in ast.walk(statement)):
        if isinstance(n, ast.Name):
            uses.setdefault(n.id, set()).add(n in bounds)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(p for p in parameters if uses.get(p) == {True})


def _is_range(node: ast.Call, function: FunctionType) -> bool:
    named = isinstance(node.func, ast.Name) and node.func.id == "range"
    return named and "range" not in function.__globals__


def _callable_object(x: Any, always: bool) -> Any:
    """An object with `__call__`, or what `vectorize` gives."""
    if isinstance(x, np.vectorize):
        return _vectorized(x, always)
    method = None if isinstance(x, type) else getattr(type(x), "__call__", None)  # noqa: B004
    if not isinstance(method, FunctionType):
        return x
    inner = converted(method, always)
    return x if inner is method else MethodType(inner, x)


def _vectorized(x: Any, always: bool) -> Any:
    inner = converted(x.pyfunc, always)
    if inner is x.pyfunc:
        return x
    made = copy.copy(x)
    made.pyfunc, made._ufunc = inner, {}  # NumPy keeps a ufunc of the function
    return made


def _remade(function: FunctionType, code: CodeType, closure: tuple[CellType, ...]) -> FunctionType:
    scope = session.scopes.get(id(function.__globals__), function.__globals__)
    made = FunctionType(code, scope, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__doc__, made.__module__ = function.__doc__, function.__module__
    return made


def _inside(function: FunctionType, always: bool) -> FunctionType:
    """A transformed function, `grad(f)`, or an adopted one, with its f converted."""
    made, same = [], True
    for cell in function.__closure__ or ():
        try:
            before = cell.cell_contents
        except ValueError:
            return function
        after = before if before is function else within(before, lambda f: converted(f, always))
        same = same and after is before
        made.append(cell if after is before else CellType(after))
    return function if same else _remade(function, function.__code__, tuple(made))


def _code_of(function: FunctionType, always: bool) -> CodeType | None:
    code = function.__code__
    if RUNTIME in code.co_freevars:
        return None
    if session.strict is not None and is_users(code):
        session.strict[id(function)] = function
    found = _rewritten.get((id(code), always))
    if found is None:
        made = _made(function, always) if is_users(code) else None
        found = _rewritten.put((id(code), always), (code, made))
    return found[1]


def _made(function: FunctionType, always: bool) -> CodeType | None:
    found = tree_of(function)
    if found is None:
        return None
    node, owner = found
    if not (always or is_affected(node) or _calls_users(function, node)):
        return None
    try:
        mangled = owner if _mangles(function.__code__, owner) else None
        return compiled(rewritten(node), mangled, function)
    except (Unsupported, SyntaxError, RecursionError):
        return None


def transplanted(function: FunctionType, node: ast.FunctionDef) -> FunctionType:
    """The function, whose code was made of this node and has no file: `converted` finds it."""
    code = function.__code__
    try:
        made = compiled(rewritten(node), None, function)
    except (Unsupported, SyntaxError, RecursionError):
        made = None
    _rewritten.put((id(code), True), (code, made))
    return function


def _mangles(code: CodeType, owner: str | None) -> bool:
    start = f"_{(owner or '').lstrip('_')}__"
    return owner is not None and any(
        n.startswith(start) for c in inner_codes(code) for n in (*c.co_names, *c.co_varnames)
    )


def _calls_users(function: FunctionType, node: ast.AST) -> bool:
    """Whether the function may call one of the user's."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    inside = {n for c in inner_codes(function.__code__) for n in (*c.co_varnames, *c.co_cellvars)}

    def value_of_name(name: str) -> Any:
        return value_of(cells[name]) if name in cells else function.__globals__.get(name)

    def takes_functions(value: Any, names: list[str]) -> bool:
        for name in reversed(names):
            value = getattr(value, name, None) if isinstance(value, type(np)) else None
        return isinstance(value, FunctionType) and (_transforms(value) or _is_mapping(value))

    def may_be_users(f: ast.expr) -> bool:
        if isinstance(f, ast.Attribute):
            if f.attr in _METHODS:
                return False
            names = list[str]()
            while isinstance(f, ast.Attribute):
                names.append(f.attr)
                f = f.value
            if not isinstance(f, ast.Name) or f.id in inside or may_be_users(f):
                return True
            return takes_functions(value_of_name(f.id), names)
        if not isinstance(f, ast.Name) or f.id in inside:
            return True
        try:
            value = cells[f.id].cell_contents if f.id in cells else function.__globals__[f.id]
        except (KeyError, ValueError):
            return f.id in {"map", "filter"}  # another builtin, or unbound
        if isinstance(value, FunctionType):
            users = is_users(value.__code__) or value.__code__ in wrappers
            return users or _transforms(value) or _is_mapping(value)
        if isinstance(value, np.vectorize) or value is math or id(value) in STANDING:
            return True  # its functions take traced numbers only where they are replaced
        name = value.__name__ if isinstance(value, type(np)) else type(value).__module__
        if name in _MATHS:
            return True
        name = value.__module__ if isinstance(value, type) else name
        return (name or "").partition(".")[0] not in PURE

    return any(may_be_users(n.func) for n in ast.walk(node) if isinstance(n, ast.Call))


# -- the operator ----------------------------------------------------------------------------------

PURE = {"numpy", "lazynp", "math", "cmath"}
_MATHS = {"lazynp.interop.math", "lazynp.interop.cmath"}  # what stands for `math` and `cmath`
_METHODS = frozenset(dir(np.ndarray)) | frozenset(dir(str)) | frozenset(dir(dict))
_BUILTINS = {
    abs, len, min, max, sum, range, enumerate, zip, reversed, int, float, complex, bool, tuple,
    list, dict, set, frozenset, divmod, pow, round, all, any, sorted, getattr, hasattr, callable,
    slice, isinstance, issubclass, type, super,
}  # fmt: skip
_MAPPING: set[Any] = {map, filter, functools.reduce, itertools.accumulate, itertools.starmap}
_LOOKING = {isinstance, type}  # tell a traced number from Python's
_READING = {
    "get", "items", "keys", "values", "copy", "index", "count", "union", "intersection",
    "difference", "issubset", "issuperset",
}  # fmt: skip
_WRITING = {"sort", "fill", "put", "partition", "resize", "itemset", "setfield", "setflags",
            "byteswap", "copyto", "place", "putmask", "fill_diagonal", "put_along_axis",
            "shuffle", "fromfile"}  # fmt: skip
_GIVING_COPIES = {"sort", "partition"}  # as functions; as methods they write the array


def call(function: Any) -> Any:
    """The function that a call calls."""
    session.check_time()
    if session.merged:
        of = getattr(function, "__self__", None)
        if isinstance(of, (list, dict)) and function.__name__ not in _READING:
            refuse_merged(of)
    standing = STANDING.get(id(function))
    function = standing if standing in OF_TRACED else plain_of(function)
    if id(function) in session.within:  # it calls itself: what is known stays known
        function = session.within[id(function)]
    if session.draws is not None and (drawing := session.draws.of(function)) is not None:
        return drawing
    if session.strict is not None and (drawing := seeded(function)) is not None:
        return drawing
    if isinstance(function, (FunctionType, MethodType, functools.partial)):
        if function is dataclasses.replace:
            return replaced(_check)
        if isinstance(function, FunctionType) and _transforms(function):
            return _taking_functions(_inside(function, bool(session.depth)))
        if _is_mapping(function) and not session.depth:
            return _mapping(function)
        made = converted(function, bool(session.depth or session.merged or session.picks))
        if session.depth:
            check_depth(made, session)
            if made is function:
                _check(function)
        return made
    if type(function) in (BuiltinFunctionType, type):
        if special := OF_TRACED.get(function) or by_key(function) or formatting(function):
            return special
        if _is_mapping(function) and not session.depth:
            return _mapping(function)
    made = function if isinstance(function, type) else _callable_object(
        function, bool(session.depth))  # fmt: skip
    if made is not function:
        return made
    if session.depth:
        if session.growth is not None and getattr(function, "__name__", "") == "append":
            session.growth.meets(getattr(function, "__self__", None))
        if function is errstate and session.strict is not None:
            return _ignoring
        _check(function)
        if type(function) in (BuiltinFunctionType, type) and function in _LOOKING:
            return functools.partial(_looking, function)
        if session.strict is not None and function in (getattr, hasattr):
            return functools.partial(_asking, function)
        if function in (list, dict, set) or _copies(function):
            return lambda *a, **k: operators[0].fresh(function(*a, **k))
    return making(function) or function if isinstance(function, type) else function


def _ignoring(*args: Any, **kwargs: Any) -> Any:
    """`np.errstate` that only ignores errors, as programs do."""
    if args or not kwargs or "call" in kwargs or {*map(str, kwargs.values())} != {"ignore"}:
        _check(errstate)
    return errstate(**kwargs)


def _copies(function: Any) -> bool:
    of = getattr(function, "__self__", None)
    return type(of) in (list, dict, set) and function.__name__ == "copy"


def call_or_none(function: Any) -> Any:
    """The same where the caller takes None: a function of the user's may return a `Maybe`."""
    made = call(function)
    code = getattr(getattr(made, "__func__", made), "__code__", None)
    if code is None or RUNTIME not in code.co_freevars:  # not rewritten
        return made

    def calling(*args: Any, **kwargs: Any) -> Any:
        session.takes_none.append(code)
        try:
            return made(*args, **kwargs)
        finally:
            session.takes_none.pop()

    return calling


def _transforms(function: FunctionType) -> bool:
    """By where its code is: what `checkpoint` gives has the `__module__` of the user's function."""
    return str(function.__globals__.get("__name__")).startswith("lazynp.transforms.")


def _is_mapping(function: Any) -> bool:
    """Whether it calls functions among its arguments, and is no transformation."""
    name = getattr(function, "__name__", "")
    return function in _MAPPING or name == "apply_along_axis" and function.__module__ == "lazynp"


def _mapping(function: Callable[..., Any]) -> Callable[..., Any]:
    def of(x: Any) -> Any:  # `max`, too, may meet traced numbers
        builtin = type(x) in (BuiltinFunctionType, type)
        return (OF_TRACED.get(x, x) if builtin else converted(x)) if callable(x) else x

    return lambda *a, **k: function(*map(of, a), **{n: of(v) for n, v in k.items()})


def _taking_functions(function: Callable[..., Any]) -> Callable[..., Any]:
    """A transformation, whose arguments that are functions are converted."""

    def taken(*args: Any, **kwargs: Any) -> Any:
        made = [_converted_argument(a) for a in args]
        return function(*made, **{k: _converted_argument(a) for k, a in kwargs.items()})

    return taken


def _converted_argument(x: Any) -> Any:
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(map(_converted_argument, x))
    return converted(x, bool(session.depth))


def _looking(function: Any, *args: Any) -> Any:
    if any(isinstance(x, Array) and undecided(x) and not x.ndim for x in args):
        raise CannotStage(f"{function.__name__}() of a traced number")
    if any(type(x) is Letter for x in args):
        raise CannotStage(f"{function.__name__}() of a letter at a traced index")
    return function(*map(looked_at, args))


def _asking(function: Any, *args: Any) -> Any:
    """`getattr` and `hasattr`: their names may be computed, so no code tells them."""
    session.asked.update(x for x in args[1:2] if isinstance(x, str))
    return function(*args)


def _check(function: Any) -> None:
    """Refuse, in a staged body, what is not known to change no object."""
    if not _is_pure(function) or session.strict is not None and _has_state(function):
        name = getattr(function, "__qualname__", None) or kind(function)
        session.drew = session.drew or _draws(function)
        text = f"calls `{name}`, which may change objects{_cure(function)}"
        raise CannotStage(f"line {user_line()}: {text}")


def _cure(function: Any) -> str:
    of = getattr(function, "__self__", None)
    if isinstance(of, list) and function.__name__ in ("append", "extend", "insert", "pop"):
        return ": its length would depend on a traced value; write x[k] = v, k += 1, use x[:k]"
    return ""


def _is_pure(function: Any) -> bool:
    of = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, functools.partial):
        return _is_pure(function.func)
    if isinstance(function, type):
        plain = dataclasses.is_dataclass(function) and not hasattr(function, "__post_init__")
        kinds = (BaseException, np.generic, np.dtype)
        records = issubclass(function, tuple) and hasattr(function, "_fields")
        if module.partition(".")[0] in PURE:
            return ".random" not in module
        return function in _BUILTINS or plain or records or issubclass(function, kinds)
    if isinstance(of, Array) or type(of).__module__.partition(".")[0] == "lazynp":
        return True
    if isinstance(of, tuple) and isinstance(function, MethodType):
        return function.__func__.__code__.co_filename == _NAMED_TUPLES  # `_replace`, `_asdict`
    if type(function).__module__.startswith("lazynp.transforms."):
        return True
    if isinstance(function, FunctionType) and is_users(function.__code__):
        return is_harmless(function.__code__)
    if isinstance(of, np.ndarray):
        return name not in _WRITING
    if isinstance(of, (list, dict, set)) or type(of) in (tuple, str, bytes, frozenset):
        return type(of) in (tuple, str, bytes, frozenset) or name in _READING or may_change(of)
    if type(function) is BuiltinFunctionType and of is builtins:
        return function in _BUILTINS
    known = module.partition(".")[0] in PURE and (of is None or isinstance(of, ModuleType))
    return known and ".random" not in module and name not in _WRITING - _GIVING_COPIES


def _has_state(function: Any) -> bool:
    """Whether it is of lazynp, and draws random numbers or changes settings."""
    of = getattr(function, "__self__", None)
    kind = function if isinstance(function, type) else type(function if of is None else of)
    modules = kind.__module__, getattr(function, "__module__", None) or ""
    return any(m.startswith("lazynp.") and m.endswith(_STATEFUL) for m in modules)


def _draws(function: Any) -> bool:
    """Whether it is a method of a generator, as lazynp gives it."""
    of = getattr(getattr(function, "__wrapped__", None), "__self__", None)
    return isinstance(of, (np.random.Generator, np.random.RandomState))


_NAMED_TUPLES = collections.namedtuple.__code__.co_filename
_STATEFUL = ("random", "_errstate", "_config")
