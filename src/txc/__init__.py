"""txc: a tensor compiler.  NumPy code under ``@txc.jit``, or a typed ``.tx`` file, becomes machine code."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import graph, random, tensure
    from .compiler.aot.export import export
    from .compiler.chunks.map_chunks import map_chunks
    from .compiler.config.device_names import OptionError
    from .compiler.config.devices import device, devices, to_device
    from .compiler.diagnostics import TxcError
    from .compiler.driver.interop.evaluate import evaluate
    from .compiler.driver.jit import jit
    from .compiler.driver.tx_module import compile_source, load
    from .compiler.driver.vectorize import vectorize
    from .compiler.frontend.staging.calls.functional import cond, fori_loop, scan, while_loop
    from .compiler.frontend.tensor.conversion import asarray
    from .compiler.frontend.tensor.memory.memory_tensors import TensorFixedSize, TensorMap, TensorRef
    from .compiler.frontend.tensor.printing.tensor_format import TensorIOFormat
    from .compiler.frontend.tensor.tensor import Tensor
    from .compiler.frontend.tx.library import library
    from .compiler.tools.info import info

__version__ = "0.1.0"
__all__ = [
    "OptionError", "Tensor", "TensorFixedSize", "TensorIOFormat", "TensorMap", "TensorRef", "TxcError", "asarray",
    "compile_source", "cond", "device", "devices", "evaluate", "export", "fori_loop", "graph", "info", "jit", "library", "load",
    "map_chunks", "random", "scan", "tensure", "to_device", "vectorize", "while_loop",
]  # fmt: skip

#: Each name's module is imported when the name is first used: a jitted function whose code the cache has needs neither
#: the front end nor the op registry, which are most of what importing all of txc costs.
_MODULES = {
    "OptionError": "config.device_names",
    "Tensor": "frontend.tensor.tensor",
    "TensorFixedSize": "frontend.tensor.memory.memory_tensors",
    "TensorIOFormat": "frontend.tensor.printing.tensor_format",
    "TensorMap": "frontend.tensor.memory.memory_tensors",
    "TensorRef": "frontend.tensor.memory.memory_tensors",
    "TxcError": "diagnostics",
    "asarray": "frontend.tensor.conversion",
    "compile_source": "driver.tx_module",
    "cond": "frontend.staging.calls.functional",
    "device": "config.devices",
    "devices": "config.devices",
    "evaluate": "driver.interop.evaluate",
    "export": "aot.export",
    "fori_loop": "frontend.staging.calls.functional",
    "info": "tools.info",
    "jit": "driver.jit",
    "library": "frontend.tx.library",
    "load": "driver.tx_module",
    "map_chunks": "chunks.map_chunks",
    "scan": "frontend.staging.calls.functional",
    "to_device": "config.devices",
    "vectorize": "driver.vectorize",
    "while_loop": "frontend.staging.calls.functional",
}


#: Modules of functions.
_NAMESPACES = ("graph", "random", "tensure")


#: The namespace of the Python array API standard, from `compiler/frontend/api/array_api/`.
_ARRAY_API = frozenset(
    """
    __array_api_version__ __array_namespace_info__ abs acos acosh add all any arange argmax argmin argsort asin asinh astype
    atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool
    broadcast_arrays broadcast_shapes broadcast_to can_cast ceil clip complex128 complex64 concat conj copysign cos
    cosh count_nonzero cumulative_prod cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye fft
    finfo flip float16 float32 float64 floor floor_divide from_dlpack full full_like greater greater_equal hypot
    iinfo imag inf int16 int32 int64 int8 isdtype isfinite isin isinf isnan less less_equal linalg linspace log
    log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul matrix_transpose max maximum
    mean meshgrid min minimum moveaxis multiply nan negative newaxis nextafter nonzero not_equal ones ones_like
    permute_dims pi positive pow prod real reciprocal remainder repeat reshape result_type roll round searchsorted sign signbit
    sin sinh sort sqrt square squeeze stack std subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc
    uint16 uint32 uint64 uint8 unique_all unique_counts unique_inverse unique_values unstack var vecdot where zeros zeros_like
    """.split()
)


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return import_module(f".{name}", __name__)
    if name in _ARRAY_API:
        found = globals()[name] = import_module(".compiler.frontend.api.array_api", __name__).find(name)
        return found
    if name not in _MODULES:
        raise AttributeError(f"module 'txc' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".compiler.{_MODULES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_NAMESPACES, *_ARRAY_API})
