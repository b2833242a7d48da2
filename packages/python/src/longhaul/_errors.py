"""Errors of the binary, as exceptions."""

from __future__ import annotations


class LonghaulError(Exception):
    """A command that failed without a result, such as for an unknown run."""

    def __init__(self, message: str, hint: str | None = None, exit_code: int | None = None) -> None:
        """Keeps what the binary printed."""
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        #: What failed.
        self.message = message
        #: What to do next, if the binary knows.
        self.hint = hint
        #: Exit code of the binary: 2 for wrong usage. `None` if it was not started.
        self.exit_code = exit_code


class BinaryNotFoundError(LonghaulError):
    """The package found no binary that runs here."""


def from_stderr(lines: list[str], exit_code: int) -> LonghaulError:
    """Returns the last error that the binary printed."""
    start = max((i for i, line in enumerate(lines) if line.startswith("error: ")), default=None)
    if start is None:
        last = lines[-1].strip() if lines else f"longhaul exited with {exit_code} and printed nothing"
        return LonghaulError(last, None, exit_code)
    message: list[str] = []
    hint: list[str] = []
    for line in lines[start:]:
        text = line.strip()
        if text.startswith(("hint: ", "tip: ")):
            hint.append(text.partition(": ")[2])
        elif not text or text.startswith(("Usage: ", "For more information")):
            # The usage of the command line does not concern a caller of a function.
            continue
        else:
            (hint or message).append(text.removeprefix("error: "))
    return LonghaulError(" ".join(message).strip(), " ".join(hint).strip() or None, exit_code)
