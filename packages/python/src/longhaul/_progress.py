"""The optional progress bar: it counts the decisions of a run. Needs tqdm."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_CHUNK = 1 << 16


@asynccontextmanager
async def shown(title: str) -> AsyncGenerator[tuple[list[str], tuple[int, ...]], None]:
    """Shows a bar. Yields the arguments that connect the binary to it, and the descriptors to pass on.

    Raises:
        ImportError: tqdm is not installed.

    """
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImportError("progress=True needs tqdm; install it with `pip install tqdm`") from error
    read, write = os.pipe()
    with tqdm(desc=title, unit=" decisions") as bar:
        reading = asyncio.create_task(_read(read, bar))
        try:
            yield [f"--events=fd:{write}"], (write,)
        finally:
            os.close(write)
            await reading


async def _read(descriptor: int, bar: Any) -> None:
    stream = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
    rest = b""
    try:
        while chunk := await stream.read(_CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                bar.set_postfix_str(str(event.get("record", "")).replace("_", " "), refresh=False)
                bar.update(1)
    finally:
        transport.close()
