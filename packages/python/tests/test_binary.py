"""The binary is found in the variable, in the scripts of the installation, or on PATH."""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
from pathlib import Path

import pytest

import longhaul
from longhaul import _binary


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An installation without a binary."""
    monkeypatch.delenv("LONGHAUL_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(_binary, "_folders", lambda: iter([str(tmp_path / "scripts")]))
    for name in ("path", "scripts"):
        (tmp_path / name).mkdir()
    return tmp_path


def program(path: Path, text: str = "#!/bin/sh\n") -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_the_order_of_places(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = program(nowhere / "path" / "longhaul")
    assert _binary.find() == on_path
    script = program(nowhere / "scripts" / "longhaul")
    assert _binary.find() == script
    named = program(nowhere / "other")
    monkeypatch.setenv("LONGHAUL_BIN", named)
    assert _binary.find() == named


def test_the_wheel_brings_its_binary() -> None:
    if "LONGHAUL_BIN" in os.environ:
        pytest.skip("LONGHAUL_BIN names another binary")
    binary = Path(_binary.find())
    assert binary.parent == Path(sysconfig.get_path("scripts"))
    # The wheel is under test, not its sources.
    assert Path(longhaul.__file__).is_relative_to(sysconfig.get_path("purelib"))
    assert (Path(longhaul.__file__).parent / "py.typed").is_file()


def test_a_missing_binary_is_an_error_with_a_hint(nowhere: Path) -> None:
    with pytest.raises(longhaul.BinaryNotFoundError, match="found no binary") as error:
        asyncio.run(longhaul.status())
    assert "install the wheel that `cargo xtask dist` builds" in str(error.value.hint)
    assert isinstance(error.value, longhaul.LonghaulError)


def test_a_wrong_variable_is_an_error(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_BIN", str(nowhere))
    with pytest.raises(longhaul.BinaryNotFoundError, match="no executable file"):
        asyncio.run(longhaul.run("p"))


def test_another_program_is_an_error(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_BIN", program(nowhere / "other", "#!/bin/sh\necho hello\n"))
    with pytest.raises(longhaul.LonghaulError, match="is not JSON: 'hello'") as error:
        asyncio.run(longhaul.run("p"))
    assert "LONGHAUL_BIN" in str(error.value.hint)
    monkeypatch.setenv("LONGHAUL_BIN", program(nowhere / "silent"))
    for call in (longhaul.run("p"), longhaul.start("p"), longhaul.status()):
        with pytest.raises(longhaul.LonghaulError, match="printed nothing"):
            asyncio.run(call)
    # As a binary of another platform.
    monkeypatch.setenv("LONGHAUL_BIN", program(nowhere / "damaged", "\x7fELF"))
    with pytest.raises(longhaul.BinaryNotFoundError, match=r"cannot start .*/damaged: Exec format error"):
        asyncio.run(longhaul.run("p"))


def test_an_unsupported_platform_is_named(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "sunos5")
    with pytest.raises(longhaul.BinaryNotFoundError, match="no binary for this platform") as error:
        asyncio.run(longhaul.run("p"))
    assert "Subsystem for Linux" in str(error.value.hint)
