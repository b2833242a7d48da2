"""Defaults for several calls, as openclawpack's clients have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

from . import _api, gsd

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from typing_extensions import Unpack

    from ._api import Result
    from ._options import LoopOptions, Path
    from .events import EventBus
    from .policy import RetryPolicy

P = ParamSpec("P")
R = TypeVar("R")
#: Returns the defaults of a client for a call with these options.
_Defaults = Callable[["Client", "Collection[str]"], "Mapping[str, object]"]


def _method(function: Callable[P, R], defaults: _Defaults) -> Callable[Concatenate[Client, P], R]:
    """Returns a function as a method of a client, which adds its defaults for what is not given."""

    @wraps(function)
    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = {name: value for name, value in kwargs.items() if value is not None}
        return cast("Callable[..., R]", function)(*args, **{**defaults(client, given.keys()), **given})

    return call


def _run(client: Client, given: Collection[str]) -> Mapping[str, object]:
    return {
        "cwd": client.project_dir,
        "resume": client._session(given),
        **_policy(client),
    }


def _policy(client: Client) -> Mapping[str, object]:
    return client.retry_policy.options() if client.retry_policy else {}


def _drive(client: Client, given: Collection[str]) -> Mapping[str, object]:
    return {
        "resume_session_id": client._session(given),
        "retry_policy": client.retry_policy,
        **_project(client, given),
    }


def _project(client: Client, given: Collection[str]) -> Mapping[str, object]:
    return {"project_dir": client.project_dir, **_bus(client, given)}


def _bus(client: Client, _: Collection[str]) -> Mapping[str, object]:
    return {"event_bus": client.event_bus}


@dataclass(frozen=True)
class Client:
    """The functions of the package with defaults. An argument of a call replaces the default of its meaning.

    A call for an existing run has no defaults: the run keeps its directory, its session and its policy.

    Attributes:
        project_dir: working directory of runs and workflows, and directory of GSD projects.
        resume_session_id: session that each new run continues.
        retry_policy: retry policy of each new run.
        event_bus: receives the lifecycle events of GSD commands.

    """

    project_dir: Path | None = None
    resume_session_id: str | None = None
    retry_policy: RetryPolicy | None = None
    event_bus: EventBus | None = None

    run = _method(_api.run, _run)
    start = _method(_api.start, _run)
    stream = _method(_api.stream, _run)
    resume = staticmethod(_api.resume)
    recover = staticmethod(_api.recover)
    cancel = staticmethod(_api.cancel)
    attach = staticmethod(_api.attach)
    status = staticmethod(_api.status)
    runs = staticmethod(_api.runs)
    cost = staticmethod(_api.cost)
    show = staticmethod(_api.show)
    why = staticmethod(_api.why)
    create_project = _method(gsd.create_project, _drive)
    plan_phase = _method(gsd.plan_phase, _drive)
    execute_phase = _method(gsd.execute_phase, _drive)
    get_status = _method(gsd.get_status, _project)
    add_project = _method(gsd.add_project, _bus)
    list_projects = _method(gsd.list_projects, _bus)
    remove_project = _method(gsd.remove_project, _bus)

    async def loop(self, file: Path, project: Path | None = None, **options: Unpack[LoopOptions]) -> Result:
        """Runs a workflow until it finishes, as `longhaul.loop`."""
        given = {name: value for name, value in options.items() if value is not None}
        directory = self.project_dir if project is None else project
        return await _api.loop(file, directory, **cast("LoopOptions", {**_policy(self), **given}))

    def _session(self, given: Collection[str]) -> str | None:
        """Returns the session to continue, unless the call decides which session the run has."""
        decisive = {"resume", "resume_or_new", "resume_session_id", "session_id"}
        return None if decisive & set(given) else self.resume_session_id
