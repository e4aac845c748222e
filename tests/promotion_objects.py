"""Classes for test_promotion_objects.py, with methods that a program may run or may not."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import lazynp as np

Pair = namedtuple("Pair", "low high")
CALLS: list[Any] = []


class Grid:
    """Attributes of many kinds, also such as no method reads."""

    scale = 0.5

    def __init__(self, n: int = 12) -> None:
        self.u = np.linspace(0.0, 1.0, n)
        self.v = np.zeros(n)
        self.t, self.n, self.dt, self.on, self.name = 0.0, 0, 0.125, True, "grid"
        self.params = SimpleNamespace(dx=0.5, table=np.arange(4.0))
        self.rows: list[Any] = []
        self.pair = Pair(0.25, (1, 2.0))
        self.inner = self.v[1:-1]
        self.same = self.u
        self.rhs = flux

    def sweep(self):
        for i in range(1, len(self.u) - 1):
            self.u[i] = self.scale * (self.u[i - 1] + self.u[i + 1])

    def replaces(self):
        for i in range(len(self.u)):
            self.v[i] += self.u[i] * self.dt
        self.u = self.u + self.v
        self.t += self.dt
        self.n += 1
        return self.u

    def swaps(self):
        for i in range(len(self.u)):
            self.v[i] = self.u[i] * self.params.dx + self.t
        self.u, self.v = self.v, self.u
        self.t = self.t + 0.5
        return self

    def calls_another(self, k=2):
        for _ in range(12):
            self.sweep()
        self.u *= self._factor(k)
        return self.u.sum()

    def _factor(self, k):
        return k * self.dt if self.on else 1.0

    def through_views(self):
        for i in range(len(self.inner)):
            self.inner[i] += self.u[i] + 1
        self.v[0] += self.inner[0]
        return self.v.copy()

    def aliased(self):
        for i in range(len(self.u)):
            self.u[i] += 1
            self.same[0] += self.u[i]
        return self.same is self.u

    def with_a_property(self):
        for i in range(len(self.u)):
            self.u[i] *= self.ratio
        return self.ratio

    @property
    def ratio(self):
        return self.dt / self.params.dx

    def new_attributes(self):
        total = 0.0
        for x in self.u:
            total += x
        self.total = total
        self.found = (self.u > total).astype(np.int32)
        self.previous = self.t
        self.t = total * 0.5

    def deletes(self):
        for i in range(len(self.u)):
            self.u[i] += 0.5
        self.mark = self.u * 2
        del self.mark

    def counts(self):
        self.n += 1
        if self.n % 3 == 0:
            scale = 0.25
        else:
            scale = 1.5
        for i in range(len(self.u)):
            self.u[i] *= scale
        return self.n

    def with_a_function(self):
        for i in range(1, len(self.u)):
            self.v[i] = self.rhs(self.u, i)
        return self.pair.low + self.pair.high[1]

    def reads_parameters(self):
        for i in range(4):
            self.u[i] += self.params.table[i] * self.params.dx
        self.params.table = self.params.table + self.t
        self.t += 1.0
        self.params.dx *= 1.5

    @classmethod
    def of_class(cls, x):
        for i in range(len(x)):
            x[i] *= cls.scale
        return x

    @staticmethod
    def static(x, by=2.0):
        for i in range(len(x)):
            x[i] *= by
        return x + 1

    def asks_for_more(self):
        for i in range(len(self.u)):
            self.u[i] += 1
        return self.bonus() if self.on else 0.0

    def bonus(self):
        return self.u.sum() * getattr(self, "extra", 0.0)

    # -- not for programs ---------------------------------------------------------------------

    def appends(self):
        for i in range(len(self.u)):
            self.u[i] += 1
        self.rows.append(self.n)

    def reads_a_list(self):
        for i in range(len(self.u)):
            self.u[i] += len(self.rows)

    def reads_a_list_by_name(self):
        for i in range(len(self.u)):
            self.u[i] += len(getattr(self, "ro" + "ws"))

    def looks_for_a_list(self):
        for i in range(len(self.u)):
            self.u[i] += 1 if getattr(self, "rows", None) is None else 2

    def looks_at_its_dict(self):
        for i in range(len(self.u)):
            self.u[i] += len(self.__dict__)

    def sets_in_a_branch(self):
        for i in range(len(self.u)):
            self.u[i] += 1
        if self.u[0] > 2:
            self.dt = 0.5

    def sets_the_class(self):
        for i in range(len(self.u)):
            self.u[i] += 1
        Grid.scale = 0.5

    def divides(self):
        for i in range(len(self.u)):
            self.u[i] += 1.0 / (self.t - 100.0)
        self.t += 1.0

    def keeps_an_object(self):
        for i in range(len(self.u)):
            self.u[i] += 1
        self.last = SimpleNamespace(u=self.u)

    def keeps_a_view(self):
        for i in range(len(self.u)):
            self.u[i] += 1
        self.w = self.u * 2
        self.part = self.w[1:]

    def random_numbers(self):
        for i in range(len(self.u)):
            self.u[i] += 1
        self.n = (self.n + 7) * 6364136223846793005

    def sets_through_a_setter(self):
        for i in range(len(self.u)):
            self.u[i] += 1
        self.level = 2.0

    @property
    def level(self):
        return self.t

    @level.setter
    def level(self, value):
        CALLS.append(value)
        self.t = value


def flux(u, i):
    return 0.5 * (u[i] - u[i - 1])


METHODS = [
    "divides",
    "sweep", "replaces", "swaps", "calls_another", "through_views", "aliased", "with_a_property",
    "new_attributes", "deletes", "counts", "with_a_function", "reads_parameters",
    "reads_a_list", "reads_a_list_by_name", "looks_for_a_list", "sets_in_a_branch",
]  # fmt: skip
REFUSED = [
    "appends", "looks_at_its_dict", "sets_the_class", "keeps_an_object", "keeps_a_view",
    "sets_through_a_setter",
]  # fmt: skip


class Slotted:
    __slots__ = ("u", "t", "missing", "__dict__")

    def __init__(self) -> None:
        self.u, self.t = np.arange(6.0), 0.0
        self.more = 0.5

    def step(self):
        for i in range(len(self.u)):
            self.u[i] += self.t + self.more
        self.t += 0.5
        self.missing = self.u * 2


@dataclass
class Record:
    u: Any = field(default_factory=lambda: np.arange(6.0))
    t: float = 0.0
    parts: tuple[float, ...] = (1.0, 2.0)

    def step(self):
        for i in range(len(self.u)):
            self.u[i] += self.t + self.parts[1]
        self.t += 0.5
        return Pair(self.t, self.u.max())


@dataclass(frozen=True)
class Frozen:
    u: Any = field(default_factory=lambda: np.arange(6.0))
    k: float = 0.5

    def step(self):
        for i in range(len(self.u)):
            self.u[i] += self.k
        return self.u.mean()


@dataclass(slots=True)
class SlottedRecord:
    u: Any = field(default_factory=lambda: np.arange(6.0))
    count: int = 3

    def step(self):
        self.count += 1
        for i in range(len(self.u)):
            self.u[i] += self.count


class Base(ABC):
    rate = 0.25

    def __init__(self) -> None:
        self.y = np.ones(5)
        self._hidden = 1.0
        self.__private = 2.0

    @abstractmethod
    def slope(self, y): ...

    def step(self):
        for _ in range(12):
            self.y = self.y + self.rate * self.slope(self.y) * self.__private
        self.__private += 1e-3
        return self.y

    def __call__(self, y):
        return y * self._hidden


class Decay(Base):
    def slope(self, y):
        return -self(y) * math.pi


class Chain:
    """Objects that know each other."""

    def __init__(self) -> None:
        self.u, self.t = np.arange(5.0), 0.0
        self.other: Any = SimpleNamespace(owner=self, u=self.u, gain=2.0)

    def step(self):
        for i in range(5):
            self.other.u[i] += self.other.owner.t * self.other.gain
        self.other.owner.t += 1.0
        return self.other.owner is self


CLASSES = [Slotted, Record, Frozen, SlottedRecord, Decay, Chain]


# -- classes that no program takes ------------------------------------------------------------


class _Counting:
    def __init__(self) -> None:
        self.u = np.ones(5)

    def step(self):
        for i in range(5):
            self.u[i] += self.gain
        return self.u.sum()


class Getting(_Counting):
    def __getattr__(self, name):
        CALLS.append(name)
        return float(len(CALLS))


class Intercepting(_Counting):
    def __getattribute__(self, name):
        if name == "gain":
            CALLS.append(name)
            return float(len(CALLS))
        return object.__getattribute__(self, name)


class Setting(_Counting):
    gain = 1.0

    def __setattr__(self, name, value):
        CALLS.append(name)
        object.__setattr__(self, name, value)

    def step(self):
        for i in range(5):
            self.u[i] += 1
        self.last = self.u.sum()
        return self.last


class Computed(_Counting):
    @property
    def gain(self):
        CALLS.append(0)
        return float(len(CALLS))


class _Descriptor:
    def __get__(self, *_):
        CALLS.append(0)
        return float(len(CALLS))


class Described(_Counting):
    gain: Any = _Descriptor()


class Ending(_Counting):
    gain = 1.0

    def __del__(self):
        CALLS.append("the end")


class Adding(_Counting):
    gain = 1.0

    def __add__(self, other):
        CALLS.append(other)
        return self.gain + other

    def step(self):
        for i in range(5):
            self.u[i] += 1
        return self + 1


STRANGE = [Getting, Intercepting, Setting, Computed, Described, Ending, Adding]
