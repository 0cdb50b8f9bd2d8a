"""Interpreters end with a live pool: by themselves, with status 0, saying nothing."""

import subprocess
import sys
import textwrap
from pathlib import Path

from txc.runtime.pool import pool as pool_module

# Only ends a hung test; no result depends on it.
PATIENCE = 60


def run_script(body: str) -> None:
    """Runs *body* in a new interpreter, which must exit with status 0, by itself, and say nothing."""
    package_folder = Path(pool_module.__file__).parents[3]
    prologue = f"import sys; sys.path.insert(0, {str(package_folder)!r})\n"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", prologue + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_exit_while_workers_sleep() -> None:
    run_script(
        """
        import time
        from txc.runtime.pool.pool import get_pool
        pool = get_pool()
        pool.ensure(4)
        while pool.stats().sleeping < 3:
            time.sleep(0.001)
        """
    )


def test_exit_while_workers_are_awake() -> None:
    run_script(
        """
        from txc.runtime.pool.pool import Pool
        Pool(spins=1 << 20).ensure(4)
        """
    )


def test_exit_while_a_daemon_thread_runs_regions() -> None:
    run_script(
        """
        import ctypes, threading
        from txc.runtime.pool.pool import get_pool
        pool = get_pool()
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)(pool.parallel_address)
        chunk = ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p)
        started = threading.Event()
        def regions():
            while True:
                call(pool.address, chunk, None, 1000, 3)
                started.set()
        threading.Thread(target=regions, daemon=True).start()
        started.wait()
        assert pool.stats().workers == 2
        """
    )


def test_regions_after_the_pool_was_stopped_at_exit() -> None:
    run_script(
        """
        import atexit, ctypes
        def late():
            seen = []
            prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
            chunk = prototype(lambda ctx, index, worker: seen.append((index, worker)))
            call(pool.address, ctypes.cast(chunk, ctypes.c_void_p), None, 3, 3)
            if (seen, pool.ensure(3)) != ([(0, 0), (1, 0), (2, 0)], 1):
                print(seen)
        atexit.register(late)  # before the pool registers its own, hence called after it
        from txc.runtime.pool.pool import get_pool
        pool = get_pool()
        pool.ensure(3)
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)(pool.parallel_address)
        """
    )


def test_importing_the_pool_does_not_import_llvm() -> None:
    run_script("import txc.runtime.pool.pool; assert not any(name.startswith('llvmlite') for name in sys.modules)")
