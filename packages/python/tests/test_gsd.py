"""GSD projects with the functions of openclawpack: state and list need no model."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from conftest import Stage

import longhaul
from longhaul import Event, EventBus, EventType, RetryPolicy

ROADMAP = """# Roadmap

## Phases

- [ ] **Phase 1: Count words** - The first command

## Phase Details

### Phase 1: Count words
**Goal**: Words are counted
**Requirements**: CNT-01
"""
STATE = """# Project State

## Current Position

Phase: 1 of 1 (Count words)
Plan: 1 of 2 in current phase
Status: In progress
"""


@pytest.fixture
def project(stage: Stage) -> Path:
    """A project with one phase of two plans, the first of which is finished, and the commands of GSD."""
    phase = stage.work / ".planning" / "phases" / "01-count-words"
    phase.mkdir(parents=True)
    for name in ("01-01-PLAN.md", "01-02-PLAN.md", "01-01-SUMMARY.md"):
        (phase / name).write_text(f"# {name}\n")
    planning = stage.work / ".planning"
    (planning / "PROJECT.md").write_text("# Word counter\n")
    (planning / "ROADMAP.md").write_text(ROADMAP)
    (planning / "STATE.md").write_text(STATE)
    commands(stage)
    return stage.work


def commands(stage: Stage) -> None:
    folder = stage.work / ".claude" / "commands" / "gsd"
    folder.mkdir(parents=True)
    for name in ("new-project", "plan-phase", "execute-phase"):
        (folder / f"{name}.md").write_text(f"---\ndescription: {name}\n---\nThis is {name} for $ARGUMENTS\n")


class Recorder:
    """A bus that keeps its events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.bus = EventBus()
        self.bus.on(None, self.events.append)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]


def test_status_reads_the_project(project: Path) -> None:
    recorder = Recorder()
    status = asyncio.run(longhaul.get_status(project_dir=project, event_bus=recorder.bus))
    assert status.success
    assert status.result is not None
    assert (status.result.current_phase, status.result.current_phase_name) == (1, "Count words")
    assert status.result.progress_percent == 50
    assert status.usage.total_cost_usd == 0
    assert recorder.events == [Event("progress_update", {"command": "get_status", "status": "complete"})]


def test_status_without_a_project_is_a_failed_result(stage: Stage) -> None:
    recorder = Recorder()
    status = asyncio.run(longhaul.get_status(project_dir=stage.work, event_bus=recorder.bus))
    assert (status.success, status.result) == (False, None)
    assert "no directory `.planning`" in status.errors[0]
    assert recorder.types == ["error"]


def test_the_list_of_projects(project: Path) -> None:
    async def check() -> None:
        added = await longhaul.add_project(project, name="words")
        assert added.success, added.errors
        listed = await longhaul.list_projects(refresh=True)
        assert [entry.name for entry in listed.result or []] == ["words"]
        again = await longhaul.add_project(project, name="other")
        assert not again.success
        removed = await longhaul.remove_project("words")
        assert removed.success
        assert (await longhaul.list_projects()).result == []

    asyncio.run(check())
    assert (project / ".planning").is_dir()


def test_a_project_is_created_from_an_idea(stage: Stage) -> None:
    commands(stage)
    api = stage.play(answer="The project is created.")
    recorder = Recorder()
    result = asyncio.run(
        longhaul.create_project(
            "--count 'words' of $HOME",
            project_dir=stage.work,
            agent_path=stage.agent,
            answer_overrides={"depth": "3"},
            event_bus=recorder.bus,
        )
    )
    api.close()
    assert (result.success, result.result) == (True, "The project is created."), result.errors
    assert "--count 'words' of $HOME" in api.prompts[0]
    assert recorder.events == [Event("progress_update", {"command": "create_project", "status": "complete"})]


def test_a_phase_is_executed_with_events_and_a_policy(project: Path, stage: Stage) -> None:
    api = stage.play(answer="The phase is executed.")
    recorder = Recorder()
    policy = RetryPolicy(max_retries=1, base_delay=0.25, max_delay=8, jitter=0.1)
    client = longhaul.Client(project_dir=project, retry_policy=policy, event_bus=recorder.bus)
    result = asyncio.run(client.execute_phase(1, agent_path=stage.agent, timeout=300))
    api.close()
    assert result.success, result.errors
    assert recorder.events == [
        Event(
            "decision_needed",
            {
                "command": "execute_phase",
                "reason": "using_default_answers",
                "message": "no answers were given; defaults decide",
            },
        ),
        Event("phase_complete", {"command": "execute_phase", "phase": 1}),
    ]
    plan = json.loads((Path(str(result.run.dir)) / "plan.json").read_text())["policy"]
    assert plan["retries_max"] == 1
    assert plan["backoff"] == {"base": 250, "cap": 8000, "jitter": {"percent": 10}}
    assert plan["attempt_timeout"] == 300_000


def test_a_phase_that_does_not_exist_is_a_failed_result(project: Path, stage: Stage) -> None:
    result = asyncio.run(longhaul.plan_phase("7.1", project_dir=project, agent_path=stage.agent))
    assert (result.success, result.outcome) == (False, "not_started")
    assert "no phase 7.1" in result.errors[0]


def retries(project: Path, stage: Stage, **options: Any) -> object:
    """Executes a phase with a client that allows three retries, and returns the retries of the run."""
    client = longhaul.Client(project_dir=project, retry_policy=RetryPolicy(max_retries=3))
    api = stage.play()
    result = asyncio.run(client.execute_phase(1, agent_path=stage.agent, **options))
    api.close()
    assert result.success, result.errors
    return json.loads((Path(str(result.run.dir)) / "plan.json").read_text())["policy"]["retries_max"]


