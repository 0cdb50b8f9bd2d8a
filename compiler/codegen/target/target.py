"""What code is generated for, as plain data (no LLVM here): triple, processor, features and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Target", "TargetError", "object_name"]


class TargetError(ValueError):
    """A target, processor or feature that there is not, or code that one does not run."""

    code = "TX0601"


def object_name(name: str) -> str:
    """The name of a function in its object: ASCII, other letters escaped as in Python's string literals."""
    return name.encode("ascii", "backslashreplace").decode()


@dataclass(frozen=True)
class Target:
    """`features` is LLVM's list (``+avx2,-avx512f``) and decides what the emitter may use."""

    triple: str
    cpu: str = ""
    features: str = ""

    def has(self, feature: str) -> bool:
        """Whether a feature is switched on."""
        return f"+{feature}" in self.features.split(",")

    @property
    def without_amx(self) -> Target:
        """The target without matrix units of processors: code that runs in any process."""
        kept = (word for word in self.features.split(",") if not word.startswith("+amx-"))
        return replace(self, features=",".join(kept))

    @property
    def arch(self) -> str:
        return self.triple.partition("-")[0]

    @property
    def is_x86(self) -> bool:
        return self.arch in ("x86_64", "i686", "i386")

    @property
    def is_gpu(self) -> bool:
        return self.arch == "nvptx64"

    @property
    def capability(self) -> int:
        """The compute capability of a GPU, 80 for ``sm_80``; 0 for other targets."""
        return int("".join(c for c in self.cpu if c.isdigit()) or 0) if self.is_gpu else 0

    @property
    def has_warpgroups(self) -> bool:
        """Whether four warps multiply matrices together (``wgmma``): an instruction of ``sm_90a`` alone."""
        return self.is_gpu and self.cpu == "sm_90a"

    @property
    def has_box_copies(self) -> bool:
        """Whether one thread can have whole boxes of a tensor copied (``cp.async.bulk.tensor``)."""
        return self.capability >= 90

    @property
    def pointer_bits(self) -> int:
        return 32 if self.arch == "wasm32" else 64

    @property
    def has_fma(self) -> bool:
        return self.has("fma") if self.is_x86 else self.arch in ("aarch64", "arm64", "riscv64", "nvptx64", "amdgcn")

    @property
    def has_f16(self) -> bool:
        """Whether f16 converts to and from f32 without a library call."""
        return self.has("f16c") if self.is_x86 else self.arch in ("aarch64", "arm64", "nvptx64")

    @property
    def has_masks(self) -> bool:
        """Whether masked vector loads and stores of 32- and 64-bit elements are instructions."""
        return self.has("avx") if self.is_x86 else self.has("sve")

    @property
    def has_fast_masked_stores(self) -> bool:
        """Whether masked stores take about as long as others: with registers for masks.

        AMD's processors with AVX2 take twelve cycles for one of 32 bytes.
        """
        return not self.is_x86 or self.has("avx512f")

    @property
    def has_fast_gathers(self) -> bool:
        """Whether gathers of elements of 32 and 64 bits take less than loads one by one.

        Processors before these have them too, but load each element on its own there, or wait for it because of what
        their microcode mends.
        """
        return self.has("avx512fp16")

    @property
    def has_nontemporal_stores(self) -> bool:
        """Whether stores of vectors past the caches are emitted."""
        return self.is_x86

    @property
    def has_rounding(self) -> bool:
        """Whether floor, ceil, trunc and rint are instructions."""
        return self.has("sse4.1") if self.is_x86 else self.arch in ("aarch64", "arm64", "nvptx64")

    @property
    def vector_bits(self) -> int:
        if self.has("avx512f"):
            return 512
        if self.is_gpu:
            return 32
        return 256 if self.has("avx") else 128

    @property
    def vector_registers(self) -> int:
        return 32 if self.has("avx512f") or self.arch in ("aarch64", "arm64", "riscv64") else 16
