"""A GPU in NumPy: parses and runs the PTX that txc emits, and says what a thread does wrong.

Follows the PTX ISA manual; imports nothing but NumPy, and of txc only its own folder.
"""

from .device import PtxModule, PtxSimulator

__all__ = ["PtxModule", "PtxSimulator"]
