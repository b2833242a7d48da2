"""A stage for each test: its directories, its environment and the agent of the drills."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import pytest
from api import ScriptedApi

from longhaul import _binary

#: Maximum time that a test waits for a state.
WAIT_SECONDS = 60.0


class RunArguments(TypedDict):
    """The options that each run of a test has."""

    cwd: Path
    agent_path: Path
    permission_mode: str


@dataclass
class Stage:
    """The directories of one test."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def agent(self) -> Path:
        return self.folder / "agent"

    @property
    def options(self) -> RunArguments:
        return {"cwd": self.work, "agent_path": self.agent, "permission_mode": "bypassPermissions"}

    def play(self, command: str | None = None, answer: str = "All done.") -> ScriptedApi:
        """Starts an API. The agents of this test use it."""
        api = ScriptedApi(command, answer)
        self.monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        self.monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
        return api

    def as_claude(self) -> None:
        """Puts the agent into PATH, where the binary looks for Claude Code."""
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "claude").symlink_to(self.agent)
        self.monkeypatch.setenv("PATH", f"{self.folder}/bin:{os.environ['PATH']}")

    def answer_at_once(self) -> None:
        """Lets the agents succeed without an API."""
        self.monkeypatch.setenv("LONGHAUL_SCRIPTED_INSTANT", "1")

    def processes(self) -> list[str]:
        """Returns the command lines of all processes that this test left, by their environment."""
        found = []
        marker = f"LONGHAUL_HOME={self.folder}/longhaul".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if marker in environment:
                found.append(command)
        return found


def wait_until(holds: Callable[[], object]) -> None:
    """Waits for a state, for a bounded time."""
    end = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < end, "the state was not reached"
        time.sleep(0.01)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    for name in ("work", "user"):
        (tmp_path / name).mkdir()
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "longhaul"))
    # Like the real agent, the scripted agent rejects bypassPermissions as root outside a sandbox.
    monkeypatch.setenv("IS_SANDBOX", "1")
    monkeypatch.chdir(tmp_path)
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\nexec {shlex.quote(_binary.find())} drill-agent "$@"\n')
    agent.chmod(0o755)
    yield Stage(tmp_path, monkeypatch)
