"""The models are those of the schemas, and the outputs of the binary have this form."""

from __future__ import annotations

import asyncio
import dataclasses
import filecmp
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from conftest import Stage

from longhaul import _process
from longhaul._decode import decode_any

jsonschema = pytest.importorskip("jsonschema")

PACKAGE = Path(__file__).resolve().parent.parent


def test_the_generated_files_are_those_of_the_schemas(tmp_path: Path) -> None:
    pytest.importorskip("datamodel_code_generator")
    script = PACKAGE / "scripts" / "generate.py"
    subprocess.run([sys.executable, "-W", "ignore", script, tmp_path], check=True, capture_output=True)
    generated = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.py")]
    assert len(generated) > 10
    source = PACKAGE / "src" / "longhaul"
    different = [str(name) for name in generated if not filecmp.cmp(tmp_path / name, source / name, False)]
    assert different == [], "run scripts/generate.py"
    left = {path.name for path in (source / "models").glob("*.py")} - {path.name for path in generated}
    assert left == set()


def test_a_failing_generator_changes_no_file(tmp_path: Path) -> None:
    stub, target = tmp_path / "stub", tmp_path / "target"
    stub.mkdir()
    target.mkdir()
    (stub / "datamodel_code_generator.py").write_text("raise SystemExit(1)")
    (target / "_options.py").write_text("old")
    command = [sys.executable, str(PACKAGE / "scripts" / "generate.py"), str(target)]
    environment = {**os.environ, "PYTHONPATH": str(stub)}
    failed = subprocess.run(command, check=False, env=environment, capture_output=True)
    assert failed.returncode != 0
    assert {path.name: path.read_text() for path in target.iterdir()} == {"_options.py": "old"}


def output(*arguments: str, stdin: str | None = None) -> list[dict[str, Any]]:
    return asyncio.run(_process.call(list(arguments), stdin)).values()


def check(schema: str, model: str, value: dict[str, Any]) -> None:
    """Checks that a value has its schema, and that its model has every key of the value."""
    [found] = output("schema", schema)
    jsonschema.Draft202012Validator(found).validate(value)
    decoded = decode_any(getattr(import_module("longhaul.models." + schema.replace("-", "_")), model), value)
    assert dataclasses.is_dataclass(decoded), value
    assert not isinstance(decoded, type)
    assert without_absent(dataclasses.asdict(decoded)) == without_absent(value)


def without_absent(value: Any) -> Any:
    """Returns a value without null, and with the words of the language as in JSON."""
    if isinstance(value, dict):
        return {
            key.removesuffix("_"): without_absent(item) for key, item in value.items() if item is not None
        }
    return [without_absent(item) for item in value] if isinstance(value, list) else value


def test_outputs_have_their_schemas_and_models(stage: Stage) -> None:
    api = stage.play("echo hello > hello.txt")
    options = ["--cwd", str(stage.work), "--agent-path", str(stage.agent)]
    options += ["--permission-mode", "bypassPermissions", "--check", "true"]
    [run] = output("run", "-", *options, stdin="p")
    check("run", "RunEnvelope", run)
    [failed] = output("run", "-", *options, "--check", "false", "--max-failed-checks", "2", stdin="p")
    check("run", "RunEnvelope", failed)
    workflow = stage.folder / "workflow.toml"
    workflow.write_text('[[phase]]\nname = "work"\nprompt = "Do it."\n')
    [loop] = output("loop", str(workflow), str(stage.work), *options[2:6])
    check("loop", "LoopEnvelope", loop)
    [show] = output("show", "--json", run["run"]["id"])
    check("show", "Show", show)
    [why] = output("why", "--json", failed["run"]["id"])
    check("why", "Why", why)
    [show_workflow] = output("show", "--json", loop["workflow"]["id"])
    check("show-workflow", "ShowWorkflow", show_workflow)
    [why_workflow] = output("why", "--json", loop["workflow"]["id"])
    check("why-workflow", "WhyWorkflow", why_workflow)
    for command, model in (("runs", "Runs"), ("cost", "Cost"), ("status", "Status")):
        [value] = output(command, "--json")
        check(command, model, value)
    lines = output("run", "-", "--output-format", "stream-json", *options, stdin="p")
    for line in lines[:-1]:
        if line["type"] == "longhaul":
            check("stream-json", "Decision", line)
    check("stream-result", "StreamResult", lines[-1])
    [started] = output("run", "-", "--detach", "--output-format", "json", *options, stdin="p")
    check("run-detached", "RunDetached", started)
    output("attach", started["run"]["id"])
    api.close()


def test_outputs_of_gsd_have_their_schemas_and_models(stage: Stage) -> None:
    planning = stage.work / ".planning"
    planning.mkdir()
    (planning / "PROJECT.md").write_text("# Word counter\n")
    (planning / "STATE.md").write_text(
        "# State\n\n## Current Position\n\nPhase: 1 of 2 (Words)\nPlan: 1 of 2\n"
    )
    (planning / "config.json").write_text(json.dumps({"mode": "yolo"}))
    [status] = output("gsd", "status", "--project-dir", str(stage.work), "--json")
    check("gsd-status", "GsdStatus", status)
    [added] = output("gsd", "projects", "add", str(stage.work), "--json")
    check("gsd-projects-add", "GsdProjectsAdd", added)
    [listed] = output("gsd", "projects", "list", "--refresh", "--json")
    check("gsd-projects-list", "GsdProjectsList", listed)
    [removed] = output("gsd", "projects", "remove", added["result"]["name"], "--json")
    check("gsd-projects-remove", "GsdProjectsRemove", removed)
