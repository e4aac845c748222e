"""Dispatch of the namespace's functions to objects that override them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, array_of
from lazynp._fronts import in_front_too
from lazynp._overrides import (
    Overridden,
    catching,
    has_methods,
    overrides,
    passes_for,
    settled,
    takes_ufuncs,
)
from lazynp._tracebacks import show_users
from lazynp._tree import tree_flatten
from lazynp.functions._by_class import (
    JOINING,
    METHODS,
    SHOWING,
    WRITING,
    asks,
    by_class,
    is_bare,
    of_linalg,
)
from lazynp.functions._checks import traced
from lazynp.functions._foreign import by_numpy, elements, knows_lazynp, wrapped
from lazynp.functions._host import to_device, to_host, write_on_host
from lazynp.functions._subclass import SIMPLE, Subclass, is_derived, of_numpys

_DISPATCHER = type(np.sum)
# functions that use operands before they convert them
_COMPUTING_FIRST = {
    "fix", "geomspace", "linspace", "logspace", "may_share_memory", "nanpercentile", "percentile",
    "shares_memory", "sinc",
}  # fmt: skip
# functions whose results `__array_wrap__` gets
_WRAPPED = {
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "cholesky", "choose", "clip",
    "cumprod", "cumsum", "delete", "insert", "inv", "max", "min", "pinv", "prod",
    "ptp", "qr", "repeat", "reshape", "round", "searchsorted", "squeeze", "sum", "swapaxes", "take",
    "transpose",
}  # fmt: skip
_WRAPPED_AT = {"apply_along_axis": 2, "compress": 1, "solve": 1}  # that of a later argument
_PARTS_WRAPPED = {"eig": (1,), "eigh": (1,), "qr": (0, 1), "svd": (0, 2)}
_OF_UFUNCS = {"all", "any", "max", "min", "prod", "sum"}  # which tell it that they are scalars
_ARRAY: Any = Array  # it has more methods than its declarations
_OLD_NAMES = {"row_stack": "vstack"}  # in NumPy, these call a function that asks for overrides
_WRITTEN = ("dst", "a", "arr")  # the first arguments of functions that write


def make_overridable(namespace: dict[str, Any], reference: Any) -> None:
    """Let objects override the functions of a namespace that they may override in NumPy's.

    The function that the namespace imported goes on being what it calls, and gives it its name,
    signature and docstring: what an editor finds by the import is what runs.
    """
    made: dict[Any, Any] = {}
    for name in namespace["__all__"]:
        function, numpys = namespace.get(name), vars(reference).get(_OLD_NAMES.get(name, name))
        if type(numpys) is not _DISPATCHER or not isinstance(function, FunctionType):
            continue
        if vars(function).get("__wrapped__") is numpys:  # hosted
            if name in SHOWING:
                namespace[name] = _asking(function)
        else:
            named = vars(reference).get(function.__name__, numpys)
            if named.__name__ == numpys.__name__:  # not an alias, or one in NumPy too
                numpys = named
            if (function, numpys) not in made:
                made[function, numpys] = _overridable(function, numpys, namespace["__name__"])
            namespace[name] = made[function, numpys]
            if name not in _OLD_NAMES:
                of_numpys[numpys] = namespace[name]


def _asking(function: FunctionType) -> Any:
    """A function that NumPy runs, and that arrays of derived classes may override."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for x in (*args, *kwargs.values()):
            if is_derived(type(x)) and asks(type(x)):
                return _of_derived(call, function, x, args, kwargs)
        return function(*args, **kwargs)

    implementations[call] = function
    return call


