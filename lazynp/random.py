"""Random sampling: NumPy's own generators and streams, with samples as Arrays.

The legacy functions share `numpy.random`'s global state. `key(seed)` starts another kind of stream,
which has no state and is part of the program: see `Key`.
"""

from __future__ import annotations

import sys as _sys
from functools import partial as _partial, wraps as _wraps
from operator import attrgetter as _attrgetter
from typing import Any as _Any

import numpy.random as _numpy

from lazynp.functions._checks import traced as _traced
from lazynp.functions._host import (
    host_call as _host_call,
    hosted as _hosted,
    to_host as _to_host,
)
from lazynp.functions._traced_draws import rule_of as _rule_of, shuffled as _shuffled
from lazynp.functions._written import by_writing as _by_writing
from lazynp.functions.keys import (
    Key as Key,
    fold_in as fold_in,
    key as key,
    split as split,
)

_OUT = {"random": 2, "standard_normal": 2, "standard_exponential": 3, "standard_gamma": 3}


def _sampled(method: _Any) -> _Any:
    """A method of a generator. `out` may be given by its place: then it is the last argument."""
    rule, place = _rule_of(method.__name__), _OUT.get(method.__name__)
    if place is None:
        return _hosted(method, rule)

    def into(function: _Any, args: _Any, kwargs: _Any) -> _Any:
        if len(args) == place + 1 and hasattr(args[place], "_read"):
            return _host_call(function, *args[:place], **kwargs, out=args[place])
        return None if rule is None else rule(function, args, kwargs)

    return _hosted(method, into)


class _Seeded(type):
    """Makes objects of NumPy's class, from lazy arrays too. For `isinstance`, it is that class."""

    def __call__(cls, *args: _Any, **kwargs: _Any) -> _Any:
        kind = vars(cls).get("_kind")
        if kind is None:  # of a class that is derived from it
            return super().__call__(*_to_host(args), **_to_host(kwargs))
        return kind(*_to_host(args), **_to_host(kwargs))

    def __instancecheck__(cls, instance: _Any) -> bool:
        kind = vars(cls).get("_kind")
        return isinstance(instance, kind) if kind else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        kind = vars(cls).get("_kind")
        return issubclass(subclass, kind) if kind else super().__subclasscheck__(subclass)

    def __eq__(cls, other: _Any) -> bool:
        return other is cls or other is vars(cls).get("_kind", cls)

    def __hash__(cls) -> int:
        return hash(vars(cls).get("_kind")) if "_kind" in vars(cls) else super().__hash__()


def _seeded(kind: _Any) -> _Any:
    name = kind.__name__
    doc = f"`numpy.random.{name}`, from lazy arrays too: see NumPy's documentation."
    named = {"__module__": __name__, "__qualname__": name, "__doc__": doc, "_kind": kind}
    return _Seeded(name, (kind,), named)


get_bit_generator = _numpy.get_bit_generator  # type: ignore[attr-defined]
set_bit_generator = _numpy.set_bit_generator  # type: ignore[attr-defined]
bit_generator = _numpy.bit_generator
test = _numpy.test  # type: ignore[attr-defined]
SeedSequence = _seeded(_numpy.SeedSequence)
MT19937 = _seeded(_numpy.MT19937)
Philox = _seeded(_numpy.Philox)
PCG64 = _seeded(_numpy.PCG64)
PCG64DXSM = _seeded(_numpy.PCG64DXSM)
SFC64 = _seeded(_numpy.SFC64)
BitGenerator = _numpy.BitGenerator
beta = _hosted(_numpy.beta)
binomial = _hosted(_numpy.binomial)
bytes = _hosted(_numpy.bytes)
chisquare = _hosted(_numpy.chisquare)
choice = _sampled(_numpy.choice)
dirichlet = _hosted(_numpy.dirichlet)
exponential = _sampled(_numpy.exponential)
f = _hosted(_numpy.f)
gamma = _sampled(_numpy.gamma)
geometric = _hosted(_numpy.geometric)
get_state = _hosted(_numpy.get_state)
gumbel = _sampled(_numpy.gumbel)
hypergeometric = _hosted(_numpy.hypergeometric)
laplace = _sampled(_numpy.laplace)
logistic = _sampled(_numpy.logistic)
lognormal = _sampled(_numpy.lognormal)
logseries = _hosted(_numpy.logseries)
multinomial = _hosted(_numpy.multinomial)
multivariate_normal = _hosted(_numpy.multivariate_normal)
negative_binomial = _hosted(_numpy.negative_binomial)
noncentral_chisquare = _hosted(_numpy.noncentral_chisquare)
noncentral_f = _hosted(_numpy.noncentral_f)
normal = _sampled(_numpy.normal)
pareto = _hosted(_numpy.pareto)
permutation = _sampled(_numpy.permutation)
poisson = _hosted(_numpy.poisson)
power = _hosted(_numpy.power)
rand = _hosted(_numpy.rand)
randint = _hosted(_numpy.randint)
randn = _hosted(_numpy.randn)
random = _hosted(_numpy.random)
random_integers = _hosted(_numpy.random_integers)
random_sample = _hosted(_numpy.random_sample)
ranf = _hosted(_numpy.ranf)
rayleigh = _sampled(_numpy.rayleigh)
sample = _hosted(_numpy.sample)
seed = _hosted(_numpy.seed)
set_state = _hosted(_numpy.set_state)
standard_cauchy = _hosted(_numpy.standard_cauchy)
standard_exponential = _hosted(_numpy.standard_exponential)
standard_gamma = _hosted(_numpy.standard_gamma)
standard_normal = _hosted(_numpy.standard_normal)
standard_t = _hosted(_numpy.standard_t)
triangular = _hosted(_numpy.triangular)
uniform = _sampled(_numpy.uniform)
vonmises = _hosted(_numpy.vonmises)
wald = _hosted(_numpy.wald)
weibull = _hosted(_numpy.weibull)
zipf = _hosted(_numpy.zipf)


