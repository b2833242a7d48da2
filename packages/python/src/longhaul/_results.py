"""Results of runs and workflows: the generated models, with common properties and a view for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .models.loop import LoopEnvelope
from .models.run import RunEnvelope

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Maximum number of characters of the last message in a notebook.
_RESULT_MAX = 2000


def table(rows: Iterable[tuple[str, object]]) -> str:
    from html import escape  # noqa: PLC0415 - only for notebooks

    body = "".join(
        f"<tr><th style='text-align:left'>{escape(label)}</th>"
        f"<td style='text-align:left;white-space:pre-wrap'>{escape(str(value))}</td></tr>"
        for label, value in rows
        if value not in (None, "", [])
    )
    return f"<table>{body}</table>"


@dataclass(frozen=True, kw_only=True)
class RunResult(RunEnvelope):
    """The result of a run, whatever its outcome. `success` is true only if the work is done."""

    @property
    def id(self) -> str | None:
        """Id of the run. `None` if none was started."""
        return self.run.id

    @property
    def outcome(self) -> str:
        """Outcome of the run."""
        return self.run.outcome

    def _repr_html_(self) -> str:
        result = self.result or ""
        more = "…" if len(result) > _RESULT_MAX else ""
        return table(
            [
                ("run", self.run.id),
                ("outcome", self.run.outcome),
                ("result", result[:_RESULT_MAX] + more),
                ("errors", "\n".join(self.errors)),
                ("cost", f"${self.usage.total_cost_usd:.4f}"),
                ("time", f"{self.duration_ms / 1000:.1f} s"),
                ("attempts", self.run.attempts),
                ("next", "\n".join(self.run.next)),
            ]
        )


@dataclass(frozen=True, kw_only=True)
class LoopResult(LoopEnvelope):
    """The result of a workflow, whatever its outcome. `success` is true only if the work is done."""

    @property
    def id(self) -> str | None:
        """Id of the workflow. `None` if none was started."""
        return self.workflow.id

    @property
    def outcome(self) -> str:
        """Outcome of the workflow."""
        return self.workflow.outcome

    def _repr_html_(self) -> str:
        return table(
            [
                ("workflow", self.workflow.id),
                ("outcome", self.workflow.outcome),
                ("errors", "\n".join(self.errors)),
                ("cost", f"${self.usage.total_cost_usd:.4f}"),
                ("time", f"{self.duration_ms / 1000:.1f} s"),
                ("next", "\n".join(self.workflow.next)),
            ]
        )


@dataclass(frozen=True, kw_only=True)
class RawEvent:
    """An event of the agent, unchanged, or a decision that this version does not know."""

    #: `assistant`, `user`, `system` and others; `attempt_result` for the agent's own result of an exchange.
    type: str
    #: The whole event.
    data: dict[str, Any]
