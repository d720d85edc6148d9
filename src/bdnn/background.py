"""Code that is compiled or loaded in a thread of its own, while others go on or wait."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

from bdnn.clock import Slot

_POLL_SECONDS = 0.05


class BackgroundLoad:
    """Something to be loaded once per process, in a thread of its own."""

    def __init__(
        self,
        # Does it; a failure shows itself where the code is used, with a traceback that helps.
        load: Callable[[], None],
        name: str,  # of the thread
    ) -> None:
        self._load = load
        self._name = name
        self._ready = threading.Event()
        self._started = threading.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether it is loaded."""
        return self._ready.is_set()

    def start(self) -> None:
        """Begin to load it, unless that was begun before."""
        if not self._ready.is_set() and self._started.acquire(blocking=False):
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            # An interpreter that ends while a compiler works may crash.
            atexit.register(thread.join)
            thread.start()

    def wait(self, slot: Slot) -> bool:
        """Load it; tell whether it is ready, or the slot was over before."""
        self.start()
        while not self._ready.wait(_POLL_SECONDS):
            if slot.is_over():
                return False
        return True

    def _run(self) -> None:
        try:
            self._load()
        finally:
            self._ready.set()
            atexit.unregister(threading.current_thread().join)
