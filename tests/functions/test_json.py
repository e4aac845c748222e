"""`json` writes float64 scalars as it writes NumPy's, and refuses what it refuses of NumPy."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import POLICIES

VALUES: dict[str, Any] = {
    "float64": lambda m: m.arange(6.0).sum() / 7,
    "nan": lambda m: m.asarray([m.nan, 1.0]).max(),
    "infinite": lambda m: -m.asarray([m.inf, 1.0]).max(),
    "in a dict": lambda m: {"a": m.ones(3).mean(), "b": [m.ones(2)[1], {"c": m.ones(1)[0]}]},
    "float32": lambda m: m.ones(3, "f4").sum(),
    "int": lambda m: m.arange(3).sum(),
    "bool": lambda m: m.ones(3).all(),
    "complex": lambda m: (m.ones(3) * 1j).sum(),
    "array": lambda m: m.ones(3),
    "array of one": lambda m: m.asarray(2.0)[None],
}
WAYS: dict[str, Any] = {
    "dumps": json.dumps,
    "indented": lambda x: json.dumps(x, indent=2, sort_keys=True),
    "to a file": lambda x: _written(x),
    "encoder": lambda x: "".join(json.JSONEncoder().iterencode(x)),
    "with a default": lambda x: json.dumps(x, default=lambda o: f"<{o.dtype}>"),
    "class": lambda x: json.dumps(x, cls=Encoder),
    "class, indented": lambda x: json.dumps(x, cls=Encoder, indent=1),
    "strict": lambda x: json.dumps(x, allow_nan=False),
}


class Encoder(json.JSONEncoder):
    """As people write it for NumPy."""

    def default(self, o: Any) -> Any:
        if isinstance(o, numpy.integer):
            return int(o)
        return o.tolist() if hasattr(o, "tolist") else super().default(o)


def _written(x: Any) -> str:
    file = io.StringIO()
    json.dump(x, file)
    return file.getvalue()


def outcome(way: Any, value: Any) -> Any:
    try:
        return way(value)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", VALUES)
def test_json_is_as_with_numpy(value: str, way: str, policy: str) -> None:
    make, write = VALUES[value], WAYS[way]
    with np.config(execution=policy):
        got, expected = outcome(write, make(np)), outcome(write, make(numpy))
    assert got == expected


def test_floats_and_others_are_as_before() -> None:
    class Half(float):
        pass

    assert json.dumps([1.5, Half(0.5), 3, True, None, "s"]) == '[1.5, 0.5, 3, true, null, "s"]'
    assert json.dumps([Half(0.25)], indent=0) == "[\n0.25\n]"
    with pytest.raises(TypeError, match="object is not JSON serializable"):
        json.dumps(object())
    with pytest.raises(ValueError, match="Circular"):
        x: list[Any] = []
        x.append(x)
        json.dumps(x)
