"""How many threads: the environment variable, affinity, and cgroup quotas of both versions."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from txc.runtime.pool import threads
from txc.runtime.pool.threads import available_cpus, cgroup_quota, default_threads


@pytest.mark.parametrize(("text", "expected"), [("1", 1), ("3", 3), (" 12 ", 12), ("007", 7)])
def test_the_environment_variable_decides(text: str, expected: int) -> None:
    assert default_threads({"TXC_NUM_THREADS": text}) == expected


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "1e3", "0x4", "+2", "1_0", "3 4", "²", "٣"])
def test_a_bad_environment_variable_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(ValueError, match="TXC_NUM_THREADS must be a positive integer, not") as caught:
        default_threads({"TXC_NUM_THREADS": text})
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("environ", [{}, {"TXC_NUM_THREADS": ""}, {"TXC_NUM_THREADS": "  "}])
def test_without_the_variable_the_available_cpus_decide(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "available_cpus", lambda: 37)
    assert default_threads(environ) == 37


def test_a_worker_has_one_thread_unless_the_variable_says_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real workers are in `tests/processes`; these are the moments and processes that it does not see."""
    monkeypatch.setattr(threads, "available_cpus", lambda: 37)
    assert default_threads({}) == 37
    importing = SimpleNamespace(parent_process=lambda: None, current_process=lambda: SimpleNamespace(_inheriting=True))
    monkeypatch.setitem(sys.modules, "multiprocessing.process", importing)
    assert default_threads({}) == 1 and default_threads({"TXC_NUM_THREADS": "4"}) == 4
    monkeypatch.delitem(sys.modules, "multiprocessing.process")
    worker = SimpleNamespace(Worker=SimpleNamespace(_instances={object()}))
    monkeypatch.setitem(sys.modules, "distributed.worker", worker)
    assert default_threads({}) == 1
    worker.Worker._instances.clear()
    assert default_threads({}) == 37


def test_the_process_environment_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("5", "6"):
        monkeypatch.setenv("TXC_NUM_THREADS", text)
        assert default_threads() == int(text)


@pytest.mark.parametrize(
    ("cpus", "quota", "expected"),
    [(8, None, 8), (8, 2.0, 2), (8, 1.5, 2), (8, 0.1, 1), (8, 100.0, 8), (1, 4.0, 1)],
)
def test_the_smaller_of_affinity_and_quota(
    cpus: int, quota: float | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cpus)), raising=False)
    monkeypatch.setattr(threads, "cgroup_quota", lambda: quota)
    assert available_cpus() == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this platform has no affinity masks")
def test_affinity_is_read_at_each_call() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_without_affinity_masks_the_machine_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(threads, "cgroup_quota", lambda: None)
    monkeypatch.setattr(os, "cpu_count", lambda: 11)
    assert available_cpus() == 11
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus() == 1


class FakeCgroups:
    """A /proc/self and a cgroup tree in a folder."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.mount = folder / "a mount"
        self.proc.mkdir()
        self.mount.mkdir()

    def write(self, cgroup: str, file_system: str, options: str, root: str = "/") -> None:
        point = str(self.mount).replace(" ", "\\040")
        (self.proc / "cgroup").write_text(cgroup)
        (self.proc / "mountinfo").write_text(
            "22 1 8:1 / / rw - ext4 /dev/root rw\n"
            f"31 22 0:28 {root} {point} rw,nosuid shared:9 - {file_system} {file_system} {options}\n"
        )

    def limit(self, group: str, **files: str) -> None:
        folder = self.mount / group
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("cpu_", "cpu.", 1)).write_text(text + "\n")


@pytest.fixture
def cgroups(tmp_path: Path) -> FakeCgroups:
    return FakeCgroups(tmp_path)


@pytest.mark.parametrize(("text", "expected"), [("150000 100000", 1.5), ("max 100000", None), ("nonsense", None)])
def test_version_2(text: str, expected: float | None, cgroups: FakeCgroups) -> None:
    cgroups.write("0::/work/unit\n", "cgroup2", "rw")
    cgroups.limit("work/unit", cpu_max=text)
    assert cgroup_quota(cgroups.proc) == expected


@pytest.mark.parametrize(("outer", "inner", "expected"), [("200000", "400000", 2), ("400000", "100000", 1)])
def test_the_tightest_ancestor_counts(outer: str, inner: str, expected: float, cgroups: FakeCgroups) -> None:
    cgroups.write("0::/outer/middle/inner\n", "cgroup2", "rw")
    cgroups.limit("outer", cpu_max=f"{outer} 100000")
    cgroups.limit("outer/middle", cpu_max="max 100000")
    cgroups.limit("outer/middle/inner", cpu_max=f"{inner} 100000")
    cgroups.limit("sibling", cpu_max="1000 100000")
    assert cgroup_quota(cgroups.proc) == expected


@pytest.mark.parametrize(("quota", "expected"), [("250000", 2.5), ("-1", None)])
def test_version_1(quota: str, expected: float | None, cgroups: FakeCgroups) -> None:
    cgroups.write("3:cpuset:/elsewhere\n2:cpu,cpuacct:/job\n0::/\n", "cgroup", "rw,cpu,cpuacct")
    cgroups.limit("job", cpu_cfs_quota_us=quota, cpu_cfs_period_us="100000")
    cgroups.limit("elsewhere", cpu_cfs_quota_us="100000", cpu_cfs_period_us="100000")
    assert cgroup_quota(cgroups.proc) == expected


def test_a_version_1_hierarchy_without_the_cpu_controller_is_ignored(cgroups: FakeCgroups) -> None:
    cgroups.write("2:cpu:/job\n", "cgroup", "rw,cpuset")
    cgroups.limit("job", cpu_cfs_quota_us="100000", cpu_cfs_period_us="100000")
    assert cgroup_quota(cgroups.proc) is None


@pytest.mark.parametrize(
    ("path", "root"),
    [("/docker/abc", "/docker/abc"), ("/../../other", "/"), ("/", "/docker/abc")],
    ids=["no namespace", "outside the namespace", "namespace"],
)
def test_a_container_sees_its_own_group_at_the_mount_point(path: str, root: str, cgroups: FakeCgroups) -> None:
    cgroups.write(f"0::{path}\n", "cgroup2", "rw", root=root)
    cgroups.limit("", cpu_max="300000 100000")
    assert cgroup_quota(cgroups.proc) == 3


def test_without_proc_there_is_no_quota(tmp_path: Path) -> None:
    assert cgroup_quota(tmp_path / "missing") is None


def test_garbage_in_proc_is_no_quota(cgroups: FakeCgroups) -> None:
    (cgroups.proc / "cgroup").write_text("::\n\nx\n0::\n")
    (cgroups.proc / "mountinfo").write_text("\n - \n1 2 3 - cgroup2\n")
    assert cgroup_quota(cgroups.proc) is None
