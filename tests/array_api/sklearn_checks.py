"""scikit-learn with array_api_dispatch. Run by test_libraries, with SCIPY_ARRAY_API=1 set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

sklearn = pytest.importorskip("sklearn")
from sklearn import (  # noqa: E402
    decomposition,
    discriminant_analysis,
    linear_model,
    metrics,
    model_selection,
    preprocessing,
)  # fmt: skip

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "standard": lambda x, y, t: preprocessing.StandardScaler().fit_transform(x),
    "min_max": lambda x, y, t: preprocessing.MinMaxScaler().fit_transform(x),
    "max_abs": lambda x, y, t: preprocessing.MaxAbsScaler().fit_transform(x),
    "normalizer": lambda x, y, t: preprocessing.Normalizer().fit_transform(x),
    "polynomial": lambda x, y, t: preprocessing.PolynomialFeatures().fit_transform(x),
    "kernel_centerer": lambda x, y, t: preprocessing.KernelCenterer().fit_transform(x @ x.T),
    "labels": lambda x, y, t: preprocessing.LabelEncoder().fit_transform(y),
    "pca": lambda x, y, t: abs(decomposition.PCA(2, svd_solver="full").fit_transform(x)),
    "ridge": lambda x, y, t: linear_model.Ridge(solver="svd").fit(x, t).coef_,
    "lda": lambda x, y, t: discriminant_analysis.LinearDiscriminantAnalysis().fit(x, y).coef_,
    "accuracy": lambda x, y, t: metrics.accuracy_score(y, 1 - y),
    "r2": lambda x, y, t: metrics.r2_score(t, t + 1),
    "mean_squared_error": lambda x, y, t: metrics.mean_squared_error(t, t + 1),
    "cosine": lambda x, y, t: metrics.pairwise.cosine_similarity(x),
    "rbf": lambda x, y, t: metrics.pairwise.rbf_kernel(x),
    "split": lambda x, y, t: model_selection.train_test_split(x, random_state=0)[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(name: str) -> None:
    x = numpy.random.default_rng(0).normal(size=(30, 3))
    operands = [x, numpy.arange(30) % 2, x[:, 0] * 2 + 1]
    with sklearn.config_context(array_api_dispatch=True):
        got = CALLS[name](*map(np.asarray, operands))
        wanted = CALLS[name](*operands)
    assert isinstance(got, (np.Array, float))
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(wanted), rtol=1e-9, atol=1e-9)
