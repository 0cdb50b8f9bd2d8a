"""txc: a tensor compiler.  NumPy code under ``@txc.jit``, or a typed ``.tx`` file, becomes machine code."""

__version__ = "0.1.0"
