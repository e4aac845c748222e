"""Our `dataclass` beside the standard library's: fields, equality, hashes, errors, `replace`."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any, ClassVar

import pytest

from lazynp import _dataclass

OPTIONS: list[dict[str, Any]] = [
    {}, {"frozen": True}, {"frozen": True, "eq": False}, {"eq": False}, {"unsafe_hash": True},
]  # fmt: skip


def made(dataclass: Any, options: dict[str, Any]) -> Any:
    @dataclass(**options)
    class Base:
        x: int
        kind: ClassVar[str] = "base"
        y: list[int] = dataclasses.field(default_factory=list)

    @dataclass(**options)
    class Point(Base):
        z: float = 0.5
        x: int = 3  # type: ignore[misc]

        def norm(self) -> float:
            return self.x + self.z

    return Point


def seen(function: Any) -> Any:
    try:
        return function()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_as_the_standard_librarys(options: dict[str, Any]) -> None:
    found = []
    for dataclass in (_dataclass.dataclass, dataclasses.dataclass):
        cls = made(dataclass, options)
        a, b, c = cls(), cls(3, [], 0.5), cls(z=1.5, x=4)
        other = made(dataclass, options)()
        found.append(
            [
                repr(a).split("locals>.")[-1], a == b, a == c, a == other, a != b,
                a == (3, [], 0.5),
                seen(lambda a=a, b=b: hash(a) == hash(b)),
                seen(lambda a=a: setattr(a, "x", 5)), seen(lambda a=a: delattr(a, "z")),
                seen(lambda cls=cls: cls(1, 2, 3, 4)), seen(lambda cls=cls: cls(q=1)),
                a.y is b.y, a.y is cls().y, c.norm(), cls.kind, vars(c),
                dataclasses.replace(c, x=9).x, dataclasses.asdict(c), dataclasses.astuple(c),
                [f.name for f in dataclasses.fields(cls)], dataclasses.is_dataclass(c),
                cls.__dataclass_params__.frozen,
                list(inspect.signature(cls).parameters), vars(copy.deepcopy(c)),
            ]
        )  # fmt: skip
    assert found[0] == found[1]


def test_hashes_are_of_the_values() -> None:
    cls = made(_dataclass.dataclass, {"frozen": True})
    assert hash(cls(1, (), 2.5)) == hash(cls(1, (), 2.5)) == hash((1, (), 2.5))


@_dataclass.dataclass(frozen=True)
class Known:
    x: int
    y: str = "a"


@_dataclass.dataclass
class After:
    x: int
    double: int = 0

    def __post_init__(self) -> None:
        self.double = 2 * self.x


def test_pickles_and_what_follows() -> None:
    assert pickle.loads(pickle.dumps(Known(3))) == Known(3)
    assert After(4).double == 8
    assert _dataclass.dataclass(type("None_", (), {}))() is not None