def _overridable(function: FunctionType, reference: Any, module: str) -> Any:
    computes_first = function.__name__ in _COMPUTING_FIRST
    joins = function.__name__ in JOINING
    # NumPy's functions in C call no methods of their arguments
    in_c = isinstance(reference._implementation, BuiltinFunctionType)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        derived = _derived_one(args, kwargs, joins)
        if derived is not None:
            if asks(type(derived)):
                return _of_derived(public, function, derived, args, kwargs)
            return by_class(function, derived, args, kwargs)
        try:
            if computes_first:
                _ask_each(args)
            return function(*args, **kwargs)
        except Overridden as e:
            operand = e.operand
        except Exception as error:  # perhaps of an object that was used before it was converted
            _name(error, function.__name__, reference.__name__)
            operand = next(_objects((*args, *kwargs.values())), None)
            if operand is None:
                show_users(error)
                raise
        if passes_for(operand, Array):
            return public(*_without_proxies(args), **_without_proxies(kwargs))
        if isinstance(operand, Array):
            return _of_derived(public, function, operand, args, kwargs)
        if has_methods(operand) and not overrides(operand):
            name = function.__name__
            of_ufunc = name in _OF_UFUNCS and takes_ufuncs(operand)
            has = of_ufunc or hasattr(operand, METHODS.get(name, name))
            has = has and not (in_c and hasattr(operand, "__array__"))
            if not args or args[0] is not operand or not has:
                if not hasattr(operand, "__array__"):
                    return _as_any_object(function, args, kwargs)
                result = public(
                    *map(_converted, args), **{k: _converted(v) for k, v in kwargs.items()}
                )
                if name in _OF_UFUNCS and result is kwargs.get("out"):
                    return result
                return _wrapped(name, operand, result, args)
        return _elsewhere(public, function, reference, args, kwargs)

    made: Any = call
    made.__module__, name = module, reference.__name__
    if name in METHODS:  # NumPy's max and amax are two functions
        made.__name__ = made.__qualname__ = name
    if module == "lazynp.linalg":
        of_linalg.add(function)
    made._implementation = functools.partial(_without_asking, function)  # NumPy's name for it
    made.__code__ = made.__code__.replace(co_name=made.__name__)  # for tracebacks and profiles
    catching.add(made.__code__)
    public = in_front_too(function, made, is_bare(function.__name__))
    implementations[public] = implementations[made] = function
    return public


def _wrapped(name: str, operand: Any, result: Any, args: Any) -> Any:
    """What NumPy's function gives of this result, if its code calls `__array_wrap__`."""
    place = _WRAPPED_AT.get(name, 0)
    if len(args) <= place or args[place] is not operand:
        return result
    parts = _PARTS_WRAPPED.get(name)
    if parts is not None and isinstance(result, tuple):
        made = [wrapped(operand, r, False) if k in parts else r for k, r in enumerate(result)]
        return tuple(made) if type(result) is tuple else type(result)(*made)
    known = name in _WRAPPED or name in _WRAPPED_AT
    return wrapped(operand, result, name in _OF_UFUNCS) if known else result


def _name(error: Exception, ours: str, numpys: str) -> None:
    """In Python's message about a call, the name that the call has in NumPy."""
    text = str(error)
    if ours != numpys and type(error) is TypeError and text.startswith(f"{ours}()"):
        error.args = (numpys + text.removeprefix(ours),)


def _derived_one(args: Any, kwargs: Any, joins: bool) -> Any:
    """The first array of a derived class with its own `__array_function__` among the arguments, or
    of the one derived class, if nothing else could take over; else None. To find out by trying
    takes ten times as long. In a list, it is the first one, unless the function `joins` them.
    """
    heads: list[Any] = []
    for x in args:
        if type(x) not in (list, tuple) or not x:
            heads.append(x)
        elif joins:
            heads += x
        else:
            heads.append(x[0])
    if not any([is_derived(type(x)) for x in heads if type(x) not in SIMPLE]):
        return None  # lists may be long
    found: Any = None
    for argument in (*args, *kwargs.values()):
        for x in argument if type(argument) in (list, tuple) else (argument,):
            kind = type(x)
            if kind in SIMPLE:
                continue
            if found is None and is_derived(kind):
                if asks(kind):
                    return x
                found = x
            elif found is None or kind is not type(found):
                return None
    return found


