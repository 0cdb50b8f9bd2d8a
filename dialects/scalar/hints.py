"""What schedules tell the emitter of scalar ops: attributes of marked ops, and what both know of processors' ports."""

from __future__ import annotations

__all__ = ["NEWTON", "RECIPROCAL", "SINGLE_PORT"]

#: What a marked `math.sqrt` has: of how many copies of the body one goes by Newton's steps.  The divider does the
#: others.
NEWTON = "newton"
#: What a marked `arith.divf` has, whose divisor does not change in the innermost loop.
RECIPROCAL = "reciprocal"
#: Vectors of so many bits have one port that finds the lesser element, and another one that takes all functions of
#: three bits in one instruction: it finds the greater element as what is left of both.
SINGLE_PORT = 512
