"""GSD projects, with the functions of openclawpack. Each one calls a command of `longhaul gsd`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

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

    class _Arguments(TypedDict, total=False):
        answer_overrides: Mapping[str, object] | None
        resume_session_id: str | None
        retry_policy: RetryPolicy | None

    class CreateProjectArguments(NewProjectOptions, _Arguments, total=False):
        """Arguments of `create_project`."""

    class PlanPhaseArguments(PlanPhaseOptions, _Arguments, total=False):
        """Arguments of `plan_phase`."""

    class ExecutePhaseArguments(ExecutePhaseOptions, _Arguments, total=False):
        """Arguments of `execute_phase`."""


T = TypeVar("T")
#: Arguments of openclawpack that have another name as a flag.
_FLAG_OF = {"answer_overrides": "answer", "resume_session_id": "resume"}


async def create_project(
    idea: str, *, event_bus: EventBus | None = None, **options: Unpack[CreateProjectArguments]
) -> RunResult:
    """Creates a project from an idea: its requirements and its phases.

    Args:
        idea: the idea.
        event_bus: receives the lifecycle events.
        **options: the flags of `longhaul gsd new-project`, such as `project_dir` and `timeout`. As in
            openclawpack, `answer_overrides` stands for `answer`, `resume_session_id` for `resume`, and
            `retry_policy` for the retry flags that are not given.

    """
    return await _drive("gsd new-project", "-", options, event_bus, _arguments.text("idea", idea))


async def plan_phase(
    phase: float | str, *, event_bus: EventBus | None = None, **options: Unpack[PlanPhaseArguments]
) -> RunResult:
    """Plans a phase, such as `3` or `"2.1"`. The arguments are those of `create_project`."""
    return await _drive("gsd plan-phase", _phase(phase), options, event_bus)


async def execute_phase(
    phase: float | str, *, event_bus: EventBus | None = None, **options: Unpack[ExecutePhaseArguments]
) -> RunResult:
    """Executes the plans of a phase. The arguments are those of `create_project`."""
    return await _drive("gsd execute-phase", _phase(phase), options, event_bus)


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


def _phase(phase: float | str) -> str:
    if isinstance(phase, bool) or not isinstance(phase, (int, float, str)):
        raise TypeError(f"phase must be a number or a text such as '2.1', not {phase!r}")
    if str(phase).startswith("-"):
        raise LonghaulError(f"no phase has the number {phase}", "give a number such as 3 or '2.1'")
    return str(phase)


async def _drive(
    command: str,
    target: str,
    options: Mapping[str, object],
    bus: EventBus | None,
    stdin: str | None = None,
) -> RunResult:
    """Runs a command that drives a run."""

    async def on_line(line: str) -> bool:
        return await deliver(bus, line)

    arguments = [*command.split(), target, *_arguments.flags(command, _as_flags(options))]
    return _run_result(await _results(arguments, stdin, on_line=on_line))


def _as_flags(options: Mapping[str, object]) -> Mapping[str, object]:
    """Returns the options with the arguments of openclawpack as flags. An explicit flag beats the policy."""
    for name, flag in _FLAG_OF.items():
        if options.get(name) is not None and options.get(flag) is not None:
            raise TypeError(f"{name} and {flag} have the same meaning; give one of them")
    given = {_FLAG_OF.get(name, name): value for name, value in options.items() if value is not None}
    policy = given.pop("retry_policy", None)
    return given if policy is None else dict(cast("RetryPolicy", policy).options()) | given


async def _local(name: str, arguments: list[str], model: type[T], bus: EventBus | None) -> T:
    """Returns the envelope of a command that calls no model. Its event is that of openclawpack."""
    value = await _results(arguments)
    if bus is not None:
        state: dict[str, Any] = {"status": "complete"} if value["success"] else {"errors": value["errors"]}
        kind = EventType.PROGRESS_UPDATE if value["success"] else EventType.ERROR
        await bus.emit_async(Event(kind.value, {"command": name, **state}))
    return decode(model, value)
