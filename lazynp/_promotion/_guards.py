"""What a traced function read from outside, and whether it is still the same.

A trace keeps the values of global names, of closures, of defaults and of the attributes of classes
and global objects. Before each call the program compares them. What may change without its name
being bound again is refused, but for lists and dicts of constants (`_constants`).
"""

from __future__ import annotations

import abc
import dis
import sys
from collections import namedtuple
from collections.abc import Container, Iterable, Iterator, Sequence
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar
from lazynp._promotion._constants import Constants, constants_of
from lazynp._promotion._generators import is_generator
from lazynp._promotion._objects import MISSING, MOST, is_plain, slots_of
from lazynp.functions._ufunc import ufunc
from lazynp.transforms._jit import Jitted
from lazynp.transforms.control import PURE, CannotStage, inner_codes, is_users, plain_of

_UNCHANGING = (
    bool, int, float, complex, str, bytes, type(None), range, slice, np.generic, np.dtype, np.ufunc,
    FunctionType, BuiltinFunctionType, ufunc, Scalar, type(Ellipsis),
)  # fmt: skip
_PASSING = (*_UNCHANGING, tuple, frozenset, NDArray, ModuleType, type, Jitted)
_LIBRARIES = {*PURE, "builtins"}


_ASKING = {"getattr", "hasattr", "vars", "__dict__"}


class Changing(CannotStage):
    """Global names of NumPy's arrays. free: whether they can be inputs."""

    def __init__(self, names: list[tuple[dict[str, Any], str]], free: bool) -> None:
        listed = ", ".join(f"`{name}`" for _, name in names)
        super().__init__(f"reads {listed}, arrays of NumPy's, which may change")
        self.names, self.free = names, free


_INPUTS = (NDArray, Scalar, int, float, complex)


class Inputs:
    """Global names whose values are inputs: of a scope, by its id, and what stood for each scope
    while the functions were traced.
    """

    def __init__(
        self, names: dict[tuple[int, str], dict[str, Any]], standing: dict[int, dict[str, Any]]
    ) -> None:
        self.names = names
        self._of = {id(made): scope for (i, _), scope in names.items()
                    if (made := standing.get(i)) is not None}  # fmt: skip

    def scope(self, found: dict[str, Any]) -> dict[str, Any]:
        """The scope that this one stands for, or itself."""
        return self._of.get(id(found), found)


