"""GSD projects, with the functions of openclawpack. Each one calls a command of `longhaul gsd`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from . import _arguments
from ._api import _results, _run_result
from ._decode import decode
from ._errors import LonghaulError
from .events import Event, EventBus, EventType, deliver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from ._options import (
        AddProjectOptions,
        ExecutePhaseOptions,
        GsdStatusOptions,
        ListProjectsOptions,
        NewProjectOptions,
        Path,
        PlanPhaseOptions,
        RemoveProjectOptions,
    )
    from ._results import RunResult
    from .models.gsd_projects_add import GsdProjectsAdd
    from .models.gsd_projects_list import GsdProjectsList
    from .models.gsd_projects_remove import GsdProjectsRemove
    from .models.gsd_status import GsdStatus
    from .policy import RetryPolicy

T = TypeVar("T")


async def create_project(
    idea: str,
    *,
    answer_overrides: Mapping[str, object] | None = None,
    resume_session_id: str | None = None,
    event_bus: EventBus | None = None,
    retry_policy: RetryPolicy | None = None,
    **options: Unpack[NewProjectOptions],
) -> RunResult:
    """Creates a project from an idea: its requirements and its phases.

    Args:
        idea: the idea.
        answer_overrides: answers to questions of the framework, by words of the question.
        resume_session_id: the session to continue.
        event_bus: receives the lifecycle events.
        retry_policy: replaces the default of three retries.
        **options: the flags of `longhaul gsd new-project`, such as `project_dir` and `timeout`.

    """
    named = _named(answer_overrides, resume_session_id, retry_policy)
    arguments = ["gsd", "new-project", "-", *_arguments.flags("gsd new-project", {**options, **named})]
    return await _call(arguments, event_bus, _arguments.text("idea", idea))


async def plan_phase(
    phase: float | str,
    *,
    answer_overrides: Mapping[str, object] | None = None,
    resume_session_id: str | None = None,
    event_bus: EventBus | None = None,
    retry_policy: RetryPolicy | None = None,
    **options: Unpack[PlanPhaseOptions],
) -> RunResult:
    """Plans a phase, such as `3` or `"2.1"`. The arguments are those of `create_project`."""
    named = _named(answer_overrides, resume_session_id, retry_policy)
    flags = _arguments.flags("gsd plan-phase", {**options, **named})
    return await _call(["gsd", "plan-phase", _phase(phase), *flags], event_bus)


async def execute_phase(
    phase: float | str,
    *,
    answer_overrides: Mapping[str, object] | None = None,
    resume_session_id: str | None = None,
    event_bus: EventBus | None = None,
    retry_policy: RetryPolicy | None = None,
    **options: Unpack[ExecutePhaseOptions],
) -> RunResult:
    """Executes the plans of a phase. The arguments are those of `create_project`."""
    named = _named(answer_overrides, resume_session_id, retry_policy)
    flags = _arguments.flags("gsd execute-phase", {**options, **named})
    return await _call(["gsd", "execute-phase", _phase(phase), *flags], event_bus)


async def get_status(
    *,
    event_bus: EventBus | None = None,
    **options: Unpack[GsdStatusOptions],
) -> GsdStatus:
    """Returns the state of a project. Calls no model."""
    from .models.gsd_status import GsdStatus  # noqa: PLC0415 - only for this call

    return await _local("get_status", _arguments.line("gsd status", options), GsdStatus, event_bus)


async def add_project(
    path: Path,
    *,
    event_bus: EventBus | None = None,
    **options: Unpack[AddProjectOptions],
) -> GsdProjectsAdd:
    """Adds a project to the list of known projects."""
    from .models.gsd_projects_add import GsdProjectsAdd  # noqa: PLC0415 - only for this call

    words = _arguments.line("gsd projects add", options, _arguments.path("path", path))
    return await _local("add_project", words, GsdProjectsAdd, event_bus)


async def list_projects(
    *, event_bus: EventBus | None = None, **options: Unpack[ListProjectsOptions]
) -> GsdProjectsList:
    """Returns the list of known projects. `refresh=True` reads the state of each project again."""
    from .models.gsd_projects_list import GsdProjectsList  # noqa: PLC0415 - only for this call

    words = _arguments.line("gsd projects list", options)
    return await _local("list_projects", words, GsdProjectsList, event_bus)


async def remove_project(
    name: str, *, event_bus: EventBus | None = None, **options: Unpack[RemoveProjectOptions]
) -> GsdProjectsRemove:
    """Removes a project from the list. Its files stay."""
    from .models.gsd_projects_remove import GsdProjectsRemove  # noqa: PLC0415 - only for this call

    words = _arguments.line("gsd projects remove", options, _arguments.text("name", name))
    return await _local("remove_project", words, GsdProjectsRemove, event_bus)


def _named(
    answer_overrides: Mapping[str, object] | None,
    resume_session_id: str | None,
    retry_policy: RetryPolicy | None,
) -> dict[str, object]:
    """Returns the arguments of openclawpack as the flags that they are."""
    named: dict[str, object] = {} if retry_policy is None else dict(retry_policy.options())
    names = {"answer": answer_overrides, "resume": resume_session_id}
    return named | {name: value for name, value in names.items() if value is not None}


def _phase(phase: float | str) -> str:
    if isinstance(phase, bool) or not isinstance(phase, (int, float, str)):
        raise TypeError(f"phase must be a number or a text such as '2.1', not {phase!r}")
    if str(phase).startswith("-"):
        raise LonghaulError(f"no phase has the number {phase}", "give a number such as 3 or '2.1'")
    return str(phase)


async def _call(arguments: list[str], bus: EventBus | None, stdin: str | None = None) -> RunResult:
    async def on_line(line: str) -> bool:
        return await deliver(bus, line)

    return _run_result(await _results(arguments, stdin, on_line=on_line))


async def _local(name: str, arguments: list[str], model: type[T], bus: EventBus | None) -> T:
    """Returns the envelope of a command that calls no model. Its event is that of openclawpack."""
    value = await _results(arguments)
    if bus is not None:
        state: dict[str, Any] = {"status": "complete"} if value["success"] else {"errors": value["errors"]}
        kind = EventType.PROGRESS_UPDATE if value["success"] else EventType.ERROR
        await bus.emit_async(Event(kind.value, {"command": name, **state}))
    return decode(model, value)
