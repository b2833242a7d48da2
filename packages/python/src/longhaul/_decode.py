"""Decodes JSON to the generated models.

Ignores unknown keys. A missing key is `None`: an older binary does not print it yet.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_UNIONS = (Union, types.UnionType)


def decode(model: type[T], value: object) -> T:
    """Returns the object of a model."""
    return typing.cast("T", _decode(model, value))


def decode_any(hint: Any, value: object) -> Any:
    """Returns the object of a union of models: of the first one that matches the value."""
    return _decode(hint, value)


@cache
def _fields(model: type) -> list[tuple[str, str, Any, bool]]:
    """Returns name, key, type, and whether the key may be absent, of each field of a model."""
    hints = get_type_hints(model)
    fields = []
    for field in dataclasses.fields(model):
        optional = field.default is not dataclasses.MISSING
        # A key that is a word of the language has an underscore as a field.
        fields.append((field.name, field.name.removesuffix("_"), hints[field.name], optional))
    return fields


def _decode(hint: Any, value: object) -> Any:
    if value is None:
        return None
    origin = get_origin(hint)
    if origin is list and isinstance(value, list):
        (item,) = get_args(hint)
        return [_decode(item, one) for one in value]
    if origin is dict and isinstance(value, dict):
        _, item = get_args(hint)
        return {key: _decode(item, one) for key, one in value.items()}
    if origin in _UNIONS:
        return _decode(_choose(get_args(hint), value), value)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        known = {
            name: _decode(type_, value.get(key))
            for name, key, type_, optional in _fields(typing.cast("type", hint))
            if key in value or not optional
        }
        return typing.cast("type", hint)(**known)
    return value


def _choose(hints: tuple[Any, ...], value: object) -> Any:
    """Returns the member of a union that a value has, or `object` for a value of no known member."""
    models = [hint for hint in hints if dataclasses.is_dataclass(hint)]
    if isinstance(value, dict) and len(models) == 1:
        return models[0]
    return next((hint for hint in hints if _matches(hint, value)), object)


def _matches(hint: Any, value: object) -> bool:  # noqa: PLR0911 - a table
    origin = get_origin(hint)
    if origin is list:
        return isinstance(value, list)
    if origin is dict:
        return isinstance(value, dict)
    if origin is Literal:
        return value in get_args(hint)
    if not dataclasses.is_dataclass(hint):
        return isinstance(hint, type) and isinstance(value, hint)
    if not isinstance(value, dict):
        return False
    fields = _fields(typing.cast("type", hint))
    tags = [(key, get_args(type_)) for _, key, type_, _ in fields if get_origin(type_) is Literal]
    if any(key in value and value[key] not in words for key, words in tags):
        return False
    return all(key in value for _, key, _, optional in fields if not optional)
