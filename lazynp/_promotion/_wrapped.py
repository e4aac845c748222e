"""What a generator will give that passes on the items of a range, a list or an array, as those of
progress bars do (`for k in tqdm(range(n))`).

What it gives is foretold by the iterator that it goes over. A program runs rounds by what was
foretold. Before anything of these rounds is kept, the generator gives as many items, and they must
be the same. So whatever it does for each item happens once, and in order.
"""

from __future__ import annotations

import dis
import gc
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, GeneratorType
from typing import Any

from lazynp._array import Array
from lazynp.transforms.control import CannotStage, is_users

_NAMES = {"range", "len", "int", "min", "max", "abs", "enumerate", "zip", "reversed"}
_DOES_NOTHING = (
    "LOAD_FAST", "LOAD_CONST", "STORE_FAST", "BINARY_OP", "COMPARE_OP", "UNARY", "GET_ITER",
    "FOR_ITER", "YIELD_VALUE", "RETURN", "RESUME", "JUMP", "POP_", "CACHE", "NOP", "PRECALL",
    "CALL", "PUSH_NULL", "COPY", "SWAP", "END_FOR", "END_SEND", "KW_NAMES", "BUILD_TUPLE",
    "UNPACK_SEQUENCE", "EXTENDED_ARG", "LOAD_GLOBAL", "COPY_FREE_VARS", "MAKE_CELL", "TO_BOOL",
    "LOAD_SMALL_INT", "STORE_FAST", "DELETE_FAST", "CALL_INTRINSIC_1", "RERAISE", "NOT_TAKEN",
)  # fmt: skip
_PLAIN = (bool, int, float, str, range, tuple, list, type(None), CodeType, FrameType)
_DEEP = 4


class Wrapped:
    """An iterator that gives what `inner` foretells."""

    def __init__(self, iterator: Any, inner: Any) -> None:
        self._iterator, self._inner = iterator, inner
        self._given: list[Any] = []  # items that no round has had yet
        self._error: BaseException | None = None  # what the iterator has raised after these

    def __len__(self) -> int:
        return len(self._inner)

    def value(self, k: int) -> Any:
        return self._inner.value(k)

    def leaves(self) -> Iterator[Any]:
        yield from self._inner.leaves()

    def code(self, at: Any, places: dict[int, str], origin: int) -> Any:
        return self._inner.code(at, places, origin)

    @property
    def values(self) -> Any:
        """Of a range."""
        return self._inner.values

    @property
    def of(self) -> Any:
        """What it passes on."""
        return self._inner

    def take(self) -> Any:
        """The next item. Raises `StopIteration` at the end."""
        if self._given:
            return self._given.pop(0)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return next(self._iterator)

    def pass_over(self, at: int, count: int) -> None:
        """Have the items of so many rounds, which a program has run from `at` on."""
        for k in range(count):
            if k >= len(self._given):
                try:
                    self._given.append(next(self._iterator))
                except BaseException as error:
                    self._error = error
                    raise CannotStage("it is over a generator that ends early") from None
            if not _is_same(self._given[k], self._inner.value(at + k)):
                raise CannotStage("it is over a generator that gives something else")

    def passed(self, count: int) -> None:
        """These rounds were kept."""
        del self._given[:count]


def _is_same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_is_same, a, b))
    return type(a) in (int, float, str, bool) and a == b and repr(a) == repr(b)


def wrapped(generator: GeneratorType[Any, Any, Any], source_of: Callable[..., Any]) -> Any:
    """What a generator passes on, or None."""
    inner = _inner(generator, 0)
    source = source_of(inner) if inner is not None else None
    if source is None:
        return None
    return Wrapped(generator, source.of if type(source) is Wrapped else source)


def _inner(generator: Any, depth: int) -> Any:
    """The iterator that a generator goes over, if there is one."""
    if depth > _DEEP or generator.gi_running or generator.gi_frame is None:
        return None
    if is_users(generator.gi_code) and not _does_nothing(generator.gi_code):
        return None
    held = {id(x): x for x in gc.get_referents(generator)}
    if is_users(generator.gi_code):
        if not all(_is_plain(x, generator) for x in held.values()):
            return None
    elif any(map(_calls_users, held.values())):
        return None
    found = [x for x in held.values() if hasattr(type(x), "__next__")]
    if len(found) != 1:
        return None
    return _inner(found[0], depth + 1) if type(found[0]) is GeneratorType else found[0]


def _is_plain(x: Any, generator: Any) -> bool:
    """Whether computing with it does nothing else, in a generator of the user's."""
    if type(x) is FunctionType:
        return x.__code__ is generator.gi_code
    return isinstance(x, (*_PLAIN, Array)) or hasattr(type(x), "__next__")


def _calls_users(x: Any) -> bool:
    """Whether what a library's generator refers to may call functions of the user's."""
    parts = [x, *getattr(x, "__dict__", {}).values()]
    functions = [getattr(p, "__func__", p) for p in parts]
    return any(type(f) is FunctionType and is_users(f.__code__) for f in functions)


def _does_nothing(code: CodeType) -> bool:
    """Whether it computes what it yields from its own variables, and does nothing else."""
    for i in dis.get_instructions(code):
        if not i.opname.startswith(_DOES_NOTHING):
            return False
        if i.opname == "LOAD_GLOBAL" and i.argval not in _NAMES:
            return False
    return not code.co_freevars and not code.co_cellvars