def test_an_option_of_a_call_beats_the_policy_of_the_client(project: Path, stage: Stage) -> None:
    assert retries(project, stage) == 3
    assert retries(project, stage, max_retries=9) == 9
    assert retries(project, stage, max_retries=None) == 3
    assert retries(project, stage, retry_policy=RetryPolicy(max_retries=5)) == 5


def recorded(stage: Stage) -> Path:
    """Puts a binary in place that records its arguments and fails. Returns the file that it writes."""
    binary = stage.folder / "recorder"
    binary.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{stage.folder}/arguments"\nexit 2\n')
    binary.chmod(0o755)
    stage.monkeypatch.setenv("LONGHAUL_BIN", str(binary))
    return stage.folder / "arguments"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "--resume=mine"),
        ({"resume": "other"}, "--resume=other"),
        ({"resume_session_id": "other"}, "--resume=other"),
        ({"resume_or_new": "other"}, "--resume-or-new=other"),
        ({"session_id": "other"}, "--session-id=other"),
    ],
)
def test_the_session_of_a_call_beats_that_of_the_client(
    stage: Stage, options: dict[str, Any], expected: str
) -> None:
    arguments = recorded(stage)
    client = longhaul.Client(project_dir=stage.work, resume_session_id="mine")
    takes: dict[str, list[Any]] = {
        "resume_session_id": [client.create_project],
        "session_id": [client.run, client.start],
    }
    both: list[Any] = [client.run, client.start, client.create_project]
    for function in takes.get(next(iter(options), ""), both):
        with pytest.raises(longhaul.LonghaulError):
            asyncio.run(function("p", **options))
        lines = arguments.read_text().splitlines()
        assert [line for line in lines if line.startswith(("--resume", "--session"))] == [expected]


def test_two_names_of_one_flag_are_an_error(stage: Stage) -> None:
    with pytest.raises(TypeError, match="answer_overrides and answer have the same meaning"):
        asyncio.run(longhaul.plan_phase(1, answer_overrides={"a": 1}, answer=["b=2"]))


def test_a_client_has_each_function_with_its_defaults(project: Path, stage: Stage) -> None:
    functions = {name for name in longhaul.__all__ if name[0].islower()} - {"sync"}
    assert functions <= set(dir(longhaul.Client))
    recorder = Recorder()
    elsewhere = longhaul.Client(project_dir=stage.folder, event_bus=recorder.bus)
    client = longhaul.Client(project_dir=project, event_bus=recorder.bus)

    async def check() -> None:
        assert not (await elsewhere.get_status()).success
        assert (await elsewhere.get_status(project_dir=project)).success
        assert (await client.get_status()).success
        assert (await client.add_project(project, name="words")).success
        assert [entry.name for entry in (await client.list_projects()).result or []] == ["words"]
        assert (await client.remove_project("words")).success
        for call in (client.resume, client.recover, client.cancel, client.show, client.why):
            with pytest.raises(longhaul.LonghaulError, match="no run `nope`"):
                await call("nope")

    asyncio.run(check())
    assert recorder.types == ["error", *["progress_update"] * 5]


def test_a_workflow_of_a_client_works_in_its_directory(stage: Stage) -> None:
    stage.answer_at_once()
    workflow = stage.folder / "workflow.toml"
    workflow.write_text('[[phase]]\nname = "work"\nprompt = "Do it."\n')
    client = longhaul.Client(project_dir=stage.work, retry_policy=RetryPolicy(max_retries=1))
    mode = "bypassPermissions"
    result = asyncio.run(client.loop(workflow, agent_path=stage.agent, permission_mode=mode))
    assert result.success, result.errors
    shown = asyncio.run(client.show())
    assert shown.cwd == str(stage.work)


def test_a_resumed_session_reaches_the_binary(stage: Stage) -> None:
    unknown = "0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0"
    client = longhaul.Client(project_dir=stage.work, resume_session_id=unknown)
    api = stage.play()
    result = asyncio.run(
        client.run("p", agent_path=stage.agent, permission_mode="bypassPermissions", max_retries=0)
    )
    api.close()
    assert not result.success
    assert result.run.fault == "session_lost"


def test_retry_policies_become_options() -> None:
    assert RetryPolicy().options() == {
        "max_retries": 3,
        "retry_base": 2.0,
        "retry_cap": 60.0,
        "retry_jitter": "50%",
    }
    assert RetryPolicy(jitter=0).options()["retry_jitter"] == "none"
    for wrong in ({"jitter": 2}, {"max_retries": -1}, {"base_delay": -0.1}):
        with pytest.raises(ValueError):
            RetryPolicy(**wrong)
    for wrong_type in ({"jitter": "full"}, {"max_retries": 1.5}, {"max_retries": True}, {"max_delay": None}):
        with pytest.raises(TypeError):
            RetryPolicy(**wrong_type)


def test_handlers_never_break_a_call(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []
    bus = EventBus()

    def fail(_: Event) -> None:
        raise RuntimeError("mine")

    async def later(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(f"async {event.type}")

    bus.on(EventType.ERROR, fail)
    bus.on("error", later)
    bus.on(EventType.ERROR, lambda event: seen.append(event.type))
    bus.on(EventType.PLAN_COMPLETE, lambda event: seen.append("wrong type"))
    with caplog.at_level(logging.WARNING):
        bus.emit(Event("error"))
        assert seen == ["error"]
        assert "use emit_async" in caplog.text
        asyncio.run(bus.emit_async(Event("error")))
    assert seen == ["error", "async error", "error"]
    assert caplog.text.count("RuntimeError: mine") == 2
    bus.off(fail)
    bus.off(later)
    bus.emit(Event("error"))
    assert len(seen) == 4
