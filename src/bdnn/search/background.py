"""Loading of compiled code in a thread of its own.

The first search on a machine compiles for some time; later ones load the result from disk in a
second. Neither can be interrupted; whoever waits in another thread can show that it is under way,
and can stop waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from bdnn.clock import Slot

_POLL_SECONDS = 0.05


class BackgroundLoad:
    """Something to be loaded once per process.

    Parameters
    ----------
    load : callable
        Does it; a failure shows itself where the code is used, with a traceback that helps.
    name : str
        Of the thread.
    """

    def __init__(self, load: Callable[[], None], name: str) -> None:
        self._load = load
        self._name = name
        self._ready = threading.Event()
        self._started = threading.Lock()

    def wait(self, slot: Slot) -> bool:
        """Load it; tell whether it is ready, or the slot was over before."""
        if not self._ready.is_set() and self._started.acquire(blocking=False):
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
        while not self._ready.wait(_POLL_SECONDS):
            if slot.is_over():
                return False
        return True

    def _run(self) -> None:
        try:
            self._load()
        finally:
            self._ready.set()
