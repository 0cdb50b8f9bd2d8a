"""txc: a tensor compiler.  NumPy code under ``@txc.jit``, or a typed ``.tx`` file, becomes machine code."""

from typing import TYPE_CHECKING, Any

from .compiler.diagnostics import TxcError
from .compiler.frontend.tensor import Tensor, asarray
from .compiler.info import VERSION, info
from .compiler.jit import jit
from .compiler.options import OptionError

if TYPE_CHECKING:
    from .compiler.export import export
    from .compiler.tx_module import compile_source, load

__version__ = VERSION
__all__ = ["OptionError", "Tensor", "TxcError", "asarray", "compile_source", "export", "info", "jit", "load"]


def __getattr__(name: str) -> Any:
    # The `.tx` language is imported when it is first asked for: it is a fifth of what `import txc` would cost.
    if name in ("compile_source", "load"):
        from .compiler import tx_module

        return getattr(tx_module, name)
    if name == "export":
        from .compiler.export import export

        return export
    raise AttributeError(f"module 'txc' has no attribute {name!r}")
