"""The syntax tree of a function, from its file; and a function from a rewritten tree.

The tree is used only if compiling it gives exactly the code that the function has: a file may have
changed since it was imported, and tools rewrite code on import.
"""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import linecache
import threading
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from lazynp._memo import Memo

Function = ast.FunctionDef | ast.Lambda
_DEFINED = ".function"
RUNTIME = ".control"  # the rewritten code's name of the operators; no name of a user's has a dot

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag

# by file: its lines, the flags of the compiler, the tree, and the code objects by first line
_File = tuple[list[str], int, ast.Module, dict[int, list[CodeType]]]
_files: Memo[str, _File] = Memo("sources", 256)


class Front:
    """Stands in front of a function, whose code only calls it."""

    plain: FunctionType  # the function as it was

    def explained(self) -> str:
        raise NotImplementedError


class Door:
    """What that code calls. The collector of garbage does not look into code, so the door does not
    keep the front alive.
    """

    def front(self) -> Front | None:
        raise NotImplementedError


def front_of(function: Any) -> Front | None:
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType) and code.co_names == ("run",):
        door = next((c for c in code.co_consts if isinstance(c, Door)), None)
        return None if door is None else door.front()
    return None


def plain_of(function: Any) -> Any:
    """The function behind a front, if there is one."""
    front = front_of(function)
    if front is None:
        return function
    plain = front.plain
    return MethodType(plain, function.__self__) if isinstance(function, MethodType) else plain


_parsing = threading.RLock()  # Python 3.11 counts the depth of a tree for all threads together


def _file(function: FunctionType) -> _File | None:
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    flags = code.co_flags & _FUTURE
    found = _files.get(code.co_filename)
    if found is None or found[0] != lines or found[1] != flags:
        try:
            with _parsing:
                tree = ast.parse("".join(lines), code.co_filename)
                whole = compile(tree, code.co_filename, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, SystemError):
            return None
        codes: dict[int, list[CodeType]] = {}
        for inner in inner_codes(whole):
            codes.setdefault(inner.co_firstlineno, []).append(inner)
        found = _files.put(code.co_filename, (lines, flags, tree, codes))
    return found


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """The code object and all those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from inner_codes(constant)


def tree_of(function: FunctionType) -> tuple[Function, str | None] | None:
    """The node that defines a function, and the class whose private names it uses; None if its
    source is unknown.
    """
    code = function.__code__
    found = _file(function)
    if found is None:
        return None
    same = [c for c in found[3].get(code.co_firstlineno, ()) if _equal(c, code)]
    if not same or {_span(c) for c in same} != {_span(code)}:
        return None
    nodes = list(_nodes(found[2], code, None))
    if not nodes:
        return None
    if isinstance(nodes[0][0], ast.Lambda):  # the innermost of those around the code
        return nodes[-1]
    return nodes[0] if len(nodes) == 1 else None


def whole_tree(function: FunctionType) -> ast.AST | None:
    """The node that the function's code comes from: of a function, or of a whole module."""
    code = function.__code__
    if code.co_name != "<module>":
        found = tree_of(function)
        return None if found is None or isinstance(found[0], ast.Lambda) else found[0]
    file = _file(function)
    same = file is not None and any(
        _equal(c, code) and _span(c) == _span(code) for c in file[3].get(code.co_firstlineno, ())
    )
    return file[2] if file is not None and same else None


def _equal(a: CodeType, b: CodeType) -> bool:
    """Whether these are equal. The names come first: see `_recipes.recipe_of`."""
    return a.co_name == b.co_name and a == b


def _span(code: CodeType) -> tuple[Any, ...]:
    return tuple(code.co_positions())


def _nodes(tree: ast.AST, code: CodeType, owner: str | None) -> Iterator[tuple[Function, Any]]:
    """Definitions from which this code may come, below a node. Files are long, so only what
    reaches over its first line is looked at.
    """
    for node in ast.iter_child_nodes(tree):
        first = _first_line(node)
        if first and not first <= code.co_firstlineno <= node.end_lineno:  # type: ignore
            continue
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if first == code.co_firstlineno:
                yield node, owner
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            if node.lineno == code.co_firstlineno and _is_body(node.body, code):
                yield node, owner
        yield from _nodes(node, code, node.name if isinstance(node, ast.ClassDef) else owner)


def _first_line(node: Any) -> int:
    """The first line of a node, or of its first decorator; 0 if it has no place of its own."""
    lines = [d.lineno for d in getattr(node, "decorator_list", ())]
    return min(lines) if lines else getattr(node, "lineno", 0)


def _is_body(body: ast.expr, code: CodeType) -> bool:
    """Whether all of the code comes from this expression."""
    first = (body.lineno, body.col_offset)
    last = (body.end_lineno, body.end_col_offset)
    for line, end_line, column, end_column in code.co_positions():
        if None in (line, end_line, column, end_column) or end_column == 0:
            continue
        if not first <= (line, column) <= (end_line, end_column) <= last:  # type: ignore
            return False
    return True


# -- back to a function ----------------------------------------------------------------------------


def compiled(node: Function, owner: str | None, function: FunctionType) -> CodeType:
    """The code of a rewritten function. The operators are its free variable `RUNTIME`."""
    code = function.__code__
    inner: Any = node
    if isinstance(node, ast.Lambda):
        result: ast.expr = node
    else:  # under another name, or a function that calls itself would find this one
        inner = copy.copy(node)
        inner.name = _DEFINED
        result = ast.Name(_DEFINED, ast.Load())
    body: list[ast.stmt] = [] if isinstance(node, ast.Lambda) else [inner]
    if owner is not None:  # private names, `self.__x`
        body = [ast.ClassDef(owner, [], [], body or [ast.Pass()], [])]
        if isinstance(node, ast.Lambda):
            body = [ast.ClassDef(owner, [], [], [ast.Assign([_store(".f")], result)], [])]
            result = ast.Attribute(ast.Name(owner, ast.Load()), ".f", ast.Load())
        else:
            result = ast.Attribute(ast.Name(owner, ast.Load()), inner.name, ast.Load())
    names = dict.fromkeys([RUNTIME, *code.co_freevars])
    arguments = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
    maker = ast.FunctionDef(".make", arguments, [*body, ast.Return(result)], [], None)
    module = ast.fix_missing_locations(ast.Module([maker], []))
    flags = code.co_flags & _FUTURE
    whole = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    own = code.co_name if isinstance(node, ast.Lambda) else _DEFINED
    places = [c for c in inner_codes(whole) if c.co_name == own]
    return _renamed(places[0], code.co_name, code.co_qualname)


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _renamed(code: CodeType, name: str, qualname: str) -> CodeType:
    """The bodies of loops and branches bear the name of their function in tracebacks."""
    constants = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            own = c.co_name.startswith(".")
            parts = (name, qualname) if own else (c.co_name, f"{qualname}.<locals>.{c.co_name}")
            c = _renamed(c, *parts)
        constants.append(c)
    return code.replace(co_name=name, co_qualname=qualname, co_consts=tuple(constants))


def is_harmless(code: CodeType) -> bool:
    """Whether code that was not rewritten calls and changes nothing, or was rewritten."""
    if RUNTIME in code.co_freevars:
        return True
    return not any(i.opname.startswith(_EFFECTS) for c in inner_codes(code)
                   for i in dis.get_instructions(c))  # fmt: skip


_EFFECTS = ("CALL", "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE", "YIELD",
            "IMPORT", "SEND")  # fmt: skip
