"""What has no compiled form, and what to write instead: one sentence for each name of NumPy's and Python's.

Hints of refusals, `docs/reference/not-supported.md` and the test that no public name is forgotten read this table.
It says what a name *means*: of names that are spelled nearly alike few mean nearly the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["COMPILING", "GROUPS", "Group", "instead"]


class Group(NamedTuple):
    """Names of one kind: `title` says of which, `what` what they are, `write` what to write instead.

    `own` has what to write instead of single names, where there is more to say.
    """

    title: str
    names: tuple[str, ...]
    what: str
    write: str
    own: Mapping[str, str] = MappingProxyType({})


def _of(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{name}" for name in names.split())


_RANDOM = (
    "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace "
    "logistic lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f "
    "normal pareto permutation poisson power rand randint randn random random_integers random_sample ranf rayleigh "
    "sample shuffle standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform "
    "vonmises wald weibull zipf"
)

GROUPS: tuple[Group, ...] = (
    Group(
        "Files",
        _of("np.", "fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez savez_compressed")
        + _of("ndarray.", "tofile dump")
        + ("open",),
        "Reads or writes files.",
        "read before the call and pass the array, or return the array and write it after the call",
    ),
    Group(
        "Text",
        _of("np.", "array2string array_repr array_str format_float_positional format_float_scientific")
        + _of("np.", "base_repr binary_repr datetime_as_string fromstring str_ character")
        + _of("np.", "get_printoptions printoptions set_printoptions")
        + ("print", "repr", "str", "format", "ascii", "f-string", "str.format", "float.hex"),
        "Text of values, which are known when the compiled function runs.  Sizes and other facts of the call have a "
        'text: `f"{x.shape}"`.',
        "return the value, and format or print it outside the function",
        {"np.fromstring": "convert the text outside the function, and pass the array"},
    ),
    Group(
        "Python's own copies of elements",
        _of("ndarray.", "tolist tobytes dumps")
        + _of("int.", "to_bytes from_bytes")
        + _of("float.", "as_integer_ratio fromhex")
        + ("bytes", "bytearray", "memoryview"),
        "Makes Python objects of the elements, which are known when the compiled function runs.",
        "return the array, and convert it outside the function",
        {"ndarray.tolist": "use the array itself; return it and call .tolist() on the result"},
    ),
    Group(
        "The memory of an array",
        _of("ndarray.", "base ctypes data flags strides setflags getfield setfield byteswap device to_device")
        + _of("np.", "frombuffer from_dlpack isfortran may_share_memory shares_memory getbufsize setbufsize"),
        "Asks where or how an array lies in memory.  Compiled code decides that anew.",
        "do it outside the function, and pass what comes of it",
        {
            "ndarray.base": "compare arrays with `is` where they are made",
            "ndarray.byteswap": "convert outside: x.astype(x.dtype.newbyteorder('='))",
            "ndarray.strides": "use sizes and slices; strides are no part of a value",
            "ndarray.setflags": "set the flag outside the function; a read-only argument is not stored into",
        },
    ),
    Group(
        "Sizes that change in place",
        _of("ndarray.", "resize"),
        "Gives an array another size, so that all names for it see that.",
        "write x = np.resize(x, shape), or make a new array and copy the old one into it",
    ),
    Group(
        "Iterators in memory",
        _of("np.", "nditer nested_iters flatiter broadcast ndenumerate"),
        "Iterates over arrays as they lie in memory.",
        "write for i in range(len(x)) with x[i], or operations on whole arrays",
        {
            "np.broadcast": "write np.broadcast_arrays(x, y), or np.broadcast_shapes(x.shape, y.shape)",
            "np.ndenumerate": "write for index in np.ndindex(x.shape), with x[index]",
        },
    ),
    Group(
        "Classes of arrays",
        _of("np.", "matrix asmatrix bmat recarray record char.chararray ma.MaskedArray void rec"),
        "A class of arrays with rules of its own.",
        "use plain arrays, with @ for the product of matrices",
        {
            "np.bmat": "write np.block([[a, b], [c, d]])",
            "np.recarray": "use one array a field",
            "np.record": "use one array a field",
            "np.void": "use one array a field",
        },
    ),
    Group(
        "Polynomials",
        _of("np.", "poly poly1d polyadd polyder polydiv polyint polymul polysub roots"),
        "Polynomials whose number of coefficients depends on values.",
        "use np.polyval and np.polyfit; write the rest with arrays of coefficients",
        {
            "np.polymul": "write np.convolve(p, q)",
            "np.polyadd": "write p + q, of coefficients padded in front to one length",
            "np.polysub": "write p - q, of coefficients padded in front to one length",
            "np.polyder": "write p[:-1] * np.arange(len(p) - 1, 0, -1)",
            "np.polyint": "write np.append(p / np.arange(len(p), 0, -1), 0)",
            "np.roots": "write np.linalg.eigvals of the companion matrix",
            "np.poly1d": "write np.polyval(p, x), with p the array of coefficients",
            "np.poly": "write np.convolve of the factors [1, -r]",
            "np.polydiv": "compute quotient and remainder outside the function",
        },
    ),
    Group(
        "Indices by a function",
        _of("np.", "diag_indices diag_indices_from tril_indices triu_indices mask_indices"),
        "Lists of indices of a part of a matrix.",
        "use masks: np.tri, np.tril, np.triu, np.eye, and comparisons of np.arange(n)[:, None] with np.arange(n)",
        {
            "np.diag_indices": "write i = np.arange(n), then x[i, i]",
            "np.diag_indices_from": "write i = np.arange(len(x)), then x[i, i]",
            "np.tril_indices": "write np.nonzero(np.tri(n, dtype=bool))",
            "np.triu_indices": "write np.nonzero(~np.tri(n, k=-1, dtype=bool))",
        },
    ),
    Group(
        "Dates",
        _of("np.", "datetime64 timedelta64 busday_count busday_offset busdaycalendar is_busday datetime_data isnat"),
        "Dates and times.",
        "pass days or seconds as integers: dates.astype('i8') outside the function",
    ),
    Group(
        "Python objects as elements",
        _of("np.", "object_ frompyfunc fromiter"),
        "Arrays of Python objects.",
        "use arrays of numbers",
        {
            "np.frompyfunc": "write np.vectorize(f), which is compiled, or f with operations on whole arrays",
            "np.fromiter": "write np.array([… for … in …])",
        },
    ),
    Group(
        "Extended precision",
        _of("np.", "longdouble clongdouble float128 complex256"),
        "Numbers of more than 64 bits, which compiled code has no arithmetic for.",
        "use np.float64, or two of them: a sum and its error",
    ),
    Group(
        "Single functions",
        _of("np.", "asarray_chkfinite common_type einsum_path histogram_bin_edges histogramdd min_scalar_type place")
        + _of("np.", "real_if_close trim_zeros typename"),
        "Functions of arrays that nobody has needed compiled.",
        "",
        {
            "np.asarray_chkfinite": "check np.isfinite(x).all() outside the function",
            "np.common_type": "write np.result_type(x.dtype, y.dtype, np.float64)",
            "np.einsum_path": "write np.einsum(…), which chooses the order of products itself",
            "np.histogram_bin_edges": "write np.histogram(x, bins)[1]",
            "np.histogramdd": "write np.histogram2d, or np.digitize for each dim and np.bincount of the joined numbers",
            "np.min_scalar_type": "state the dtype",
            "np.place": "write x[mask] = values[:mask.sum()], or np.where(mask, value, x)",
            "np.real_if_close": "write x.real",
            "np.trim_zeros": "write x[first:last + 1], with first and last from np.nonzero(x)",
            "np.typename": "write x.dtype",
        },
    ),
    Group(
        "Single methods of numbers",
        ("float.is_integer", "pow"),
        "Of numbers that are known only at run time.",
        "",
        {
            "float.is_integer": "write x % 1 == 0",
            "pow": "with a modulus: multiply in a loop, with % after each product",
        },
    ),
    Group(
        "Settings of NumPy",
        (
            *_of("np.", "seterr seterrcall geterr geterrcall get_include show_config show_runtime info test"),
            *("np.linalg.test", "np.fft.test", "np.random.test"),
        ),
        "Asks or changes how NumPy works, which compiled code does not read.",
        "do it outside the function",
    ),
    Group(
        "Random numbers of NumPy",
        _of("np.random.", _RANDOM)
        + _of(
            "np.random.",
            "default_rng Generator RandomState SeedSequence BitGenerator PCG64 PCG64DXSM MT19937 Philox SFC64",
        )
        + _of("np.random.", "seed get_state set_state get_bit_generator set_bit_generator"),
        "Draws from NumPy's streams.",
        "write txc.random.uniform(shape, seed=seed) or txc.random.normal(shape, seed=seed), streams of txc's own, or "
        "draw outside the function and pass the array",
        {
            "np.random.default_rng": "give it a seed in the text, np.random.default_rng(0), whose draws are NumPy's; "
            "for any other write txc.random.normal(shape, seed=seed), or draw outside the function and pass the array",
        },
    ),
    Group(
        "Code, names and the outside world",
        tuple(
            "eval exec compile input breakpoint help globals locals vars dir id hash delattr aiter anext exit quit "
            "copyright credits license".split()
        ),
        "Works with names, code, objects or the terminal while Python runs; compiled code has none of them.",
        "do it outside the function, and pass what comes of it",
        {
            "hash": "compare the values themselves",
            "id": "compare objects with `is`",
        },
    ),
    Group(
        "Collections of values",
        ("set", "frozenset"),
        "Collections whose order or size values decide.",
        "",
        {
            "set": "write np.unique(x)",
            "frozenset": "write np.unique(x)",
        },
    ),
)

#: Functions and classes that Python calls while a function is compiled, on dtypes, sizes and other facts of the call.
COMPILING: tuple[str, ...] = (
    *_of(
        "np.",
        "bool bool_ byte bytes_ cdouble complex128 complex64 complexfloating csingle double dtype errstate finfo "
        "flexible float16 float32 float64 floating generic half iinfo inexact int16 int32 int64 int8 int_ intc integer "
        "intp long longlong number short signedinteger single ubyte uint uint16 uint32 uint64 uint8 uintc uintp ulong "
        "ulonglong unsignedinteger ushort",
    ),
    *_of("np.", "broadcast_shapes isdtype issubdtype mintypecode promote_types ndindex fromfunction"),
    *_of("np.", "iterable isscalar ufunc vectorize matmul row_stack"),
    *_of("np.linalg.", "LinAlgError"),
    *_of("np.fft.", "fftfreq rfftfreq"),
)


def _entries() -> Iterator[tuple[str, str]]:
    for group in GROUPS:
        for name in group.names:
            yield name, group.own.get(name, group.write)


@cache
def _table() -> dict[str, str]:
    return dict(_entries())


def instead(name: str) -> str:
    """What to write instead of a name (``np.linalg.f``, ``ndarray.method``, ``print``); empty where nobody said."""
    return _table().get(name, "")
