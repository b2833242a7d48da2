"""The functions of the package. Each one calls a command of the binary and decodes its JSON."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import _arguments
from ._decode import decode, decode_any
from ._errors import LonghaulError, from_stderr
from ._process import Call, LineHandler, call, parse
from ._results import LoopResult, RawEvent, RunResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from typing_extensions import Unpack

    from ._options import (
        AttachOptions,
        CancelOptions,
        CostOptions,
        LoopOptions,
        Path,
        RecoverOptions,
        ResumeOptions,
        RunOptions,
        RunsOptions,
        ShowOptions,
        StatusOptions,
        WhyOptions,
    )
    from ._shown import ShownRun, ShownWorkflow
    from .models.cost import Cost
    from .models.run_detached import RunDetached
    from .models.runs import Runs
    from .models.status import Status
    from .models.stream_json import Decision
    from .models.stream_result import StreamResult
    from .models.why import Why
    from .models.why_workflow import WhyWorkflow

    Event = Decision | RawEvent | StreamResult

T = TypeVar("T")
Result = RunResult | LoopResult

_JSON = "--output-format=json"


async def run(prompt: str, *, progress: bool = False, **options: Unpack[RunOptions]) -> RunResult:
    """Runs a task until it finishes, and returns the result, whatever its outcome.

    Cancelling the task of this call cancels the run.

    Args:
        prompt: the task.
        progress: show a progress bar; needs tqdm.
        **options: the flags of `longhaul run`, such as `budget=5` or `check=["cargo test"]`.

    Raises:
        TypeError: an option does not exist, or its value has a wrong type.
        LonghaulError: the command was rejected; its hint says what to change.

    """
    arguments = ["run", "-", *_arguments.flags("run", options)]
    return _run_result(await _results(arguments, _arguments.text("prompt", prompt), progress=progress))


async def start(prompt: str, **options: Unpack[RunOptions]) -> RunDetached:
    """Starts a run in the background. It survives this program; `cancel` and `attach` take its id.

    With the `key` of an existing run, returns this run, even if it has finished.
    """
    from .models.run_detached import RunDetached  # noqa: PLC0415 - only for this call

    arguments = ["run", "-", "--detach", *_arguments.flags("run", options)]
    return await _one(arguments, RunDetached, stdin=_arguments.text("prompt", prompt))


async def stream(prompt: str, **options: Unpack[RunOptions]) -> AsyncGenerator[Event, None]:
    """Runs a task and yields its events. The last one is the result, a `StreamResult`.

    Closing the generator early cancels the run.
    """
    from .models.stream_json import Decision  # noqa: PLC0415 - large, and only for this call
    from .models.stream_result import StreamResult  # noqa: PLC0415 - as above

    arguments = ["--output-format=stream-json", "run", "-", *_arguments.flags("run", options)]
    process = Call(arguments, _arguments.text("prompt", prompt))
    await process.connect()
    has_result = False
    try:
        async with aclosing(process.lines()) as lines:
            async for line in lines:
                value = parse(line)
                kind = value.get("type")
                if kind == "result":
                    has_result = True
                    yield decode(StreamResult, value)
                    continue
                event = decode_any(Decision, value) if kind == "longhaul" else value
                yield cast("Decision", event) if event is not value else RawEvent(type=str(kind), data=value)
        finished = await process.wait()
    except BaseException:
        await process.interrupt()
        raise
    if not has_result:
        raise from_stderr(finished.stderr, finished.exit_code)


async def resume(
    run: str, prompt: str | None = None, *, progress: bool = False, **options: Unpack[ResumeOptions]
) -> Result:
    """Continues a finished run in its session, or a workflow.

    Args:
        run: id, name or directory of the run, or `@` for the latest one.
        prompt: a further request.
        progress: show a progress bar; needs tqdm.
        **options: the flags of `longhaul resume`, such as `add_budget=2`.

    """
    targets = [_arguments.text("run", run)]
    stdin = None
    if prompt is not None:
        targets.append("-")
        stdin = _arguments.text("prompt", prompt)
    return _result(await _results(_arguments.line("resume", options, *targets), stdin, progress=progress))


async def recover(run: str | None = None, **options: Unpack[RecoverOptions]) -> list[Result]:
    """Takes over a run whose supervisor died, or all such runs, and returns their results."""
    finished = await call([_JSON, *_arguments.line("recover", options, *_optional(run))])
    return [_result(value) for value in finished.values()]


async def cancel(run: str, **options: Unpack[CancelOptions]) -> Result:
    """Cancels a run or a workflow with everything that it started, and returns its result.

    With `now=True`, the agent gets no time to report its result.

    Raises:
        LonghaulError: the run has already finished.

    """
    return _result(await _value(_arguments.line("cancel", options, _arguments.text("run", run))))


async def attach(run: str = "@", *, progress: bool = False, **options: Unpack[AttachOptions]) -> Result:
    """Waits until a run or a workflow of another process finishes, and returns its result.

    Cancelling the task of this call does not stop the run.
    """
    arguments = _arguments.line("attach", options, _arguments.text("run", run))
    return _result(await _results(arguments, progress=progress))


async def loop(file: Path, project: Path | None = None, **options: Unpack[LoopOptions]) -> Result:
    """Runs a workflow until it finishes. The result is a `RunResult` only if the workflow did not start.

    Args:
        file: the workflow file, or the name of a built-in workflow.
        project: the directory to work in.
        **options: the flags of `longhaul loop`; `set={"goal": "…"}` sets parameters.

    """
    targets = [_arguments.path("file", file)]
    targets += [] if project is None else [_arguments.path("project", project)]
    return _result(await _results(_arguments.line("loop", options, *targets)))


async def status(workflow: str | None = None, **options: Unpack[StatusOptions]) -> Status:
    """Returns the unfinished runs: running, waiting, suspended and orphaned ones."""
    from .models.status import Status  # noqa: PLC0415 - only for this call

    return await _one(_arguments.line("status", options, *_optional(workflow)), Status)


async def runs(**options: Unpack[RunsOptions]) -> Runs:
    """Returns the list of runs, newest first."""
    from .models.runs import Runs  # noqa: PLC0415 - only for this call

    return await _one(_arguments.line("runs", options), Runs)


async def cost(**options: Unpack[CostOptions]) -> Cost:
    """Returns usage and cost, in total and by group."""
    from .models.cost import Cost  # noqa: PLC0415 - only for this call

    return await _one(_arguments.line("cost", options), Cost)


async def show(run: str = "@", **options: Unpack[ShowOptions]) -> ShownRun | ShownWorkflow:
    """Returns one run or workflow, with the decisions of each attempt."""
    from ._shown import ShownRun, ShownWorkflow  # noqa: PLC0415 - only for this call

    value = await _value(_arguments.line("show", options, _arguments.text("run", run)))
    return decode(ShownWorkflow, value) if "workflow" in value else decode(ShownRun, value)


async def why(run: str = "@", **options: Unpack[WhyOptions]) -> Why | WhyWorkflow:
    """Returns what happened in a run or a workflow, with the reasons and the next step."""
    from .models.why import Why  # noqa: PLC0415 - only for this call
    from .models.why_workflow import WhyWorkflow  # noqa: PLC0415 - as above

    value = await _value(_arguments.line("why", options, _arguments.text("run", run)))
    return decode(WhyWorkflow, value) if "workflow" in value else decode(Why, value)


def _optional(selector: str | None) -> list[str]:
    return [] if selector is None else [_arguments.text("run", selector)]


async def _results(
    arguments: list[str],
    stdin: str | None = None,
    *,
    progress: bool = False,
    on_line: LineHandler | None = None,
) -> dict[str, Any]:
    """Returns the envelope of a command that drives a run."""
    if not progress:
        finished = await call([_JSON, *arguments], stdin, on_line=on_line)
    else:
        from . import _progress  # noqa: PLC0415 - optional

        command, *rest = arguments
        async with _progress.shown(command) as (flags, descriptors):
            finished = await call([_JSON, command, *flags, *rest], stdin, descriptors=descriptors)
    values = finished.values()
    if len(values) != 1:
        raise from_stderr(finished.stderr, finished.exit_code)
    return values[0]


async def _value(arguments: list[str], stdin: str | None = None) -> dict[str, Any]:
    """Returns the output of a command that prints one object.

    A failed command prints nothing, or an envelope without a run. With the key of a finished run, a command
    prints the envelope of that run, and exits with its code.
    """
    finished = await call([_JSON, *arguments], stdin)
    values = finished.values()
    if len(values) != 1 or (finished.exit_code != 0 and values[0].get("run", {}).get("id") is None):
        raise from_stderr(finished.stderr, finished.exit_code)
    return values[0]


async def _one(arguments: list[str], model: type[T], stdin: str | None = None) -> T:
    return decode(model, await _value(arguments, stdin))


def _result(value: Mapping[str, Any]) -> Result:
    return decode(LoopResult, value) if "workflow" in value else decode(RunResult, value)


def _run_result(value: Mapping[str, Any]) -> RunResult:
    result = _result(value)
    if isinstance(result, RunResult):
        return result
    raise LonghaulError(f"expected a run, but {result.id} is a workflow")
