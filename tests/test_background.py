"""Loading in a thread of its own."""

import os
import subprocess
import sys
import threading

from bdnn.clock import BackgroundLoad, Slot

_LEFT_BEHIND = """
import time
from bdnn.clock import BackgroundLoad

def work():
    time.sleep(0.3)
    print("done")

BackgroundLoad(work, name="slow").start()
{last}
"""


def test_it_is_loaded_once():
    calls = []
    load = BackgroundLoad(lambda: calls.append(threading.current_thread().name), name="once")
    assert not load.is_ready
    assert load.wait(Slot())
    assert load.wait(Slot())
    assert load.is_ready
    assert calls == ["once"]


def test_who_has_no_time_does_not_wait():
    go = threading.Event()
    load = BackgroundLoad(go.wait, name="long")
    assert not load.wait(Slot().part(0.0))
    go.set()
    assert load.wait(Slot())


def test_an_interpreter_ends_after_what_it_loads():
    code = _LEFT_BEHIND.format(last="")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"


def test_a_forked_process_waits_for_no_thread_of_its_parent():
    code = _LEFT_BEHIND.format(last="import os; os.fork()")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "done\n"


def test_compilers_leave_standard_output_alone():
    """Numba sets it while it colours a message, as it does where colorama is installed."""
    code = (
        "import bdnn.compiled; from numba.core.errors import termcolor;"
        "assert termcolor().errmsg('wrong') == 'wrong'"
    )
    name = "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"
    environment = {key: value for key, value in os.environ.items() if key != name}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
