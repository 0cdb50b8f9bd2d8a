"""Targets by the names that ``--target`` takes: one machine, or several x86-64 levels of which the best one runs."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from ..cpu.dispatch import LEVELS
from .llvm_backend import TargetError, host_target, make_target
from .target import Target

__all__ = ["TARGETS", "NamedTarget", "named_target"]

#: Name, then LLVM's triple; the x86-64 levels have that of the host where the host is an x86-64.
TARGETS = {
    "native": "",
    **dict.fromkeys(LEVELS, "x86_64-unknown-linux-gnu"),
    "aarch64": "aarch64-unknown-linux-gnu",
    "riscv64": "riscv64-unknown-linux-gnu",
    "wasm32": "wasm32-unknown-unknown",
    "nvptx64": "nvptx64-nvidia-cuda",
}
#: The processor that code for a GPU is made for where none is named.
DEFAULT_GPU = "sm_90a"


@dataclass(frozen=True)
class NamedTarget:
    """What was asked for, and the machines to compile for, from the least to the most demanding."""

    name: str
    versions: tuple[Target, ...]


def named_target(name: str = "native", cpu: str = "") -> NamedTarget:
    """``native``, ``x86-64-v3``, ``aarch64``, …, or levels joined by plus signs: ``x86-64-v2+v3+v4``.

    `cpu` names a processor of the target.  None has tiles (AMX), for which a process has to ask.  Raises TargetError
    for names there are not.
    """
    if "+" in name:
        return _levels(name, cpu)
    if name not in TARGETS:
        near = difflib.get_close_matches(name, TARGETS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(TARGETS)}"
        raise TargetError(f"there is no target {name!r}; {hint}")
    if name in LEVELS:
        if cpu:
            raise TargetError(f"--cpu is not for {name}, which names its processors; leave it out")
        return NamedTarget(name, (_level(name),))
    if name == "nvptx64":
        cpu = cpu or DEFAULT_GPU
    made = make_target(TARGETS[name], cpu)
    return NamedTarget(f"{name} ({made.cpu})" if made.cpu else name, (made,))


def _level(name: str) -> Target:
    host = host_target()
    return make_target(host.triple if host.arch == "x86_64" else TARGETS[name], name)


def _levels(text: str, cpu: str) -> NamedTarget:
    first, *others = text.split("+")
    names = [first, *(o if o.startswith("x86-64") else f"x86-64-{o}" for o in others)]
    for name in names:
        if name not in LEVELS:
            raise TargetError(f"{text!r}: {name!r} is no x86-64 level; write them as x86-64-v2+v3+v4")
    if cpu:
        raise TargetError(f"--cpu is not for {text}, which names its processors; leave it out")
    order = list(LEVELS)
    ranks = [order.index(n) for n in names]
    if ranks != sorted(set(ranks)):
        raise TargetError(f"{text!r}: levels are written once each, the lowest first")
    return NamedTarget(text, tuple(_level(n) for n in names))
