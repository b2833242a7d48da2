"""Converts keyword arguments to flags. Rejects unknown names and wrong types before a process starts."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from ._flags import FLAGS

#: Options of other functions, with the name that they have as a flag.
_RENAMED = {"answer_overrides": "answer", "project_dir": "cwd", "resume_session_id": "resume"}
_MILLISECOND = timedelta(milliseconds=1)


def line(command: str, options: Mapping[str, object], *targets: str) -> list[str]:
    """Returns the command line of a command. A target never counts as a flag, whatever its text.

    Raises:
        TypeError: as `flags`.

    """
    return [*command.split(), *flags(command, options), *(["--", *targets] if targets else [])]


def flags(command: str, options: Mapping[str, object]) -> list[str]:
    """Returns the command line of these options.

    `None` stands for an option that is not given. `False` disables a setting that the configuration enables.

    Raises:
        TypeError: the command has no such option, or its value has another type.

    """
    known = FLAGS[command]
    arguments: list[str] = []
    rest: list[str] = []
    for name, value in options.items():
        entry = known.get(name)
        if entry is None:
            raise TypeError(_unknown(command, name, known))
        if value is None:
            continue
        kind, _, flag = entry.partition(":")
        if kind == "rest":
            rest = ["--", *(_text(name, item) for item in _items(name, value))]
        elif kind.endswith("-list"):
            convert = _CONVERTERS[kind.removesuffix("-list")]
            arguments += [f"{flag}={convert(name, item)}" for item in _items(name, value)]
        elif kind == "switch" or (kind.endswith("-or-switch") and isinstance(value, bool)):
            if not isinstance(value, bool):
                raise _wrong(name, "True or False", value)
            arguments.append(flag if value else f"--off={name}")
        else:
            convert = _CONVERTERS[kind.removesuffix("-or-switch")]
            arguments.append(f"{flag}={convert(name, value)}")
    return arguments + rest


def text(name: str, value: object) -> str:
    """Returns the value if it is a text.

    Raises:
        TypeError: the value has another type.

    """
    return _text(name, value)


def path(name: str, value: object) -> str:
    """Returns the value if it names a file or a directory.

    Raises:
        TypeError: the value has another type.

    """
    return _path(name, value)


def _unknown(command: str, name: str, known: Mapping[str, str]) -> str:
    import difflib  # noqa: PLC0415 - only for errors

    renamed = _RENAMED.get(name)
    similar = [renamed] if renamed in known else difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {similar[0]!r}?" if similar else f"`longhaul help {command}` lists the flags"
    return f"{command!r} has no option {name!r}; {hint}"


def _wrong(name: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{name} must be {expected}, not {type(value).__name__}: {value!r}")


def _items(name: str, value: object) -> Sequence[object]:
    if isinstance(value, Mapping):
        return [f"{_text(name, key)}={_word(name, item)}" for key, item in value.items()]
    if isinstance(value, (str, bytes, os.PathLike)):
        return [value]
    if isinstance(value, Sequence):
        return value
    raise _wrong(name, "a text or a list", value)


def _word(name: str, value: object) -> str:
    """Returns a value of a `KEY=VALUE` flag."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise _wrong(name, "a mapping to texts, numbers or booleans", value)


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise _wrong(name, "a text", value)


def _path(name: str, value: object) -> str:
    if isinstance(value, (str, os.PathLike)):
        found = os.fspath(value)
        if isinstance(found, str):
            return found
    raise _wrong(name, "a path", value)


def _number(name: str, value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value) if value.is_integer() else value)
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return str(value)
    raise _wrong(name, "a number, or a text such as '2M' or 'none'", value)


def _duration(name: str, value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{round(value * 1000)}ms"
    if isinstance(value, timedelta):
        return f"{round(value / _MILLISECOND)}ms"
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return str(value)
    raise _wrong(name, "seconds, a timedelta, or a text such as '1h30m' or 'none'", value)


_CONVERTERS: Mapping[str, Callable[[str, object], str]] = {
    "choice": _text,
    "duration": _duration,
    "number": _number,
    "path": _path,
    "text": _text,
}
