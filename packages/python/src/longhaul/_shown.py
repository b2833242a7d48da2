"""Runs and workflows as `show` returns them: the generated models, with a view for notebooks."""

from __future__ import annotations

from dataclasses import dataclass

from ._results import table
from .models.show import Show
from .models.show_workflow import ShowWorkflow


def _rows(shown: Show | ShowWorkflow) -> list[tuple[str, object]]:
    """Returns the rows that a run and a workflow have in common."""
    return [
        ("outcome", shown.outcome or "not finished"),
        ("cost", f"${shown.total_cost_usd:.4f}"),
        ("time", f"{shown.active_ms / 1000:.1f} s"),
        ("next", "\n".join([shown.next.text, *shown.next.commands])),
    ]


@dataclass(frozen=True, kw_only=True)
class ShownRun(Show):
    """A run with the decisions of each attempt."""

    def _repr_html_(self) -> str:
        return table([("run", self.id), ("task", self.task), *_rows(self), ("attempts", len(self.attempts))])


@dataclass(frozen=True, kw_only=True)
class ShownWorkflow(ShowWorkflow):
    """A workflow with its runs."""

    def _repr_html_(self) -> str:
        return table([("workflow", self.workflow), *_rows(self), ("errors", "\n".join(self.errors))])
