"""Measures how much a Python call adds to the binary, in milliseconds.

python bench/overhead.py [NUMBER]
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import longhaul
from longhaul import _binary

if TYPE_CHECKING:
    from collections.abc import Callable


def median(call: Callable[[], object], number: int) -> float:
    """Returns the median duration of a call, in milliseconds."""
    durations = []
    for _ in range(number):
        start = time.perf_counter()
        call()
        durations.append((time.perf_counter() - start) * 1000)
    return statistics.median(durations)


def binary(*arguments: str) -> Callable[[], object]:
    """Returns a call of the binary."""
    command = [_binary.find(), *arguments, "--output-format=json"]
    return lambda: subprocess.run(command, capture_output=True, check=False)


def program(code: str) -> Callable[[], object]:
    """Returns a call of a new Python program."""
    return lambda: subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def main() -> None:
    """Prints the medians."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 50

    async def calls() -> float:
        durations = []
        for _ in range(number):
            start = time.perf_counter()
            await longhaul.status()
            durations.append((time.perf_counter() - start) * 1000)
        return statistics.median(durations)

    alone = median(binary("status"), number)
    awaited = asyncio.run(calls())
    blocking = median(longhaul.sync.status, number)
    bare = median(program("import asyncio"), number)
    imported = median(program("import asyncio, longhaul"), number)
    whole = median(program("import asyncio, longhaul; asyncio.run(longhaul.status())"), number)
    print(f"longhaul status                      {alone:6.1f} ms")
    print(f"await longhaul.status()              {awaited:6.1f} ms: adds {awaited - alone:.1f} ms")
    print(f"longhaul.sync.status()               {blocking:6.1f} ms: adds {blocking - alone:.1f} ms")
    print(f"import longhaul, after asyncio       {imported - bare:6.1f} ms")
    print(f"program with one call                {whole:6.1f} ms: adds {whole - alone - bare:.1f} ms")


if __name__ == "__main__":
    main()
