"""Runs against the agent of the drills: from the prompt to the result."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Stage, wait_until

import longhaul
from longhaul._shown import ShownRun, ShownWorkflow
from longhaul.models.stream_json import RunFinished, RunStarted
from longhaul.models.stream_result import StreamResult

#: A command that takes long, unless it was started before.
LONG = "test -e started || { touch started; sleep 300; }"


def test_run_returns_the_result(stage: Stage) -> None:
    api = stage.play("echo hello > hello.txt", "All done: hello.txt says hello.")
    result = asyncio.run(longhaul.run("write hello", check="grep hello hello.txt", **stage.options))
    api.close()
    assert result.success, result.errors
    assert result.result == "All done: hello.txt says hello."
    assert (result.outcome, result.run.verified, result.run.attempts) == ("done", "checks", 1)
    assert result.usage.input_tokens == 2000
    assert result.usage.total_cost_usd > 0
    assert (stage.work / "hello.txt").read_text() == "hello\n"
    assert "write hello" in api.prompts[0]
    assert stage.processes() == []


def test_another_outcome_is_a_result(stage: Stage) -> None:
    stage.answer_at_once()
    result = asyncio.run(longhaul.run("p", check="false", max_failed_checks=1, **stage.options))
    assert not result.success
    assert result.outcome == "check_failed"
    assert result.errors


def test_a_large_prompt_with_any_text_is_no_argument(stage: Stage) -> None:
    api = stage.play()
    prompt = "--budget 'x' \"$HOME\" `id` € " + "word " * 100_000
    result = asyncio.run(longhaul.run(prompt, name="large", **stage.options))
    api.close()
    assert result.success, result.errors
    plan = json.loads((Path(str(result.run.dir)) / "plan.json").read_text())
    assert plan["prompt"] == prompt


def test_stream_yields_typed_events_and_the_result_last(stage: Stage) -> None:
    api = stage.play("true")

    async def events() -> list[object]:
        return [event async for event in longhaul.stream("p", **stage.options)]

    found = asyncio.run(events())
    api.close()
    first, finished, result = found[0], found[-2], found[-1]
    assert isinstance(first, RunStarted)
    assert isinstance(finished, RunFinished)
    assert finished.outcome.kind == "done"
    assert isinstance(result, StreamResult)
    assert (result.is_error, result.run.outcome, result.result) == (False, "done", "All done.")
    kinds = [event.type for event in found if isinstance(event, longhaul.RawEvent)]
    assert {"assistant", "user", "attempt_result"} <= set(kinds)
    # No decision has a form that the models do not know.
    assert "longhaul" not in kinds


def test_a_stream_that_cannot_start_raises(stage: Stage) -> None:
    async def first() -> object:
        return await anext(longhaul.stream("p", budget="much", **stage.options))

    with pytest.raises(longhaul.LonghaulError, match="--budget"):
        asyncio.run(first())


def test_cancelling_the_task_cancels_the_run(stage: Stage) -> None:
    api = stage.play(LONG)

    async def cancel() -> longhaul.Result:
        task = asyncio.create_task(longhaul.run("p", name="long", **stage.options))
        await asyncio.to_thread(wait_until, (stage.work / "started").exists)
        status = await longhaul.status()
        assert [(run.state, run.name) for run in status.runs] == [("running", "long")]
        assert any("sleep 300" in command for command in stage.processes())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The supervisor has ended, and with it everything that the run started.
        assert stage.processes() == []
        shown = await longhaul.show("long")
        assert shown.outcome == "cancelled"
        assert (await longhaul.status()).runs == []
        return await longhaul.resume("long")

    result = asyncio.run(cancel())
    api.close()
    assert isinstance(result, longhaul.RunResult)
    assert (result.success, result.result) == (True, "All done.")


def test_closing_the_stream_cancels_the_run(stage: Stage) -> None:
    api = stage.play(LONG)

    async def leave() -> object:
        events = longhaul.stream("p", **stage.options)
        async for event in events:
            if isinstance(event, longhaul.RawEvent) and event.type == "assistant":
                break
        await asyncio.to_thread(wait_until, (stage.work / "started").exists)
        await events.aclose()
        assert stage.processes() == []
        return (await longhaul.show()).outcome

    assert asyncio.run(leave()) == "cancelled"
    api.close()


def test_a_second_cancellation_stops_the_agent_at_once(stage: Stage) -> None:
    # This agent ignores its input, so an interrupt alone would take ten seconds.
    init = '{"type":"system","subtype":"init","session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}'
    stage.agent.write_text(f"#!/bin/sh\necho '{init}'; touch started; exec tail -f /dev/null\n")

    async def cancel() -> object:
        task = asyncio.create_task(longhaul.run("p", **stage.options))
        await asyncio.to_thread(wait_until, (stage.work / "started").exists)
        task.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stage.processes() == []
        return (await longhaul.show()).outcome

    assert asyncio.run(cancel()) == "cancelled"


def test_a_run_survives_a_program_that_dies(stage: Stage) -> None:
    api = stage.play("touch started; until test -e finish; do sleep 0.1; done")
    code = (
        "import asyncio, longhaul, sys\n"
        "options = {'cwd': sys.argv[1], 'agent_path': sys.argv[2], 'permission_mode': 'bypassPermissions'}\n"
        "asyncio.run(longhaul.run('p', **options))"
    )
    program = subprocess.Popen([sys.executable, "-c", code, stage.work, stage.agent])
    wait_until((stage.work / "started").exists)
    program.kill()
    program.wait()
    [run] = asyncio.run(longhaul.status()).runs
    assert run.state == "running"
    (stage.work / "finish").touch()
    wait_until(lambda: not stage.processes())
    api.close()
    assert asyncio.run(longhaul.show()).outcome == "done"


def test_a_cancelled_wait_for_does_not_leave_a_run(stage: Stage) -> None:
    api = stage.play("sleep 300")

    async def limited() -> None:
        await asyncio.wait_for(longhaul.run("p", **stage.options), timeout=0.001)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(limited())
    api.close()
    assert stage.processes() == []


def test_a_detached_run_is_cancelled_by_its_id(stage: Stage) -> None:
    api = stage.play(LONG)

    async def detached() -> list[longhaul.Result]:
        started = await longhaul.start("p", **stage.options)
        await asyncio.to_thread(wait_until, (stage.work / "started").exists)
        cancelled = await longhaul.cancel(started.run.id)
        assert cancelled.outcome == "cancelled"
        # Until the supervisor has exited, a second call returns the same result.
        await asyncio.to_thread(wait_until, lambda: not stage.processes())
        with pytest.raises(longhaul.LonghaulError, match="already finished: cancelled") as error:
            await longhaul.cancel(started.run.id)
        assert error.value.hint == f"see `longhaul why {started.run.id}`"
        why = await longhaul.why(started.run.id)
        assert why.outcome == "cancelled"
        return await longhaul.recover()

    assert asyncio.run(detached()) == []
    api.close()
    assert stage.processes() == []


@pytest.mark.parametrize(("check", "outcome"), [("true", "done"), ("false", "check_failed")])
def test_start_returns_the_run_of_a_key_whatever_its_outcome(stage: Stage, check: str, outcome: str) -> None:
    stage.answer_at_once()

    async def twice() -> tuple[object, ...]:
        first = await longhaul.run("p", key="nightly", check=check, max_failed_checks=1, **stage.options)
        again = await longhaul.start("p", key="nightly", check=check, max_failed_checks=1, **stage.options)
        return first.outcome, again.run.id, again.run.dir == first.run.dir

    assert asyncio.run(twice()) == (outcome, "nightly", True)


def test_start_without_a_run_raises(stage: Stage) -> None:
    with pytest.raises(longhaul.LonghaulError, match="cannot find the agent") as error:
        asyncio.run(longhaul.start("p", agent_path="/nowhere/agent"))
    assert "--agent-path" in str(error.value.hint)


def test_a_detached_run_is_followed_to_its_end(stage: Stage) -> None:
    api = stage.play("touch started; until test -e finish; do sleep 0.1; done")

    async def follow() -> longhaul.Result:
        started = await longhaul.start("p", **stage.options)
        await asyncio.to_thread(wait_until, (stage.work / "started").exists)
        # A cancelled call does not stop the run.
        following = asyncio.create_task(longhaul.attach(started.run.id))
        await asyncio.sleep(0)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        assert (await longhaul.status()).running == 1
        (stage.work / "finish").touch()
        return await longhaul.attach()

    result = asyncio.run(follow())
    api.close()
    assert isinstance(result, longhaul.RunResult), result.errors
    assert (result.success, result.outcome, result.result) == (True, "done", "All done."), result.errors
    again = asyncio.run(longhaul.attach(str(result.id)))
    assert again.outcome == "done"


def test_recover_takes_over_a_run_whose_supervisor_died(stage: Stage) -> None:
    api = stage.play("touch started; until test -e finish; do sleep 0.1; done")

    async def recover() -> list[longhaul.Result]:
        started = await longhaul.start("p", **stage.options)
        await asyncio.to_thread(wait_until, (stage.work / "started").exists)
        # This test started the supervisor.
        status = json.loads((Path(started.run.dir) / "status.json").read_text())
        os.kill(status["supervisor_pid"], signal.SIGKILL)
        await asyncio.to_thread(wait_until, lambda: longhaul.sync.status().orphaned == 1)
        (stage.work / "finish").touch()
        return await longhaul.recover()

    [result] = asyncio.run(recover())
    api.close()
    assert (result.success, result.outcome) == (True, "done"), result.errors
    assert stage.processes() == []


def test_resume_takes_a_prompt_and_changes(stage: Stage) -> None:
    stage.answer_at_once()

    async def twice() -> list[longhaul.Result]:
        first = await longhaul.run("first", budget=1, **stage.options)
        second = await longhaul.resume(str(first.id), "second", add_budget=2.5)
        return [first, second]

    first, second = asyncio.run(twice())
    assert second.success
    assert second.id == first.id


def test_runs_and_costs(stage: Stage) -> None:
    api = stage.play()

    async def inspect() -> None:
        result = await longhaul.run("p", **stage.options)
        runs = await longhaul.runs()
        assert [(run.id, run.outcome) for run in runs.runs] == [(result.id, "done")]
        assert (await longhaul.runs(limit=1)).runs == runs.runs
        cost = await longhaul.cost(by="run")
        assert [row.key for row in cost.rows] == [result.id]
        assert cost.total.total_cost_usd == pytest.approx(result.usage.total_cost_usd)

    asyncio.run(inspect())
    api.close()


def test_an_unknown_run_is_an_error_with_a_hint(stage: Stage) -> None:
    stage.answer_at_once()
    for call in (longhaul.show, longhaul.why, longhaul.resume, longhaul.cancel, longhaul.recover):
        with pytest.raises(longhaul.LonghaulError, match="no run `nope`") as error:
            asyncio.run(call("nope"))
        assert error.value.exit_code == 2
        assert error.value.hint


def test_a_selector_is_never_a_flag(stage: Stage) -> None:
    for call in (
        longhaul.show,
        longhaul.why,
        longhaul.resume,
        longhaul.attach,
        longhaul.cancel,
        longhaul.recover,
        longhaul.status,
        longhaul.loop,
        longhaul.plan_phase,
        longhaul.execute_phase,
        longhaul.add_project,
    ):
        for flag in ("--install", "--help"):
            with pytest.raises(longhaul.LonghaulError, match=f"no .*{flag}|{flag}: No such file") as error:
                asyncio.run(call(flag))
            assert error.value.hint
    removed = asyncio.run(longhaul.remove_project("--help"))
    assert "no project `--help`" in removed.errors[0]
    # No service was installed.
    assert not [path for path in (stage.folder / "user").rglob("*") if path.is_file()]


def test_a_workflow_has_a_result_of_its_own(stage: Stage) -> None:
    stage.answer_at_once()
    workflow = stage.folder / "workflow.toml"
    workflow.write_text(
        '[[phase]]\nname = "work"\nprompt = "Do {{ parameters.what }}."\n[parameters]\nwhat = ""\n'
    )

    async def both() -> tuple[longhaul.Result, ShownRun | ShownWorkflow, longhaul.Result]:
        parameters = {"what": "it"}
        mode = "bypassPermissions"
        result = await longhaul.loop(
            workflow, stage.work, set=parameters, agent_path=stage.agent, permission_mode=mode
        )
        return result, await longhaul.show(), await longhaul.attach()

    result, shown, attached = asyncio.run(both())
    assert isinstance(attached, longhaul.LoopResult), attached.errors
    assert attached.id == result.id
    assert str(result.id) in shown._repr_html_()
    assert isinstance(result, longhaul.LoopResult), result.errors
    assert (result.success, result.outcome) == (True, "done")
    assert [phase.name for phase in result.workflow.phases] == ["work"]
