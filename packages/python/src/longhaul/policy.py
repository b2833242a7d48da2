"""Retry policies, as openclawpack has them. The binary retries; this only names its flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict


class RetryOptions(TypedDict):
    """The options of a retry policy."""

    max_retries: int
    retry_base: float
    retry_cap: float
    retry_jitter: str


@dataclass(frozen=True)
class RetryPolicy:
    """How often and after which waits a failed attempt is repeated.

    Attributes:
        max_retries: retries in a row without progress.
        base_delay: first wait, in seconds. The later ones double.
        max_delay: longest wait, in seconds.
        jitter: random spread of each wait, as a share from 0 to 1.

    """

    max_retries: int = 3
    base_delay: float = 2.0
    max_delay: float = 60.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        """Rejects values that are not of this form."""
        if isinstance(self.max_retries, bool) or not isinstance(self.max_retries, int):
            raise TypeError(f"max_retries must be a whole number, not {self.max_retries!r}")
        for name in ("base_delay", "max_delay", "jitter"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} must be a number, not {value!r}")
        if self.max_retries < 0 or self.base_delay < 0 or self.max_delay < 0 or not 0 <= self.jitter <= 1:
            raise ValueError(f"expected counts and delays of at least 0, and a jitter from 0 to 1: {self}")

    def options(self) -> RetryOptions:
        """Returns the options of `run` that set this policy."""
        percent = round(self.jitter * 100)
        return {
            "max_retries": self.max_retries,
            "retry_base": float(self.base_delay),
            "retry_cap": float(self.max_delay),
            "retry_jitter": f"{percent}%" if percent else "none",
        }
