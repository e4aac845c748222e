"""Matplotlib's functions that ask whether an argument is an array, and do something else if not."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")

CALLS = {
    "histograms of columns": "ax.hist(x, bins=3)[0]",
    "boxes of columns": "[line.get_ydata() for line in ax.boxplot(x)['medians']]",
    "violins of columns": "len(ax.violinplot(x)['bodies'])",
    "columns": "cbook._reshape_2D(x, 'x')",
    "points without some": "cbook.delete_masked_points(x[:, 0], np.array([1, 2, np.nan, 4, 5]))",
    "colours of streams": "ax.streamplot(X, Y, U, V, color=U).lines.get_array()",
    "widths of streams": "ax.streamplot(X, Y, U, V, linewidth=U + 3).lines.get_linewidths()",
    "a marker": "ax.plot([1, 2], marker=np.array([[0, 0], [1, 1], [0, 1.0]]))[0].get_marker()",
    "a marker's colour": "edge(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]))",
    "an image's colours": "cm.ScalarMappable().to_rgba(np.ones((2, 2, 3)) * [0.1, 0.2, 0.3])",
    "values' colours": "cm.ScalarMappable().to_rgba(np.arange(4.0).reshape(2, 2))",
    "a colour": "colors.to_rgba(np.array([[0.1, 0.2, 0.3]]))",
    "colours": "colors.to_rgba_array(np.array([[0.1, 0.2, 0.3], [0, 0, 1]]))",
    "polygons": "collections.PolyCollection(np.arange(12.0).reshape(2, 3, 2)).get_paths()",
    "a bar beside several": "fig.colorbar(ax.imshow(x), ax=np.array([ax, ax])).ax.get_title()",
    "errors": "ax.errorbar(x[:, 0], x[:, 1], yerr=x.T)[2][0].get_segments()",
    "limits": "ax.set_xlim(np.array([0.0]), np.array([5.0]))",
    "text of a legend": "legend(np.array([1.0, 0, 0]))",
}


def _drawn(np: Any, call: str) -> Any:
    from matplotlib import cbook, cm, collections, colors  # noqa: PLC0415  (it may be absent)
    from matplotlib.figure import Figure  # noqa: PLC0415

    fig = Figure()
    ax = fig.add_subplot()
    Y, X = np.mgrid[-3:3:6j, -3:3:6j]

    def edge(*given: Any) -> Any:
        (line,) = ax.plot([1, 2])
        for colour in given:
            line.set_markeredgecolor(colour)
        return line.get_markeredgecolor()

    def legend(colour: Any) -> Any:
        ax.plot([1, 2], label="a")
        return [t.get_color() for t in ax.legend(labelcolor=colour).get_texts()]

    names = {
        "np": np, "ax": ax, "fig": fig, "cbook": cbook, "cm": cm, "collections": collections,
        "colors": colors, "x": np.arange(10.0).reshape(5, 2) * np.array([1, 3.0]), "X": X, "Y": Y,
        "U": 1 + X**2, "V": Y, "edge": edge, "legend": legend,
    }  # fmt: skip
    return _plain(eval(call, names))


def _plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_plain(y) for y in x]
    if hasattr(x, "vertices"):
        return _plain(x.vertices)
    return x.tolist() if hasattr(x, "tolist") else x


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_it_takes_lazy_arrays_for_arrays(call: str) -> None:
    assert _drawn(lazynp, call) == _drawn(numpy, call)
