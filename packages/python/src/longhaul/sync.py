"""The functions of the package without `await`, for notebooks and scripts.

Each call runs in a thread with a loop of its own, so it works inside a running loop, too. Ctrl-C cancels the
run.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from . import _api, gsd

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from concurrent.futures import Future

    from typing_extensions import Unpack

    from ._api import Event
    from ._options import RunOptions

P = ParamSpec("P")
T = TypeVar("T")


class _Loop:
    """A loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="longhaul", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine. An exception here, such as Ctrl-C, cancels it and waits for its end."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                # The future of the other thread reports its cancellation before the task has ended.
                self._loop.call_soon_threadsafe(self._cancel_all)
                self._drain()
            raise

    def _cancel_all(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def _drain(self) -> None:
        async def others() -> None:
            tasks = asyncio.all_tasks() - {cast("asyncio.Task[object]", asyncio.current_task())}
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(others(), self._loop).result()

    def close(self) -> None:
        """Ends the thread."""
        self.run(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        loop = _Loop()
        try:
            return loop.run(function(*args, **kwargs))
        finally:
            loop.close()

    return call


run = _blocking(_api.run)
start = _blocking(_api.start)
resume = _blocking(_api.resume)
recover = _blocking(_api.recover)
cancel = _blocking(_api.cancel)
attach = _blocking(_api.attach)
loop = _blocking(_api.loop)
status = _blocking(_api.status)
runs = _blocking(_api.runs)
cost = _blocking(_api.cost)
show = _blocking(_api.show)
why = _blocking(_api.why)
create_project = _blocking(gsd.create_project)
plan_phase = _blocking(gsd.plan_phase)
execute_phase = _blocking(gsd.execute_phase)
get_status = _blocking(gsd.get_status)
add_project = _blocking(gsd.add_project)
list_projects = _blocking(gsd.list_projects)
remove_project = _blocking(gsd.remove_project)


def stream(prompt: str, **options: Unpack[RunOptions]) -> Iterator[Event]:
    """Runs a task and yields its events. Closing the generator early cancels the run."""
    thread = _Loop()
    events = _api.stream(prompt, **options)

    async def following() -> Event:
        return await anext(events)

    try:
        with suppress(StopAsyncIteration):
            while True:
                yield thread.run(following())
    finally:
        thread.run(events.aclose())
        thread.close()
