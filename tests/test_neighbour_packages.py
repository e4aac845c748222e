"""What `make neighbours` concludes from the outcomes of a package's tests."""

from __future__ import annotations

from typing import Any

import pytest

from tests import neighbours

REPORT = """<testsuites><testsuite>
<testcase classname="a.T" name="one" time="1"/>
<testcase classname="a.T" name="two[x]"><failure message="">because</failure></testcase>
<testcase classname="a.T" name="three"><skipped message=""/></testcase>
<testcase classname="" name="b"><error message="">cannot be imported</error></testcase>
<testcase classname="a.T" name="one"><error message="at teardown"/></testcase>
<testcase classname="a.T" name="four"><properties/><system-out>said</system-out></testcase>
</testsuite></testsuites>"""


def test_outcomes_are_read_from_pytests_report() -> None:
    assert neighbours.outcomes(REPORT) == {
        "a.T::one": "error", "a.T::two[x]": "failed", "a.T::three": "skipped", "b": "error",
        "a.T::four": "passed",
    }  # fmt: skip


PLAIN = {"m::a": "passed", "m::b[1]": "passed", "m::b[2]": "passed", "m::c": "failed"}


@pytest.mark.parametrize(
    ("changed", "listed", "differ", "wrong"),
    [
        ({}, [], [], []),
        ({"m::a": "failed"}, ["m::a"], ["m::a"], []),
        ({"m::a": "failed"}, [], ["m::a"], ["m::a: passed with NumPy, failed with lazynp"]),
        ({"m::a": "skipped"}, [], ["m::a"], ["m::a: passed with NumPy, skipped with lazynp"]),
        ({"m::c": "passed"}, [], ["m::c"], ["m::c: failed with NumPy, passed with lazynp"]),
        ({"m::d": "error"}, [], ["m::d"], ["m::d: missing with NumPy, error with lazynp"]),
        ({"m::b[1]": "failed", "m::b[2]": "error"}, ["m::b"], ["m::b[1]", "m::b[2]"], []),
        ({"m::b[1]": "failed"}, ["m::b[1]"], ["m::b[1]"], []),
        ({"m::b[1]": "failed"}, ["m"], ["m::b[1]"], []),
        ({}, ["m::a"], [], ["m::a: listed as different, and is not"]),
        ({}, ["m::gone"], [], ["m::gone: listed as different, and is not"]),
        (
            {"m::a": "failed"}, ["m::aa"], ["m::a"],
            [
                "m::a: passed with NumPy, failed with lazynp",
                "m::aa: listed as different, and is not",
            ],
        ),
    ],
)  # fmt: skip
def test_differences_must_be_those_listed(
    changed: Any, listed: Any, differ: Any, wrong: Any
) -> None:
    found = neighbours.compare(PLAIN, PLAIN | changed, dict.fromkeys(listed, "a reason"))
    assert (list(found[0]), found[1]) == (differ, wrong)


def test_a_test_that_is_missing_with_lazynp_is_different() -> None:
    lazy = {k: v for k, v in PLAIN.items() if k != "m::a"}
    assert neighbours.compare(PLAIN, lazy, {}) == (
        {"m::a": "passed with NumPy, missing with lazynp"},
        ["m::a: passed with NumPy, missing with lazynp"],
    )


def test_every_package_is_pinned_and_every_difference_has_a_reason() -> None:
    packages = neighbours.PACKAGES
    assert len(packages) >= 20
    names = [p.name for p in packages]
    assert names == sorted(set(names))
    assert all(p.version and p.about for p in packages)
    assert all(why.strip() for p in packages for why in p.differs.values())


def test_the_table_has_the_mean_and_the_reasons(monkeypatch: Any) -> None:
    packages = [
        neighbours.Package("one", "1", "first", differs={"m::a": "because"}),
        neighbours.Package("two", "2", "second"),
    ]
    monkeypatch.setattr(neighbours, "PACKAGES", packages)
    results = [
        neighbours.Result("one", "1", 3, 0, 1, 2.0, 2.0),
        neighbours.Result("two", "2", 4, 1, 0, 1.0, 4.0),
    ]
    text = neighbours.table(results)
    assert "| two 2 | second | 4 | 1 |  | 1.0 | 4.0 | 4.00 |" in text
    assert "2 packages, 7 tests, 1 end differently; geometric mean of the ratios 2.00." in text
    assert "| one: `a` | because |" in text
