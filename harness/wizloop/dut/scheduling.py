"""For pytest-xdist: all tests of a board are one worker's, one after another; those of models, and of pools of which
each worker has a board of its own, go where room is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdist.scheduler import LoadScopeScheduling


class BoardScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    def __init__(self, config: Any, log: Any, boards: Sequence[str]) -> None:
        super().__init__(config, log)
        self._boards = tuple(boards)

    def schedule(self) -> None:
        """A worker runs its last test when it knows that there is no more; so does one that came for a dead one."""
        super().schedule()
        if self.collection is not None and not self.workqueue:
            for node in self.nodes:
                node.shutdown()

    def _split_scope(self, nodeid: str) -> str:
        """Tests with the same answer are one worker's. A test's name ends with [ADDRESS] or [ADDRESS-...]."""
        _, _, parameters = nodeid.partition("[")
        for board in self._boards:
            if parameters == f"{board}]" or parameters.startswith(f"{board}-"):
                return board
        return nodeid
