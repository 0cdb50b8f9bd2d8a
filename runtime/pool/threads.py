"""How many threads a parallel loop may use: ``TXC_NUM_THREADS``, one in a pool's worker, affinity, the CPU quota."""

import os
import re
import sys
from collections.abc import Iterator, Mapping

ENVIRONMENT_VARIABLE = "TXC_NUM_THREADS"


def default_threads(environ: Mapping[str, str] | None = None) -> int:
    """Threads to use where the user asked for no number: ``TXC_NUM_THREADS``, else one in a worker process.

    Elsewhere they are :func:`available_cpus`.

    An unset or empty variable counts as absent; anything but a positive decimal integer is a ``ValueError``.
    The answer is computed afresh (affinity and environment may change) and reads a few small files: keep it out of
    hot paths.
    """
    text = (os.environ if environ is None else environ).get(ENVIRONMENT_VARIABLE, "").strip()
    if not text:
        return 1 if in_worker_process() else available_cpus()
    if not re.fullmatch(r"[0-9]+", text) or int(text) == 0:
        raise ValueError(f"{ENVIRONMENT_VARIABLE} must be a positive integer, not {text!r}")
    return int(text)


def in_worker_process() -> bool:
    """Whether this process is one of several that share the CPUs already, so that threads would be too many.

    Those are children of `multiprocessing`, as joblib's and `concurrent.futures`' workers are, also while they import
    their program, and Dask's, which its command may start otherwise.
    """
    process = sys.modules.get("multiprocessing.process")
    if process is not None and (
        process.parent_process() is not None or getattr(process.current_process(), "_inheriting", False)
    ):
        return True
    dask = sys.modules.get("distributed.worker")
    return dask is not None and len(getattr(dask.Worker, "_instances", ())) > 0


def available_cpus() -> int:
    """CPUs this process may use at once: those of its affinity mask, at most as many as its cgroup pays for."""
    cpus = _affinity_cpus()
    quota = cgroup_quota()
    # Rounded up: with a quota of 1.5 a second thread still adds half a CPU, and the kernel does the throttling.
    return cpus if quota is None else max(1, min(cpus, -int(-quota // 1)))


def _affinity_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Paths are strings here: `pathlib` takes longer to import than all of this file takes to run.


def cgroup_quota(proc: str | os.PathLike[str] = "/proc/self") -> float | None:
    """CPU time per unit of wall time that the cgroups (version 1 or 2) of this process allow; ``None``: no limit.

    A quota binds every descendant, so the smallest one between the process's own group and the mounted root counts.
    """
    try:
        groups = _read(os.path.join(proc, "cgroup"))
        mounts = _read(os.path.join(proc, "mountinfo"))
    except (OSError, UnicodeDecodeError):  # not Linux, or /proc is not mounted
        return None
    quotas = [quota for folder in _group_folders(groups, mounts) if (quota := _read_quota(folder)) is not None]
    return min(quotas, default=None)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _group_folders(groups: str, mounts: str) -> Iterator[str]:
    """Every folder, from a group that governs CPU time up to its mount point, of each mounted hierarchy."""
    v1_path = v2_path = None
    for line in groups.splitlines():  # hierarchy-ID:controller-list:path, see cgroups(7)
        identifier, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "cpu" in controllers.split(","):
            v1_path = path
        elif identifier == "0" and not controllers:
            v2_path = path
    for line in mounts.splitlines():  # see proc_pid_mountinfo(5)
        before, _, after = line.partition(" - ")
        fields, tail = before.split(), after.split()
        if len(fields) < 5 or len(tail) < 3:
            continue
        if tail[0] == "cgroup2":
            path = v2_path
        elif tail[0] == "cgroup" and "cpu" in tail[2].split(","):
            path = v1_path
        else:
            continue
        if path is not None:
            yield from _ancestors(_unescape(fields[3]), _unescape(fields[4]), path)


def _ancestors(mount_root: str, mount_point: str, path: str) -> Iterator[str]:
    # In a container the mounted tree may begin below the path that /proc reports, or outside the reader's cgroup
    # namespace ("/../.."): then the mount point itself is all there is to see.
    root = mount_root.rstrip("/")
    inside = path == root or path.startswith(root + "/")
    parts = [part for part in path[len(root) :].split("/") if part] if inside else []
    folder = mount_point
    yield folder
    for part in parts if ".." not in parts else ():
        folder = os.path.join(folder, part)
        yield folder


def _unescape(field: str) -> str:
    """Undoes mountinfo's octal escapes (a blank is ``\\040``)."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _read_quota(folder: str) -> float | None:
    """The quota in CPUs that one cgroup folder states: ``cpu.max`` in version 2, ``cpu.cfs_*_us`` in version 1."""
    try:
        if os.path.exists(os.path.join(folder, "cpu.max")):
            quota, period = _read(os.path.join(folder, "cpu.max")).split()
        else:
            quota = _read(os.path.join(folder, "cpu.cfs_quota_us"))
            period = _read(os.path.join(folder, "cpu.cfs_period_us"))
        # "max" (version 2) and -1 (version 1) mean that there is no limit.
        return None if quota == "max" or int(quota) <= 0 else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or not in a form known to us: no limit known
        return None
