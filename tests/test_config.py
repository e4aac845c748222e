"""Settings: as a call, as a block, from the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._config import Config
from tests.helpers import Counted, fresh_start


@pytest.fixture(autouse=True)
def _restored() -> Any:
    names = ("execution", "cache", "progress", "max_pending", "debug")
    before = {name: getattr(np.config, name) for name in names}
    yield
    np.config(**before)


def test_a_call_sets() -> None:
    np.config(execution="reference", max_pending=7)
    assert (np.config.execution, np.config.max_pending) == ("reference", 7)
    np.config(execution="adaptive")
    assert (np.config.execution, np.config.max_pending) == ("adaptive", 7)


def test_a_block_puts_back_also_after_an_exception() -> None:
    np.config(execution="compiled", debug=False)
    with np.config(execution="reference", debug=True) as settings:
        assert settings is np.config
        assert (np.config.execution, np.config.debug) == ("reference", True)
        with np.config(execution="adaptive"):
            assert (np.config.execution, np.config.debug) == ("adaptive", True)
        assert np.config.execution == "reference"
    with pytest.raises(ZeroDivisionError), np.config(execution="reference"):
        _ = 1 // 0
    assert (np.config.execution, np.config.debug) == ("compiled", False)


def test_a_setting_takes_effect_at_once() -> None:
    x = np.arange(3.0) * 2.0
    with np.config(execution="reference"), Counted() as counted:
        x.tolist()
    assert (counted.reference_runs, counted.compiled_runs) == (1, 0)
    y = x * 3.0
    with np.config(execution="compiled"), Counted() as counted:
        assert y.tolist() == [0.0, 6.0, 12.0]
    assert (counted.reference_runs, counted.compiled_runs) == (0, 1)


def test_max_pending_bounds_what_is_pending() -> None:
    fresh_start()
    source = "x = x + 1.0\n" * 50
    space = {"x": np.zeros(2)}
    with np.config(execution="reference", max_pending=10), Counted() as counted:
        exec(compile(source, "<straight>", "exec"), space)
    assert counted.cuts >= 2


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"execution": "fast"}, ValueError, "execution must be one of"),
        ({"execution": None}, ValueError, "execution must be one of"),
        ({"max_pending": 0}, ValueError, "max_pending must be a positive int"),
        ({"max_pending": -1}, ValueError, "max_pending must be a positive int"),
        ({"max_pending": 1.5}, ValueError, "max_pending must be a positive int"),
        ({"max_pending": "many"}, ValueError, "max_pending must be a positive int"),
        ({"cache": ""}, ValueError, 'cache must be "off" or the path of a directory'),
        ({"cache": None}, ValueError, 'cache must be "off" or the path of a directory'),
        ({"progress": "often"}, ValueError, 'progress must be True, False or "auto", got'),
        ({"progress": 1}, ValueError, "progress must be True, False"),
        ({"speed": 11}, TypeError, "no setting is called 'speed'"),
        ({"version": 3}, TypeError, "no setting is called 'version'"),
    ],
)
def test_bad_values_change_nothing(settings: dict[str, Any], error: Any, message: str) -> None:
    before = repr(np.config)
    with pytest.raises(error, match=message):
        np.config(debug=not np.config.debug, **settings)
    assert repr(np.config) == before


def test_repr_shows_the_settings() -> None:
    with np.config(execution="adaptive", cache="/x", progress=True, max_pending=99, debug=True):
        assert repr(np.config) == (
            "config(execution='adaptive', cache='/x', progress=True, max_pending=99, debug=True, "
            "debug_nans=False, checks=False, loops='auto', promotion=True, background=False, "
            "cpu_devices=1, device='cpu', preallocate=False, memory_fraction=0.75)"
        )


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAZYNP_EXECUTION", "LAZYNP_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    assert (Config().execution, Config().debug) == ("adaptive", False)
    monkeypatch.setenv("LAZYNP_EXECUTION", "adaptive")
    monkeypatch.setenv("LAZYNP_DEBUG", "1")
    monkeypatch.setenv("LAZYNP_DEBUG_NANS", "1")
    assert (Config().execution, Config().debug) == ("adaptive", True)
    assert Config().debug_nans
    monkeypatch.setenv("LAZYNP_DEBUG", "0")
    assert not Config().debug
    monkeypatch.setenv("LAZYNP_MAX_PENDING", "64")
    assert Config().max_pending == 64
    for text, value in (("", "auto"), ("auto", "auto"), ("0", False), ("1", True)):
        monkeypatch.setenv("LAZYNP_PROGRESS", text)
        assert Config().progress is value or Config().progress == value
    monkeypatch.delenv("LAZYNP_PROGRESS")
    for text in ("0", "off", "False", "no", "1", "on", "TRUE", "yes"):
        monkeypatch.setenv("LAZYNP_PROMOTION", text)
        monkeypatch.setenv("LAZYNP_CHECKS", text)
        assert Config().promotion is Config().checks is (text in ("1", "on", "TRUE", "yes"))


@pytest.mark.parametrize("name", ["debug", "debug_nans", "checks", "promotion", "background"])
def test_switches_are_true_or_false(name: str) -> None:
    before = getattr(np.config, name)
    for value in ("off", "False", "", 2, None):
        with pytest.raises(ValueError, match=f"config: {name} must be True or False, got"):
            np.config(**{name: value})
    assert getattr(np.config, name) is before
    with np.config(**{name: before}), np.config(**{name: numpy.bool_(before)}):
        assert getattr(np.config, name) is before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("EXECUTION", "quick"),
        ("MAX_PENDING", "many"),
        ("MAX_PENDING", "0"),
        ("PROGRESS", "2"),
        ("CHECKS", "never"),
    ],
)
def test_a_bad_environment(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(f"LAZYNP_{name}", text)
    with pytest.raises(ValueError, match=f"LAZYNP_{name}: must be .*, got '{text}'"):
        Config()


def test_where_compiled_programs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    found = []
    for cache, base in (
        ("off", "/var/x"), ("/some/where", "/var/x"), ("~/there", ""), ("", "/var/x"), ("", ""),
        ("", "not/absolute"),
    ):  # fmt: skip
        monkeypatch.setenv("LAZYNP_CACHE", cache)
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        found.append(Config().cache)
    assert found == [
        "off", "/some/where", "/home/me/there", "/var/x/lazynp", "/home/me/.cache/lazynp",
        "/home/me/.cache/lazynp",
    ]  # fmt: skip
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # a user without a home
    assert Config().cache == "off"


def test_a_bad_environment_stops_the_import() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import lazynp"],
        env={**os.environ, "LAZYNP_EXECUTION": "quick"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "LAZYNP_EXECUTION: must be one of" in done.stderr