# NumPy's interface of bit generators: so `numpy.random.default_rng`, with which SciPy's functions
# begin, takes our generators too, and draws from the same stream
_OF_BITS = {"capsule", "lock", "seed_seq", "state"}


class _Sampler:
    """Forwards methods to a NumPy generator, and turns their results into Arrays."""

    _generator: _Any

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """The class that `isinstance` sees: a generator that NumPy and SciPy accept."""
        return type(self._generator)

    def __reduce__(self) -> _Any:
        return _wrapped, (type(self), self._generator)

    def __getattr__(self, name: str) -> _Any:
        # pickle looks these up before the generator is set
        if name.startswith("__") or name == "_generator":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name in _OF_BITS:
            return getattr(self._generator.bit_generator, name)
        method = getattr(self._generator, name)
        if not callable(method):
            return method
        return self._keep(name, _sampled(method))

    def _keep(self, name: str, made: _Any) -> _Any:
        """Keep what was made for a method, so that later calls find it at once."""
        # for pickle; without the part in C, functions are pickled by name only
        made.reduced = _method_of, (type(self), self._generator, name)
        self.__dict__[name] = made
        return made

    def shuffle(self, x: _Any, axis: int = 0) -> None:
        """Shuffle in place. See `numpy.random.Generator.shuffle`."""
        method = self._generator.shuffle
        if type(self).shuffle is _Sampler.shuffle:  # not of a class that calls this one
            self._keep("shuffle", _by_writing(method, 2)(_partial(_shuffle, method)))
        _shuffle(method, x, axis)

    def __repr__(self) -> str:
        return repr(self._generator)

    def __str__(self) -> str:
        return str(self._generator)


def _shuffle(method: _Any, x: _Any, axis: int = 0) -> None:
    options = (axis,) if axis else ()
    if not hasattr(x, "_read"):
        method(x, *options)
    elif _traced(x):
        x[...] = _shuffled(method, x, *options)
    else:
        host = _own(x)
        method(host, *options)
        x[...] = host


def _own(x: _Any) -> _Any:
    """A copy to be shuffled, which NumPy refuses where it would refuse the array."""
    host = _to_host(x).copy()
    host.flags.writeable = x.flags.writeable
    return host


def _wrapped(kind: type[_Sampler], generator: _Any) -> _Any:
    sampler = object.__new__(kind)
    sampler._generator = generator
    return sampler


def _method_of(kind: type[_Sampler], generator: _Any, name: str) -> _Any:
    return getattr(_wrapped(kind, generator), name)


class Generator(_Sampler):
    """`numpy.random.Generator`: the same streams for the same seed; samples are Arrays."""

    def __init__(self, bit_generator: _Any) -> None:
        self._generator = _numpy.Generator(bit_generator)

    def spawn(self, n_children: int) -> list[Generator]:
        """See `numpy.random.Generator.spawn`."""
        return [_wrapped(Generator, child) for child in self._generator.spawn(n_children)]


class RandomState(_Sampler):
    """`numpy.random.RandomState`: the same streams for the same seed; samples are Arrays."""

    def __init__(self, seed: _Any = None) -> None:
        self._generator = _numpy.RandomState(_to_host(seed))


class _Method:
    """A method that the class shows; an object makes its own when it is first asked for it."""

    def __init__(self, numpys: _Any) -> None:
        def method(self: _Any, *args: _Any, **kwargs: _Any) -> _Any:
            return getattr(self, numpys.__name__)(*args, **kwargs)

        self._function = _wraps(numpys, updated=())(method)

    def __get__(self, instance: _Any, owner: type) -> _Any:
        if instance is None:
            return self._function
        return _Sampler.__getattr__(instance, self._function.__name__)


def _show_methods(cls: type) -> None:
    """What NumPy's class has, for `dir`, `help` and calls by the class."""
    kind = getattr(_numpy, cls.__name__)
    for name in set(dir(kind)) - set(dir(cls)):
        found = getattr(kind, name)
        shown = property(_attrgetter(f"_generator.{name}"), doc=found.__doc__)
        setattr(cls, name, _Method(found) if callable(found) else shown)


_show_methods(Generator)
_show_methods(RandomState)
_rand = _wrapped(RandomState, _numpy.mtrand._rand)  # type: ignore[attr-defined]
mtrand = _sys.modules[__name__]  # NumPy's module of the legacy functions; this module has them all


def default_rng(seed: _Any = None) -> Generator:
    """See `numpy.random.default_rng`."""
    if isinstance(seed, Generator):
        return seed
    plain = seed is None or type(seed) is int
    return _wrapped(Generator, _numpy.default_rng(seed if plain else _to_host(seed)))


@_by_writing(_numpy.shuffle, 1)
def shuffle(x: _Any) -> None:
    """Shuffle in place, with the global state. See `numpy.random.shuffle`."""
    _shuffle(_numpy.shuffle, x)


__all__ = [
    "BitGenerator",
    "Generator",
    "MT19937",
    "PCG64",
    "PCG64DXSM",
    "Philox",
    "RandomState",
    "SFC64",
    "SeedSequence",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "default_rng",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integers",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]