def _without_asking(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The function as it is for arrays of derived classes that do not override it."""
    derived = [v for v in tree_flatten((args, kwargs))[0] if isinstance(v, Subclass)]
    return by_class(function, derived[0], args, kwargs) if derived else function(*args, **kwargs)


def _ask_each(operands: Any) -> None:
    for x in operands:
        if not isinstance(x, Array) and overrides(x):
            raise Overridden(x)


def _of_derived(public: Any, function: Any, x: Any, args: Any, kwargs: Any) -> Any:
    """Apply a function to an array of a class derived from ours, which may override it."""
    leaves = [v for v in tree_flatten((args, kwargs))[0] if overrides(v) and type(v) is not Scalar]
    leaves.sort(key=lambda v: type(v) is NDArray)  # ask the derived classes first
    kinds = list(dict.fromkeys(map(type, leaves)))
    refused = bool(leaves)
    for v in leaves:
        if type(v).__array_function__ in (_function_of_derived, _ARRAY.__array_function__):
            refused = False
            continue  # this class defers to the next
        done = v.__array_function__(public, kinds, args, kwargs)
        if done is not NotImplemented:
            return done
    if refused:
        raise TypeError(
            f"no implementation found for '{_numpys_name(public)}' on types that implement "
            f"__array_function__: {kinds}"
        )
    return by_class(function, x, args, kwargs)


def _function_of_derived(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """The base implementation that an `__array_function__` may call."""
    ours = implementations.get(function)
    if ours is None:
        return _ARRAY.__array_function__(self, function, types, args, kwargs)
    return by_class(ours, self, args, kwargs)


implementations: dict[Any, Any] = {}  # by public function
Subclass.__array_function__ = _function_of_derived  # type: ignore[attr-defined]


def _as_any_object(function: Any, args: Any, kwargs: Any) -> Any:
    """Call it with an object that has methods, but not this one."""
    return function(*args, **kwargs)


settled |= {_as_any_object.__code__}


def _without_proxies(tree: Any) -> Any:
    if type(tree) in (list, tuple):
        return type(tree)(map(_without_proxies, tree))
    if type(tree) is dict:
        return {k: _without_proxies(v) for k, v in tree.items()}
    return tree.__array__() if passes_for(tree, Array) else tree


def _converted(x: Any) -> Any:
    """Convert an object that has methods, but none for this function, to an array; also inside
    lists.
    """
    if type(x) in (list, tuple):
        return type(x)([_converted(i) for i in x])
    if not has_methods(x) or overrides(x):
        return x
    made = array_of(x)
    return made if isinstance(made, Array) else np.asarray(made)


def _elsewhere(public: Any, function: Any, reference: Any, args: Any, kwargs: Any) -> Any:
    """As with ufuncs, try NumPy's own function first: the objects of libraries know no other."""
    written = next((x for x in (*args[:1], *map(kwargs.get, _WRITTEN)) if x is not None), None)
    objects = list(_objects((*args, *kwargs.values())))
    if function.__name__ in WRITING and isinstance(written, Array):
        if not objects or function.__name__ == "fill_diagonal" or traced(*args, *kwargs.values()):
            # NumPy could not write into lazy arrays
            return function(*map(elements, args), **{k: elements(v) for k, v in kwargs.items()})
        if not all([_knows_lazynp(x) for x in objects]):
            return _asked_to_write(reference, written, args, kwargs)
    for x in objects:
        if hasattr(type(x), "_stands_for_traced"):  # NumPy's function would ask for values
            return x.__array_function__(public, (), args, kwargs)
    if objects and all([_knows_lazynp(x) for x in objects]):
        return _asked(public, objects, args, kwargs)
    try:
        out = kwargs.get("out")
        options = kwargs if out is None or isinstance(out, tuple) else {**kwargs, "out": (out,)}
        return by_numpy(reference, args, options, single=options is not kwargs)
    except TypeError as error:
        if not objects or "no implementation found" not in str(error):
            raise
        refused = error
    types = list(dict.fromkeys(type(x) for x in objects))
    for x in objects:
        done = x.__array_function__(public, types, args, kwargs)
        if done is not NotImplemented:
            return done
    raise refused


def _knows_lazynp(x: Any) -> bool:
    return knows_lazynp(type(x).__array_function__)


def _asked_to_write(reference: Any, written: Array, args: Any, kwargs: Any) -> Any:
    """What an object that knows NumPy alone makes of a function that writes into an array: it gets
    memory of NumPy's, which becomes the array's.
    """
    with write_on_host(written) as memory:
        given = [memory if x is written else to_host(x) for x in args]
        options = {k: memory if x is written else to_host(x) for k, x in kwargs.items()}
        done = reference(*given, **options)
    return written if done is memory else to_device(done)


def _asked(public: Any, objects: list[Any], args: Any, kwargs: Any) -> Any:
    """What objects that know lazynp make of its function: one of each type is asked, and told which
    types there are.
    """
    firsts = {type(x): x for x in reversed(objects)}
    kinds: list[Any] = list(dict.fromkeys(map(type, objects)))
    kinds.sort(key=lambda k: -len(k.__mro__))  # derived ones before their bases
    told = [*kinds, NDArray] if _holds_arrays((args, kwargs)) else kinds
    for kind in kinds:
        done = firsts[kind].__array_function__(public, told, args, kwargs)
        if done is not NotImplemented:
            return done
    raise TypeError(
        f"no implementation found for '{_numpys_name(public)}' on types that implement "
        f"__array_function__: {told}"
    )


def _numpys_name(public: Any) -> str:
    """As `numpy.linalg.norm`."""
    return f"numpy{public.__module__.removeprefix('lazynp')}.{public.__name__}"


def _holds_arrays(arguments: Any) -> bool:
    return any([type(x) is NDArray for x in tree_flatten(arguments)[0]])


_DEEPEST = 4  # lists in lists that are searched: one may hold itself


def _objects(arguments: Any, depth: int = 0) -> Iterator[Any]:
    """The objects with their own `__array_function__`, also inside lists of arguments."""
    for x in arguments:
        if isinstance(x, (list, tuple)) and depth < _DEEPEST:
            yield from _objects(x, depth + 1)
        elif not isinstance(x, Array) and overrides(x):
            yield x
