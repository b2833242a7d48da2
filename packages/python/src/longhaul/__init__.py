"""Longhaul runs coding agents unattended and reports truthfully how each run finished.

Each function calls the `longhaul` binary, which this package carries, and returns its JSON as typed objects.
"""

from __future__ import annotations

from . import sync
from ._api import (
    Result,
    attach,
    cancel,
    cost,
    loop,
    recover,
    resume,
    run,
    runs,
    show,
    start,
    status,
    stream,
    why,
)
from ._errors import BinaryNotFoundError, LonghaulError
from ._results import LoopResult, RawEvent, RunResult
from .client import Client
from .events import Event, EventBus, EventType
from .gsd import (
    add_project,
    create_project,
    execute_phase,
    get_status,
    list_projects,
    plan_phase,
    remove_project,
)
from .policy import RetryPolicy

__all__ = [
    "BinaryNotFoundError",
    "Client",
    "Event",
    "EventBus",
    "EventType",
    "LonghaulError",
    "LoopResult",
    "RawEvent",
    "Result",
    "RetryPolicy",
    "RunResult",
    "add_project",
    "attach",
    "cancel",
    "cost",
    "create_project",
    "execute_phase",
    "get_status",
    "list_projects",
    "loop",
    "plan_phase",
    "recover",
    "remove_project",
    "resume",
    "run",
    "runs",
    "show",
    "start",
    "status",
    "stream",
    "sync",
    "why",
]
