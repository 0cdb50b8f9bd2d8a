"""What the machine can do at best in the same run: bytes by the size of what is moved, and FMAs on registers."""

from __future__ import annotations

from dataclasses import dataclass

from txc.compiler.tools.roofline import copy_bandwidth, fma_peak

__all__ = ["Ceilings", "measure_ceilings"]

#: Bytes that a copy touches for each thread: within the second cache, within the last one, within none.
SIZES = (192 << 10, 4 << 20, 192 << 20)


@dataclass(frozen=True)
class Ceilings:
    """Bytes a second for working sets up to so many bytes (the last: any), operations a second of f32 and f64 FMAs."""

    bandwidth: dict[int, float]
    f32: float
    f64: float

    def bytes_per_second(self, working_set: float) -> float:
        """That of the smallest size that holds the working set."""
        fitting = [rate for size, rate in self.bandwidth.items() if working_set <= size]
        return fitting[0] if fitting else list(self.bandwidth.values())[-1]

    def seconds(self, moved: float, flops: float, dtype: str) -> float:
        """The time below which the work cannot be done: of its bytes or of its operations, the longer."""
        peak = self.f64 if dtype in ("f8", "c16") else self.f32
        return max(moved / self.bytes_per_second(moved), flops / peak)

    @staticmethod
    def from_json(data: dict[str, object]) -> Ceilings:
        rates = {int(size): float(rate) for size, rate in dict(data["bandwidth"]).items()}  # type: ignore[call-overload]
        return Ceilings(rates, float(data["f32"]), float(data["f64"]))  # type: ignore[arg-type]


def measure_ceilings(threads: int, quick: bool) -> Ceilings:
    """Some seconds; tenths of one where `quick`, whose figures mean little."""
    samples = 2 if quick else 15
    rates = {
        threads * s: copy_bandwidth(threads, threads * min(s, 1 << 20 if quick else s) // 2, samples) for s in SIZES
    }
    iterations = 10**4 if quick else 2 * 10**6
    return Ceilings(rates, fma_peak(threads, 32, iterations, samples), fma_peak(threads, 64, iterations, samples))
