"""txc: a tensor compiler.  NumPy code under ``@txc.jit``, or a typed ``.tx`` file, becomes machine code."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import graph, random, tensure
    from .compiler.devices import device, devices
    from .compiler.diagnostics import TxcError
    from .compiler.export import export
    from .compiler.frontend.classes import TensorFixedSize, TensorMap, TensorRef
    from .compiler.frontend.functional import cond, fori_loop, scan, while_loop
    from .compiler.frontend.library import library
    from .compiler.frontend.tensor import Tensor, asarray
    from .compiler.frontend.tensor_format import TensorIOFormat
    from .compiler.info import info
    from .compiler.jit import jit
    from .compiler.options import OptionError
    from .compiler.tx_module import compile_source, load

__version__ = "0.1.0"
__all__ = [
    "OptionError", "Tensor", "TensorFixedSize", "TensorIOFormat", "TensorMap", "TensorRef", "TxcError", "asarray",
    "compile_source", "cond", "device", "devices", "export", "fori_loop", "graph", "info", "jit", "library", "load",
    "random", "scan", "tensure", "while_loop",
]  # fmt: skip

#: Each name's module is imported when the name is first used: a jitted function whose code the cache has needs neither
#: the front end nor the op registry, which are most of what importing all of txc costs.
_MODULES = {
    "OptionError": "options",
    "Tensor": "frontend.tensor",
    "TensorFixedSize": "frontend.classes",
    "TensorIOFormat": "frontend.tensor_format",
    "TensorMap": "frontend.classes",
    "TensorRef": "frontend.classes",
    "TxcError": "diagnostics",
    "asarray": "frontend.tensor",
    "compile_source": "tx_module",
    "cond": "frontend.functional",
    "device": "devices",
    "devices": "devices",
    "export": "export",
    "fori_loop": "frontend.functional",
    "info": "info",
    "jit": "jit",
    "library": "frontend.library",
    "load": "tx_module",
    "scan": "frontend.functional",
    "while_loop": "frontend.functional",
}


#: Modules of functions.
_NAMESPACES = ("graph", "random", "tensure")


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return import_module(f".{name}", __name__)
    if name not in _MODULES:
        raise AttributeError(f"module 'txc' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".compiler.{_MODULES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_NAMESPACES})
