"""Starts the binary, reads its output, and interrupts it. Decides nothing about runs."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _binary
from ._errors import BinaryNotFoundError, LonghaulError, from_stderr

#: Receives the binary's messages.
LOGGER = logging.getLogger("longhaul")

#: An agent has ten seconds to react to an interrupt. The rest is for its result, and for a busy machine.
STOP_SECONDS = 30.0
#: Time after which the request to stop at once is repeated.
REPEAT_SECONDS = 1.0
#: Maximum number of lines of stderr that an error is read from.
STDERR_LINES = 200
_CHUNK = 1 << 16
_POLL_SECONDS = 0.001
_DECODER = json.JSONDecoder()

#: Receives a line of stderr, and returns whether it has handled it.
LineHandler = Callable[[str], Awaitable[bool]]


@dataclass
class Finished:
    """Output of a process that exited."""

    exit_code: int
    stdout: bytes = b""
    stderr: list[str] = field(default_factory=list)

    def values(self) -> list[dict[str, Any]]:
        """Returns the JSON objects on stdout.

        Raises:
            LonghaulError: there is none, because the command failed.

        """
        values = []
        rest = self.stdout.decode(errors="replace").strip()
        while rest:
            value, end = _value(rest)
            values.append(value)
            rest = rest[end:].lstrip()
        if not values and self.exit_code != 0:
            raise from_stderr(self.stderr, self.exit_code)
        return values


def parse(line: bytes) -> dict[str, Any]:
    """Returns the JSON object of a line.

    Raises:
        LonghaulError: it is none.

    """
    return _value(line.decode(errors="replace"))[0]


def _value(text: str) -> tuple[dict[str, Any], int]:
    """Returns the JSON object at the start of a text, and its length."""
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        value, end = None, 0
    if isinstance(value, dict):
        return value, end
    raise LonghaulError(
        f"the output of {_binary.find()} is not JSON: {text[:100]!r}",
        f"install the wheel again; if {_binary.VARIABLE} is set, it must name a binary of longhaul",
    )


class Call:
    """One process of the binary, in a session of its own.

    Ctrl-C in a terminal therefore reaches only this program, which then interrupts the process once. It is no
    process of asyncio, which kills its processes when the loop closes: only the supervisor can stop what the
    agent started.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        stdin: str | None = None,
        on_line: LineHandler | None = None,
        descriptors: Sequence[int] = (),
    ) -> None:
        """Starts the binary. Its input is the text, or empty. It inherits the descriptors."""
        binary = _binary.find()
        with tempfile.TemporaryFile() as text:
            try:
                text.write((stdin or "").encode())
                text.seek(0)
                self._process = subprocess.Popen(  # noqa: S603 - no shell
                    [binary, *arguments],
                    stdin=text,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    pass_fds=descriptors,
                )
            except OSError as error:
                hint = f"install the wheel of this platform, or set {_binary.VARIABLE} to another binary"
                raise BinaryNotFoundError(f"cannot start {binary}: {error.strerror}", hint) from error
            except ValueError as error:
                hint = "remove NUL characters and lone surrogates from the texts of the call"
                raise LonghaulError(f"cannot pass a text to {binary}: {error}", hint) from error
        self._on_line = on_line
        self._stderr: list[str] = []
        self._stdout_stream = asyncio.StreamReader()
        self._stderr_stream = asyncio.StreamReader()
        self._unread = [
            (self._stdout_stream, self._process.stdout),
            (self._stderr_stream, self._process.stderr),
        ]
        self._messages: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Starts to read the output."""
        loop = asyncio.get_running_loop()
        try:
            while self._unread:
                stream, pipe = self._unread[0]
                protocol = asyncio.StreamReaderProtocol(stream)
                await loop.connect_read_pipe(lambda protocol=protocol: protocol, pipe)  # type: ignore[misc]
                del self._unread[0]
        except BaseException:
            await self.interrupt()
            raise
        self._messages = asyncio.create_task(self._read_messages())

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Yields each line of stdout."""
        rest = bytearray()
        async for chunk in _chunks(self._stdout_stream):
            rest += chunk
            *lines, rest = rest.split(b"\n")
            for line in lines:
                yield bytes(line)
        if rest:
            yield bytes(rest)

    async def read_all(self) -> bytes:
        """Returns stdout."""
        return b"".join([chunk async for chunk in _chunks(self._stdout_stream)])

    async def wait(self) -> Finished:
        """Returns the exit code and the messages, once stdout is closed."""
        if self._messages is not None:
            await self._messages
        return Finished(await self._exit_code(), stderr=self._stderr)

    async def _exit_code(self) -> int:
        """Returns the exit code of a process that has closed its output, and therefore exits."""
        while (code := self._process.poll()) is None:  # noqa: ASYNC110 - it exits at once
            await asyncio.sleep(_POLL_SECONDS)
        return code

    async def interrupt(self) -> None:
        """Cancels the run: asks the supervisor to interrupt the agent, and waits until no process is left.

        A supervisor that does not end is asked to stop the agent at once, as `longhaul cancel --now` does. A
        second cancellation of this task does that immediately; later ones change nothing. The supervisor is
        never killed, because only it can stop what the agent started.
        """
        # Two signals at the same time count as one, so the second request is repeated.
        for number, seconds in enumerate((STOP_SECONDS, REPEAT_SECONDS, STOP_SECONDS)):
            self._process.send_signal(signal.SIGINT)
            if await self._ends_within(seconds, or_cancelled=number == 0):
                return
        LOGGER.warning("the supervisor (process %d) is still stopping its agent", self._process.pid)

    async def _ends_within(self, seconds: float, *, or_cancelled: bool) -> bool:
        """Waits for the end, and returns whether it has come. A cancellation ends the wait only if asked."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            try:
                await asyncio.wait_for(self._ended(), left)
            except asyncio.TimeoutError:
                return False
            except asyncio.CancelledError:
                if or_cancelled:
                    return False
                continue
            return True
        return False

    async def _ended(self) -> None:
        """Waits for the end. A process that cannot write its output would never exit."""
        while self._unread:
            stream, pipe = self._unread.pop()
            if pipe is not None:
                pipe.close()
            stream.feed_eof()
        if self._messages is not None:
            self._messages.cancel()
            await asyncio.gather(self._messages, return_exceptions=True)
        await asyncio.gather(_discard(self._stdout_stream), _discard(self._stderr_stream))
        await self._exit_code()

    async def _read_messages(self) -> None:
        rest = ""
        async for chunk in _chunks(self._stderr_stream):
            *lines, rest = (rest + chunk.decode(errors="replace")).split("\n")
            for line in lines:
                await self._message(line)
        if rest:
            await self._message(rest)

    async def _message(self, line: str) -> None:
        if self._on_line is not None and await self._on_line(line):
            return
        self._stderr.append(line)
        del self._stderr[:-STDERR_LINES]
        # An error becomes an exception or a part of the result.
        LOGGER.log(logging.WARNING if line.startswith("warning: ") else logging.INFO, "%s", line)


async def call(
    arguments: Sequence[str],
    stdin: str | None = None,
    *,
    on_line: LineHandler | None = None,
    descriptors: Sequence[int] = (),
) -> Finished:
    """Runs the binary to its end. Cancelling the task cancels the run."""
    process = Call(arguments, stdin, on_line, descriptors)
    await process.connect()
    try:
        stdout = await process.read_all()
        finished = await process.wait()
    except BaseException:
        await process.interrupt()
        raise
    finished.stdout = stdout
    return finished


async def _chunks(stream: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while chunk := await stream.read(_CHUNK):
        yield chunk


async def _discard(stream: asyncio.StreamReader) -> None:
    async for _ in _chunks(stream):
        pass
