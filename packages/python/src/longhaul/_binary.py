"""Finds the binary: a variable, the scripts of this installation, `PATH`."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from ._errors import BinaryNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Variable that names the binary.
VARIABLE = "LONGHAUL_BIN"
NAME = "longhaul"
#: Platforms that have a binary.
PLATFORMS = ("linux", "darwin")


def find() -> str:
    """Returns the path of the binary.

    Raises:
        BinaryNotFoundError: no binary is there.

    """
    named = os.environ.get(VARIABLE)
    if named:
        if _runs(named):
            return named
        raise BinaryNotFoundError(
            f"{VARIABLE} names {named}, which is no executable file",
            "set it to the path of the binary, or unset it",
        )
    for folder in _folders():
        path = os.path.join(folder, NAME)  # noqa: PTH118 - faster in a path that each call takes
        if _runs(path):
            return path
    import shutil  # noqa: PLC0415 - an installed wheel does not need it

    on_path = shutil.which(NAME)
    if on_path is not None:
        return on_path
    if not sys.platform.startswith(PLATFORMS):
        raise BinaryNotFoundError(
            f"longhaul has no binary for this platform: {sysconfig.get_platform()}",
            "use Linux or macOS; on Windows, use the Windows Subsystem for Linux",
        )
    raise BinaryNotFoundError(
        f"found no binary `{NAME}`: neither in the scripts of this Python installation nor on PATH",
        f"install the wheel that `cargo xtask dist` builds, or set {VARIABLE} to the path of the binary",
    )


def _folders() -> Iterator[str]:
    yield sysconfig.get_path("scripts")
    # `pip install --user`
    yield sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    # `pip install --target`
    yield str(Path(__file__).parent.parent / "bin")


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - as above
