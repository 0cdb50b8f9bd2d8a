"""The runtime's machine code is there when a function is called again, and a child of `fork` can make its own."""

import os
import subprocess
import sys
import textwrap

import pytest

from txc.runtime.loader.loader import can_load

pytestmark = pytest.mark.skipif(not can_load(b"\x7fELF"), reason="our loader is for ELF on processors it knows")


def _run(program: str, threads: int) -> None:
    environment = {**os.environ, "TXC_NUM_THREADS": str(threads), "TXC_CACHE_DIR": "0"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_second_call_compiles_nothing():
    program = """
        import numpy as np, txc
        from txc.runtime import ahead
        from txc.runtime.loader import code_cache

        f = txc.jit(lambda x: x + 1)
        f(np.ones(3))
        ahead._wait()
        made, make = [], code_cache._kept_object
        code_cache._kept_object = lambda *args, **facts: made.append(args[0]) or make(*args, **facts)
        assert f(np.ones(3)).tolist() == [2, 2, 2]
        assert not made, made
    """
    _run(program, 2)


def test_a_process_of_one_thread_starts_none():
    program = """
        import threading
        import numpy as np, txc
        from txc.runtime import ahead

        f = txc.jit(lambda x: x + 1)
        assert f(np.ones(3)).tolist() == f(np.ones(3)).tolist() == [2, 2, 2]
        assert ahead._thread is None and threading.active_count() == 1
    """
    _run(program, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_waits_for_the_code():
    program = """
        import os, time
        from txc.runtime import ahead
        from txc.runtime.loader.code_cache import RuntimeCode

        def source():
            time.sleep(0.2)
            return "define i64 @one() { ret i64 1 }"

        code = RuntimeCode("test of fork", source)
        ahead._make = code.machine_code
        ahead.begin()
        child = os.fork()
        if not child:
            os._exit(0 if code._made else 1)  # not `machine_code()`, which would wait for ever
        assert os.waitpid(child, 0)[1] == 0
    """
    _run(program, 2)
