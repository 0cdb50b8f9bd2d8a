"""What a call whose code is cached does without: modules that are loaded when something of theirs is asked for.

A process is done sooner the fewer modules it loads, and what stands between a call and its code (`driver/jit.py` and
what that is made of) asks here for all others.  Each function gives one module; none has an annotation, as type
checkers then know which.
"""

__all__ = [
    "autotune", "c_function", "call_parameters", "dask_arrays", "diagnostics", "donation", "explain", "explore_page",
    "gc_throttle", "instrumentation", "notebook", "out_argument", "pickling", "profile", "progress", "registry",
    "remarks", "repeated_call", "runtime_checks", "shared_memory", "staging", "strides", "temp_limit",
]  # fmt: skip


def autotune():
    """A search for the fastest constants."""
    from .tools import autotune

    return autotune


def c_function():
    """Function pointers of C types."""
    from .aot import c_function

    return c_function


def call_parameters():
    """Parameters of native entries."""
    from .call import parameters

    return parameters


def dask_arrays():
    """Calls with arrays of Dask's."""
    from .chunks import dask_arrays

    return dask_arrays


def diagnostics():
    """Errors that point at the user's line."""
    from . import diagnostics

    return diagnostics


def donation():
    """Arguments that are given away."""
    from .driver import donation

    return donation


def explain():
    """What was compiled, and why."""
    from .tools import explain

    return explain


def explore_page():
    """The page of HTML with all stages."""
    from .tools.explore import page

    return page


def gc_throttle():
    """Fewer garbage collections while it compiles."""
    from .driver import gc_throttle

    return gc_throttle


def instrumentation():
    """Looking at the stages of a compilation."""
    from . import instrumentation

    return instrumentation


def notebook():
    """What a notebook shows."""
    from .tools import notebook

    return notebook


def out_argument():
    """Arrays for the results."""
    from .driver import out_argument

    return out_argument


def pickling():
    """Jitted functions in other processes."""
    from .driver.interop import pickling

    return pickling


def profile():
    """Where the time of a call goes."""
    from .tools import profile

    return profile


def progress():
    """What is said of a long compilation."""
    from . import progress

    return progress


def registry():
    """The ops, and the error of what they do not take."""
    from ..dialects import registry

    return registry


def remarks():
    """The decisions of passes."""
    from ..passes.cost import remarks

    return remarks


def repeated_call():
    """Calls on a GPU that are like those before."""
    from .gpu import repeated_call

    return repeated_call


def runtime_checks():
    """Graphs with their checks."""
    from .frontend.indexing import runtime_checks

    return runtime_checks


def shared_memory():
    """Arrays of a call that share memory."""
    from .call import shared_memory

    return shared_memory


def staging():
    """From a Python function to its graph."""
    from .frontend.staging import tracing

    return tracing


def strides():
    """How arguments lie in memory, for the front end."""
    from .frontend.tensor.views import strides

    return strides


def temp_limit():
    """The limit of the memory for temporaries."""
    from .driver import temp_limit

    return temp_limit
