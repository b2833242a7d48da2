"""Lifecycle events of GSD commands, and the bus that delivers them. Events affect no decision."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

_LOGGER = logging.getLogger("longhaul")
_PREFIX = "event: "


class EventType(str, Enum):
    """Types of lifecycle events."""

    PHASE_COMPLETE = "phase_complete"
    PLAN_COMPLETE = "plan_complete"
    ERROR = "error"
    DECISION_NEEDED = "decision_needed"
    PROGRESS_UPDATE = "progress_update"


@dataclass(frozen=True)
class Event:
    """A lifecycle event."""

    #: An `EventType`, or a newer word.
    type: str
    data: dict[str, Any] = field(default_factory=dict)


#: A function that receives events. It may be asynchronous.
Handler = Callable[[Event], object]


class EventBus:
    """Delivers events to handlers. An exception of a handler is logged and never propagated."""

    def __init__(self) -> None:
        """Creates a bus without handlers."""
        self._handlers: list[tuple[str | None, Handler]] = []

    def on(self, event_type: EventType | str | None, handler: Handler) -> Handler:
        """Calls the handler for each event of this type, or of every type for `None`."""
        name = event_type.value if isinstance(event_type, EventType) else event_type
        self._handlers.append((name, handler))
        return handler

    def off(self, handler: Handler) -> None:
        """Removes a handler."""
        self._handlers = [entry for entry in self._handlers if entry[1] != handler]

    def emit(self, event: Event) -> None:
        """Calls the synchronous handlers. Skips asynchronous ones with a warning."""
        for handler in self._matching(event):
            if inspect.iscoroutinefunction(handler):
                _LOGGER.warning("skipped the asynchronous handler %r; use emit_async", handler)
                continue
            try:
                handler(event)
            except Exception:
                _LOGGER.exception("the handler %r failed", handler)

    async def emit_async(self, event: Event) -> None:
        """Calls all handlers, one after another, and awaits the asynchronous ones."""
        for handler in self._matching(event):
            try:
                outcome = handler(event)
                if inspect.isawaitable(outcome):
                    await outcome
            except asyncio.CancelledError:
                raise
            except Exception:
                _LOGGER.exception("the handler %r failed", handler)

    def _matching(self, event: Event) -> list[Handler]:
        return [handler for name, handler in self._handlers if name in (None, event.type)]


async def deliver(bus: EventBus | None, line: str) -> bool:
    """Delivers a line of stderr if it is a lifecycle event. Returns whether it is one."""
    if not line.startswith(_PREFIX):
        return False
    try:
        value = json.loads(line.removeprefix(_PREFIX))
        event = Event(str(value["type"]), dict(value.get("data") or {}))
    except (ValueError, KeyError, TypeError):
        return False
    if bus is not None:
        await bus.emit_async(event)
    return True