class Guards:
    """The values that some functions read from outside."""

    def __init__(
        self, functions: list[FunctionType], given: Container[int], classes: Sequence[type],
        inputs: Inputs | None = None, asked: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """given: ids of cells whose values are inputs. classes: those of the objects among the
        arguments. inputs: global names that are inputs. asked: names of attributes that were
        computed.
        """
        self._inputs = inputs or Inputs({}, {})
        self._globals: set[int] = set()  # by id, global names of functions
        self._attributes: set[int] = set()  # names that are read as attributes
        self._changing: list[tuple[dict[str, Any], str]] = []
        self.objects: list[Any] = []  # plain objects that global names refer to
        self.constants: list[Constants] = []  # ... lists and dicts
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._cells: list[tuple[CellType, Any]] = []
        self._given = given
        self._scopes: dict[int, Any] = {}  # of classes
        self._bodies: dict[int, tuple[FunctionType, Any]] = {}  # of functions, by id
        self._kinds: list[tuple[Any, type]] = []  # of objects
        self._mros: dict[type, tuple[type, ...]] = {}
        getters = _getters(functions, classes)
        self._getters = set(map(id, getters))
        self.functions = functions = [*functions, *getters]
        self.names = frozenset(n for f in functions for n in names_of(f.__code__)).union(asked)
        inside = {
            _place(c) for f in functions for c in inner_codes(f.__code__) if c is not f.__code__
        }
        seen: set[tuple[int, str]] = set()
        for f in functions:
            _check_code(f.__code__)
            self._keep(f)
            scope = self._inputs.scope(f.__globals__)
            self._globals.add(id(scope))
            self._add(scope, globals_of(f.__code__), seen, f.__builtins__)
            for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
                check(value, "a default")
            if _place(f.__code__) not in inside:  # not made during the call
                self._close(f)
        if self._changing:
            raise Changing(self._changing, all(self.is_input(scope) for scope, _ in self._changing))
        if classes and "__dict__" in self.names:
            raise CannotStage("looks at the dict of an object")
        for c in dict.fromkeys(classes):
            for inner in self._classes(c, c.__name__):
                self._add(inner, {*self.names, "__call__"}, seen, {})

    def _add(
        self, scope: dict[str, Any], names: set[str], seen: set[tuple[int, str]], rest: Any
    ) -> None:
        for name in names:
            if (id(scope), name) in seen:
                continue
            seen.add((id(scope), name))
            if (id(scope), name) in self._inputs.names:
                continue
            value = scope.get(name, MISSING)
            self._names.append((scope, name, value))
            if value is MISSING:
                value = rest.get(name, MISSING)
            inside = self._namespaces(value, name)
            self._attributes.update(map(id, inside))
            for inner in inside:
                self._add(inner, {*self.names, "__call__"}, seen, {})
            if isinstance(value, ModuleType) and not inside:
                self._of_library(value.__dict__, seen)
            if isinstance(value, FunctionType) and self._may_have_attributes(value):
                self._attributes.add(id(value.__dict__))
                self._add(value.__dict__, set(self.names), seen, {})
            if type(value) is np.ndarray and type(scope) is dict:
                self._changing.append((scope, name))  # NumPy may write it
            elif not inside and value is not MISSING:
                if type(scope) is not dict:
                    value = self._unwrapped(value, name)
                if not self._is_constant(value):
                    check(value, f"`{name}`")
                self._keep(value)

    def _of_library(self, scope: dict[str, Any], seen: set[tuple[int, str]]) -> None:
        """Names of a library are bound anew by tests that patch them. (Others are bound when they
        are first used; classes of dtypes also while a transformation is active.)
        """
        for name in self.names & scope.keys():
            if (id(scope), name) not in seen and not isinstance(scope[name], type):
                seen.add((id(scope), name))
                self._names.append((scope, name, scope[name]))
                if isinstance(scope[name], ModuleType):
                    self._of_library(scope[name].__dict__, seen)

    def _is_constant(self, value: Any) -> bool:
        """Whether it is a list or dict that can be compared before each call."""
        found = constants_of(value)
        self.constants += [] if found is None else [found]
        return found is not None

    def _keep(self, value: Any) -> None:
        """Remember what a function does: tools that load changed code put it into the function."""
        if isinstance(value, tuple):
            for x in value:
                self._keep(x)
        elif isinstance(value, FunctionType) and is_users(plain_of(value).__code__):
            self._bodies[id(value)] = value, _body(value)

    def _may_have_attributes(self, function: FunctionType) -> bool:
        return bool(self.names & _ASKING) or any("." not in k for k in function.__dict__)

    def _namespaces(self, value: Any, name: str) -> list[Any]:
        """Those of a module, class or plain object of the user's, whose attributes are read by
        name.
        """
        if isinstance(value, ModuleType) and not _is_library(value.__name__):
            if "__getattr__" in value.__dict__:
                raise CannotStage(f"reads attributes of `{name}`, which computes them")
            return [value.__dict__]
        if isinstance(value, type) and not _is_library(value.__module__):
            return self._classes(value, name)
        if not isinstance(value, _PASSING) and is_plain(type(value)):
            if any(value is x for x in self.objects):
                return [{}]
            if any(slots_of(type(value))) or len(self.objects) >= MOST:
                raise CannotStage(f"reads `{name}`, an object with slots, or of many parts")
            self.objects.append(value)
            self._kinds.append((value, type(value)))
            return [value.__dict__, *self._classes(type(value), name)]
        return []

    def _classes(self, cls: type, name: str) -> list[Any]:
        """The namespaces of a class and of those that it inherits from."""
        if cls is SimpleNamespace:
            return []
        if type(cls) not in (type, abc.ABCMeta):
            raise CannotStage(f"reads `{name}`, a class with a metaclass")
        self._mros[cls] = cls.__mro__
        users = [c for c in cls.__mro__ if c is not object and not _is_library(c.__module__)]
        return [self._scopes.setdefault(id(c), vars(c)) for c in users]

    def _unwrapped(self, value: Any, name: str) -> Any:
        """What a class's attribute gives; other descriptors than methods and slots compute it."""
        if type(value) in (staticmethod, classmethod):
            return value.__func__
        if type(value) is property:
            if id(value.fget) not in self._getters:
                raise CannotStage(f"uses the property `{name}`")
            return value.fget
        if type(value) in (MemberDescriptorType, GetSetDescriptorType, _FIELD):
            return None
        if hasattr(type(value), "__get__") and not isinstance(value, FunctionType):
            raise CannotStage(f"reads `{name}`, a {type(value).__name__}, which computes it")
        return value

    def _close(self, function: FunctionType) -> None:
        if any(n.startswith(".") for n in function.__code__.co_freevars):
            return  # part of a function that was rewritten
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if id(cell) in self._given:
                continue
            try:
                value = cell.cell_contents
            except ValueError:
                raise CannotStage(f"`{name}` is unbound") from None
            if not self._is_constant(value):
                check(value, f"`{name}`")
            self._keep(value)
            self._cells.append((cell, value))

    def rebound(self) -> list[tuple[dict[str, Any], str]]:
        """Global names that have another value by now, if they can be inputs: those of functions,
        not those that are read as attributes of a module.
        """
        return [
            (scope, name) for scope, name, value in self._names
            if self.is_input(scope) and isinstance(value, _INPUTS)
            and scope.get(name, MISSING) is not value
        ]  # fmt: skip

    def is_input(self, scope: Any) -> bool:
        """Whether names of this scope can be inputs: all that read them are rewritten functions."""
        return id(scope) in self._globals and id(scope) not in self._attributes

    def changing(self) -> list[Any]:
        """Objects, lists and dicts that must be no arguments: a program would change them."""
        return [*self.objects, *(x for c in self.constants for x in c.objects)]

    def values(self) -> list[Any]:
        """What they compare."""
        return [*(v for _, _, v in self._names), *(v for _, v in self._cells)]

    def hold(self) -> bool:
        """Whether all of it is the same."""
        for scope, name, value in self._names:
            now = scope.get(name, MISSING)
            if now is not value and not _equal(now, value):
                return False
        for cell, value in self._cells:
            try:
                if cell.cell_contents is not value and not _equal(cell.cell_contents, value):
                    return False
            except ValueError:
                return False
        if any([cls.__mro__ is not mro for cls, mro in self._mros.items()]):
            return False
        if any([type(x) is not kind for x, kind in self._kinds]):
            return False
        if not all([c.hold() for c in self.constants]):
            return False
        return all([_same_body(_body(f), body) for f, body in self._bodies.values()])


def _body(f: FunctionType) -> tuple[Any, ...]:
    """What a function runs, and its defaults. (A front is not code of the user's.)"""
    named = f.__kwdefaults__
    return plain_of(f).__code__, f.__defaults__, *(named.items() if named else ())


def _same_body(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and a[0] is b[0] and a[1] is b[1] and all(
        [x[0] == y[0] and x[1] is y[1] for x, y in zip(a[2:], b[2:], strict=True)]
    )  # fmt: skip


def _check_code(code: CodeType) -> None:
    """Refuse what changes the outside, or an array's shape: a trace would do so only once."""
    for c in inner_codes(code):
        for i in dis.get_instructions(c):
            if i.opname in _CHANGES or i.argval in _CHANGING and i.opname in _READS:
                raise CannotStage(f"line {c.co_firstlineno} ff.: {i.opname} {i.argval}")


_CHANGES = {"STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME"}
_READS = {"LOAD_ATTR", "LOAD_METHOD"}
_CHANGING = {"setflags", "resize"}


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name


def names_of(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes that it reads; strings may be names as well."""
    for c in inner_codes(code):
        yield from c.co_names
        yield from (x for x in c.co_consts if type(x) is str and x.isidentifier())


def globals_of(code: CodeType) -> set[str]:
    """The global names that it reads: an attribute may have the name of another variable."""
    names = set(names_of(code))
    if names & _LOOKING_UP:
        return names
    found = (i for c in inner_codes(code) for i in dis.get_instructions(c))
    return {i.argval for i in found if i.opcode in _NAMED}


_NAMED = {n for n in dis.hasname if "ATTR" not in dis.opname[n] and "METHOD" not in dis.opname[n]}
_LOOKING_UP = {"globals", "vars", "locals", "eval", "exec"}


def refuse_computed(function: FunctionType, values: Sequence[Any]) -> None:
    """Refuse, before a trace runs it, what Python may compute behind the name of an attribute.

    values: the classes of the objects that the function is given, and functions. This looks at all
    functions that it may call by name.
    """
    functions: dict[int, FunctionType] = {}
    classes: dict[type, None] = {}
    names: set[str] = set()
    found: list[Any] = [function, *values]
    while found:
        for x in found:
            x = x.__func__ if type(x) in (staticmethod, classmethod) else x
            if isinstance(x, FunctionType) and is_users(x.__code__):
                functions[id(x)] = plain_of(x)
                names.update(names_of(x.__code__))
                names.update(names_of(plain_of(x).__code__))
            elif isinstance(x, type) and not _is_library(x.__module__):
                classes.update(dict.fromkeys(c for c in x.__mro__ if c is not object))
        scopes: list[Any] = [f.__globals__ for f in functions.values()]
        scopes += [vars(v) for s in scopes for n in names if _is_module(v := s.get(n))]
        scopes += map(vars, classes)
        near = {id(v): v for s in scopes for n in names if (v := s.get(n, MISSING)) is not MISSING}
        for name in names:
            for c in classes:
                _check_descriptor(c.__dict__.get(name), name)
        made = [*near.values(), *(type(v) for v in near.values() if is_plain(type(v)))]
        found = [x for x in made if _is_new(x, functions, classes)]


def _is_new(x: Any, functions: Container[int], classes: Container[type]) -> bool:
    """Whether it is a function or a class of the user's, and not among these."""
    x = x.__func__ if type(x) in (staticmethod, classmethod) else x
    if isinstance(x, FunctionType):
        return id(x) not in functions and is_users(x.__code__)
    if not isinstance(x, type) or x in classes or _is_library(x.__module__):
        return False
    return not _is_pythons(x.__module__)


def _is_pythons(name: str) -> bool:
    """Whether a module of this name belongs to the standard library."""
    return name != "__main__" and name.partition(".")[0] in sys.stdlib_module_names


def _is_module(x: Any) -> bool:
    """Whether it is a module of the user's."""
    return isinstance(x, ModuleType) and not (_is_library(x.__name__) or _is_pythons(x.__name__))


def _check_descriptor(value: Any, name: str) -> None:
    if type(value) is property:
        _getter(value, name)
    elif hasattr(type(value), "__get__") and not isinstance(value, _PLAIN_DESCRIPTORS):
        raise CannotStage(f"reads `{name}`, a {type(value).__name__}, which computes it")


def _getter(value: property, name: str) -> FunctionType:
    """The function that computes a property, if it does nothing else."""
    getter = value.fget
    if value.fset or not isinstance(getter, FunctionType) or not _is_harmless(getter):
        raise CannotStage(f"uses the property `{name}`")
    return getter


_FIELD: Any = type(vars(namedtuple("_Some", "part"))["part"])  # of a named tuple
_PLAIN_DESCRIPTORS = (
    _FIELD, FunctionType, BuiltinFunctionType, staticmethod, classmethod, MemberDescriptorType,
    GetSetDescriptorType, type, type(None),
)  # fmt: skip


def _getters(functions: Sequence[FunctionType], classes: Sequence[type]) -> list[FunctionType]:
    """The functions of properties that may have been read. A trace runs them as they are."""
    names = {n for f in functions for n in names_of(f.__code__)}
    found: dict[int, FunctionType] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        for c in (c for cls in classes for c in cls.__mro__):
            value = c.__dict__.get(name)
            if type(value) is not property or id(value.fget) in found:
                continue
            getter = found[id(value.fget)] = _getter(value, name)
            todo += [n for n in names_of(getter.__code__) if n not in names]
            names.update(todo)
    return list(found.values())


def _is_harmless(function: FunctionType) -> bool:
    return not any(
        i.opname.startswith(_ACTIVE) for c in inner_codes(function.__code__)
        for i in dis.get_instructions(c)
    )  # fmt: skip


_ACTIVE = ("CALL", "PRECALL", "STORE_", "DELETE_", "IMPORT", "YIELD", "SEND", "FORMAT")


def _is_library(name: str) -> bool:
    return name.partition(".")[0] in _LIBRARIES


def reads(functions: list[FunctionType], without: CodeType) -> set[str]:
    """The names that these functions may read from outside."""
    codes = [c for f in functions if f.__code__ is not without for c in inner_codes(f.__code__)]
    return {name for c in codes for name in c.co_names}


def check(value: Any, what: str) -> None:
    """Refuse what may change while its name stays bound to it. (Arrays are read at each call.)"""
    if isinstance(value, (tuple, frozenset)):
        for x in value:
            check(x, what)
    elif is_generator(value) and type(value).__module__.startswith("lazynp."):
        return  # to draw from it is refused, or known to the program
    elif not isinstance(value, _PASSING) or (  # arrays of NumPy's are instances of ours
        isinstance(value, np.ndarray) and type(value) not in (NDArray, Scalar)
    ):
        raise CannotStage(f"reads {what}, a {type(value).__name__}, which may change")


def _equal(a: Any, b: Any) -> bool:
    """Numbers and strings that were computed again."""
    if type(a) is not type(b) or not isinstance(a, (bool, int, float, complex, str, bytes)):
        return False
    return repr(a) == repr(b)
