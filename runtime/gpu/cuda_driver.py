"""The NVIDIA driver through PyCUDA, which is imported when somebody asks, and what txc asks of it and of a GPU.

`driver` is always the module ``pycuda.driver``, passed on so that tests can put another in its place.
"""

from __future__ import annotations

from typing import Any

__all__ = ["OLDEST_DRIVER", "OLDEST_GPU", "NoDevice", "architecture", "initialised", "text_of"]

#: PTX ISA 8.0, which our PTX is written in, came with CUDA 12.0.
OLDEST_DRIVER = 12000
#: The compute capability of Turing: LLVM's and our instructions ask for no less.
OLDEST_GPU = (7, 5)


class NoDevice(Exception):
    """There is no such GPU, or it cannot be used; the text is the reason."""


def initialised() -> Any:
    """The driver's Python module, initialised.  Raises NoDevice where it is not there, too old, or finds no GPU."""
    driver = _imported()
    try:
        driver.init()
        count = driver.Device.count()
    except driver.Error as error:
        raise NoDevice(f"the NVIDIA driver finds no GPU that it can use ({text_of(error)})") from None
    if not count:
        raise NoDevice("the NVIDIA driver finds no GPU; CUDA_VISIBLE_DEVICES says which of them it shows")
    version = driver.get_driver_version()
    if version < OLDEST_DRIVER:
        raise NoDevice(
            f"the NVIDIA driver is one for CUDA {_version(version)}, and the PTX that txc makes needs one for CUDA "
            f"{_version(OLDEST_DRIVER)} or later: update the driver"
        )
    return driver


def _imported() -> Any:
    try:
        import pycuda.driver as driver  # type: ignore[import-not-found]
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            raise NoDevice("PyCUDA is not installed: pip install 'txc[cuda]'") from None
        if "libcuda" in str(error):
            raise NoDevice(f"there is no NVIDIA driver here ({error})") from None
        raise NoDevice(f"PyCUDA cannot be imported ({error})") from None
    return driver


def architecture(capability: tuple[int, int]) -> str:
    """What PTX is made for: ``sm_90a`` of compute capability 9.0, whose own instructions we use.  Raises NoDevice."""
    if capability < OLDEST_GPU:
        raise NoDevice(
            f"its compute capability is {capability[0]}.{capability[1]}, and txc makes PTX for "
            f"{OLDEST_GPU[0]}.{OLDEST_GPU[1]} and later"
        )
    if capability == (9, 0):
        return "sm_90a"
    # A driver compiles PTX for what is newer than the PTX: of later GPUs we use no instructions of their own.
    return "sm_90" if capability > (9, 0) else f"sm_{capability[0]}{capability[1]}"


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def text_of(error: BaseException) -> str:
    """What the driver says, without the name of the function that said it."""
    return str(error).partition("failed: ")[2] or str(error)
