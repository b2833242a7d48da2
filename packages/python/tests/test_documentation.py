"""The examples of the documents work with the agent of the drills, and `true` in place of `cargo test`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Stage
from test_gsd import ROADMAP, STATE, commands

import longhaul

PACKAGE = Path(__file__).resolve().parents[1]
PAGE = PACKAGE.parents[1] / "docs" / "python.md"
TEXTS = PAGE.read_text() + (PACKAGE / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXTS, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_works(example: str, stage: Stage) -> None:
    if "progress=True" in example:
        pytest.importorskip("tqdm")
    stage.as_claude()
    commands(stage)
    stage.monkeypatch.chdir(stage.work)
    command = None
    if "create_project" in example:
        # As the framework does.
        template = stage.folder / "template"
        template.mkdir()
        for name, text in (("PROJECT.md", "# Word counter\n"), ("ROADMAP.md", ROADMAP), ("STATE.md", STATE)):
            (template / name).write_text(text)
        command = "cp -r ../template .planning"
    api = stage.play(command)
    example = example.replace("cargo test", "true")
    program = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=False
    )
    api.close()
    assert program.returncode == 0, program.stderr
    assert api.prompts, program.stderr
    assert "error" not in program.stdout


def test_no_text_installs_the_package_of_another_owner() -> None:
    """The package is in no registry yet: its name there may belong to others."""
    pages = [PAGE, *(PACKAGE.parents[1] / name for name in ("README.md", "CHANGELOG.md", "docs/packages.md"))]
    for path in [*pages, PACKAGE / "README.md", *(PACKAGE / "src").rglob("*.py")]:
        names = re.findall(r"(?:pip|npm) install +(?:-\S+ +)*['\"]?([\w.@/][^\s'\"`]*)", path.read_text())
        assert [name for name in names if "/" not in name and name != "tqdm"] == [], path


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6


def test_each_function_is_documented() -> None:
    text = PAGE.read_text()
    for name in longhaul.__all__:
        documented = f"`{name}`" in text or f"longhaul.{name}" in text
        assert documented or name[0].isupper(), name
        if name[0].islower() and name != "sync":
            assert hasattr(longhaul.sync, name)
