"""This machine as the far end of lines and cables: its clock, and one place where everything waits. No thread.

host = Host()
host.watch(listener, selectors.EVENT_READ, on_connection)
host.wait_readable(line, deadline)   # calls on_connection() meanwhile
"""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable
from typing import Any

Callback = Callable[[int], None]  # gets the events that are ready


class Host:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def now(self) -> float:
        return time.monotonic()

    def watch(self, file: Any, events: int, callback: Callback) -> None:
        self._selector.register(file, events, callback)

    def rewatch(self, file: Any, events: int, callback: Callback) -> None:
        self._selector.modify(file, events, callback)

    def unwatch(self, file: Any) -> None:
        self._selector.unregister(file)

    def forget(self, file: Any) -> None:
        """As unwatch(), also where it is not watched any more, or closed."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(file)

    def wait(self, file: Any, events: int, deadline: float) -> bool:
        """Until `file` is ready, serving all that is watched; False if it is not until then."""
        ready = False

        def on_ready(_: int) -> None:
            nonlocal ready
            ready = True

        self.watch(file, events, on_ready)
        try:
            while True:
                left = deadline - self.now()
                self.serve(max(left, 0.0))
                if ready or left <= 0:
                    return ready
        finally:
            self.unwatch(file)

    def serve(self, at_most_s: float) -> None:
        """Waits for the first event, if there is one until then, and handles what is ready."""
        for key, events in self._selector.select(at_most_s):
            key.data(events)

    def pause(self, seconds: float) -> None:
        """So long, serving all that is watched."""
        end = self.now() + seconds
        while (left := end - self.now()) > 0:
            self.serve(left)

    def close(self) -> None:
        self._selector.close()
