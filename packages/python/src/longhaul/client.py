"""Defaults for several calls, as openclawpack's clients have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _api, gsd

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from typing_extensions import Unpack

    from ._api import Event
    from ._options import ExecutePhaseOptions, NewProjectOptions, Path, PlanPhaseOptions, RunOptions
    from ._results import RunResult
    from .events import EventBus
    from .models.gsd_status import GsdStatus
    from .policy import RetryPolicy


@dataclass(frozen=True)
class Client:
    """Defaults for calls. An argument of a call replaces the default of the same meaning.

    Attributes:
        project_dir: working directory of runs, and directory of GSD projects.
        resume_session_id: session that each call continues.
        retry_policy: retry policy of each call.
        event_bus: receives the lifecycle events of GSD commands.

    """

    project_dir: Path | None = None
    resume_session_id: str | None = None
    retry_policy: RetryPolicy | None = None
    event_bus: EventBus | None = None

    async def run(self, prompt: str, *, progress: bool = False, **options: Unpack[RunOptions]) -> RunResult:
        """Runs a task, as `longhaul.run`."""
        return await _api.run(prompt, progress=progress, **self._run_options(options))

    def stream(self, prompt: str, **options: Unpack[RunOptions]) -> AsyncGenerator[Event, None]:
        """Runs a task and yields its events, as `longhaul.stream`."""
        return _api.stream(prompt, **self._run_options(options))

    async def create_project(self, idea: str, **arguments: Unpack[_CreateProjectArguments]) -> RunResult:
        """Creates a GSD project, as `longhaul.create_project`."""
        return await gsd.create_project(idea, **self._gsd_arguments(arguments))

    async def plan_phase(self, phase: float | str, **arguments: Unpack[_PlanPhaseArguments]) -> RunResult:
        """Plans a phase, as `longhaul.plan_phase`."""
        return await gsd.plan_phase(phase, **self._gsd_arguments(arguments))

    async def execute_phase(
        self, phase: float | str, **arguments: Unpack[_ExecutePhaseArguments]
    ) -> RunResult:
        """Executes a phase, as `longhaul.execute_phase`."""
        return await gsd.execute_phase(phase, **self._gsd_arguments(arguments))

    async def get_status(self) -> GsdStatus:
        """Returns the state of the GSD project, as `longhaul.get_status`."""
        return await gsd.get_status(project_dir=self.project_dir, event_bus=self.event_bus)

    def _run_options(self, options: RunOptions) -> Any:
        """Returns the options of a run, with the defaults for those that are not given."""
        defaults: dict[str, object] = dict(self.retry_policy.options()) if self.retry_policy else {}
        given = {name: value for name, value in options.items() if value is not None}
        if self.project_dir is not None:
            defaults["cwd"] = self.project_dir
        # Each of these decides which session the run has.
        if self.resume_session_id is not None and not given.keys() & {
            "resume",
            "resume_or_new",
            "session_id",
        }:
            defaults["resume"] = self.resume_session_id
        return defaults | given

    def _gsd_arguments(self, arguments: Any) -> Any:
        given = {name: value for name, value in arguments.items() if value is not None}
        defaults: dict[str, object] = {
            "project_dir": self.project_dir,
            "retry_policy": self.retry_policy,
            "event_bus": self.event_bus,
        }
        if not given.keys() & {"resume", "resume_or_new", "resume_session_id"}:
            defaults["resume_session_id"] = self.resume_session_id
        return defaults | given


if TYPE_CHECKING:
    from collections.abc import Mapping

    class _CreateProjectArguments(NewProjectOptions, total=False):
        answer_overrides: Mapping[str, object] | None
        resume_session_id: str | None
        event_bus: EventBus | None
        retry_policy: RetryPolicy | None

    class _PlanPhaseArguments(PlanPhaseOptions, total=False):
        answer_overrides: Mapping[str, object] | None
        resume_session_id: str | None
        event_bus: EventBus | None
        retry_policy: RetryPolicy | None

    class _ExecutePhaseArguments(ExecutePhaseOptions, total=False):
        answer_overrides: Mapping[str, object] | None
        resume_session_id: str | None
        event_bus: EventBus | None
        retry_policy: RetryPolicy | None
