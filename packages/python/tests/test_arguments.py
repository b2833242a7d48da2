"""Keyword arguments become flags; wrong names and types are found before a process starts."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import longhaul
from longhaul import _options
from longhaul._arguments import flags
from longhaul._flags import FLAGS


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"budget": 5, "max_tokens": "2M"}, ["--budget=5", "--max-tokens=2M"]),
        ({"budget": 2.5, "max_tokens": 2e6}, ["--budget=2.5", "--max-tokens=2000000"]),
        ({"keep_going": True, "learn": False, "model": None}, ["--keep-going", "--off=learn"]),
        ({"check": ["cargo test", "-x"]}, ["--check=cargo test", "--check=-x"]),
        ({"check": "cargo test"}, ["--check=cargo test"]),
        ({"cwd": Path("/tmp/a b")}, ["--cwd=/tmp/a b"]),
        ({"time_limit": 90, "wall_limit": "none"}, ["--time-limit=90", "--wall-limit=none"]),
        ({"retry_base": 0.25, "retry_cap": timedelta(minutes=1)},
         ["--retry-base=250ms", "--retry-cap=60000ms"]),
        ({"answer": {"database": "SQLite", "depth": 3, "git": True}},
         ["--answer=database=SQLite", "--answer=depth=3", "--answer=git=Yes"]),
        ({"review": True}, ["--review"]),
        ({"review": "opus"}, ["--review=opus"]),
        ({"review": False, "keep_going": False}, ["--off=review", "--off=keep_going"]),
        ({"agent_args": ["--add-dir", "../lib"], "budget": 1}, ["--budget=1", "--", "--add-dir", "../lib"]),
    ],
)  # fmt: skip
def test_options_become_flags(options: dict[str, object], expected: list[str]) -> None:
    assert flags("run", options) == expected


def test_a_word_of_the_language_has_an_underscore() -> None:
    options = {"from_": "work", "set": {"goal": "x"}, "skip": ["a", "b"]}
    assert flags("loop", options) == ["--from=work", "--set=goal=x", "--skip=a", "--skip=b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budgt": 5}, "has no option 'budgt'; did you mean 'budget'?"),
        ({"resume_session_id": "x"}, "did you mean 'resume'?"),
        ({"zzz": 5}, "`longhaul help run` lists the flags"),
        ({"budget": [5]}, "budget must be a number"),
        ({"budget": True}, "budget must be a number"),
        ({"keep_going": "yes"}, "keep_going must be True or False, not str: 'yes'"),
        ({"time_limit": True}, "time_limit must be seconds"),
        ({"time_limit": float("inf")}, "time_limit must be seconds"),
        ({"time_limit": float("nan")}, "time_limit must be seconds"),
        ({"budget": float("inf")}, "budget must be a number"),
        ({"cwd": 3}, "cwd must be a path"),
        ({"cwd": b"x"}, "cwd must be a path"),
        ({"check": 3}, "check must be a text or a list"),
        ({"check": ["a", 3]}, "check must be a text"),
        ({"model": 3}, "model must be a text"),
        ({"answer": {"a": None}}, "answer must be a mapping"),
        ({"detach": True}, "has no option 'detach'"),
    ],
)
def test_wrong_options_are_type_errors(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No binary is needed to find them.
    monkeypatch.setenv("LONGHAUL_BIN", "/nonexistent")
    with pytest.raises(TypeError) as error:
        asyncio.run(longhaul.run("p", **options))
    assert message in str(error.value)


def test_wrong_arguments_are_type_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_BIN", "/nonexistent")
    wrong: Any = 3
    calls = [
        longhaul.run(wrong),
        longhaul.resume(wrong),
        longhaul.resume("@", wrong),
        longhaul.show(wrong),
        longhaul.loop(wrong),
        longhaul.create_project(wrong),
        longhaul.plan_phase(True),
        longhaul.add_project(wrong),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            asyncio.run(call)


@pytest.mark.parametrize("wrong", ["a\0b", "a\ud800b"])
def test_a_text_that_cannot_be_passed_is_an_error(wrong: str) -> None:
    for call in (longhaul.show(wrong), longhaul.runs(project=wrong), longhaul.run("p", name=wrong)):
        with pytest.raises(longhaul.LonghaulError, match="cannot pass a text") as error:
            asyncio.run(call)
        assert "NUL" in str(error.value.hint)
    with pytest.raises(longhaul.LonghaulError, match="cannot pass a text"):
        asyncio.run(longhaul.run("a\ud800b"))


def test_every_option_has_a_type_and_a_flag() -> None:
    types = [cls for name, cls in vars(_options).items() if name.endswith("Options")]
    by_command = {str(cls.__doc__).split("`")[1].removeprefix("longhaul "): cls for cls in types}
    assert by_command.keys() == FLAGS.keys()
    for command, entries in FLAGS.items():
        assert by_command[command].__annotations__.keys() == entries.keys()
