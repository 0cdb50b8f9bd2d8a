"""Compiled `.tx` files: `load` and `compile_source` give a module whose attributes are its functions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...dialects.registry import OpError
from ...runtime.gpu.device_array import OnDevice, is_device_array
from ..call.device_arguments import for_the_user, results_on, shared
from ..call.facts import as_dense_strided, resolve_aliasing, stride_fact
from ..call.foreign_arrays import is_xarrays, refuse_foreign
from ..call.results import Results
from ..config.options import OptionError, Options
from ..diagnostics import TxcError
from ..frontend.indexing.runtime_checks import with_runtime_checks
from ..frontend.trace.graph import Graph
from ..frontend.tx.calls import match_arguments
from ..frontend.tx.errors import load_text
from ..frontend.tx.parser import TxFunction, TxModule, parse
from ..frontend.tx.types import Parameter
from .compile_cache import compiled, packed
from .executable import GuardFailure
from .inspection import Lowered, lowered, profiled

__all__ = ["CompiledModule", "CompiledTx", "compile_source", "load", "results_of"]


class CompiledTx:
    """A function of a `.tx` file, called with arrays (and numbers) of its declared types."""

    def __init__(self, function: TxFunction, options: Options):
        if options.donate:
            raise OptionError("donate is an option of jit: a .tx function writes to the arguments that it assigns to")
        self.function, self._options = function, options
        self.__name__ = function.name
        self.__doc__ = function.doc

    def __reduce__(self) -> Any:
        """By the text of its file, and its options."""
        module = self.function.module
        return _restored_function, (module.text, module.filename, self.function.name, self._options)

    @cached_property
    def graph(self) -> Graph:
        """Its expression graph; TxcError, with the line, where the body is wrong."""
        return self.function.graph()

    @cached_property
    def _checked(self) -> Graph:
        """The graph that calls run."""
        return with_runtime_checks(self.graph)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """Its parameters and results with their declared types, as `inspect.signature` gives it."""
        declared = self.function
        parameters = [
            inspect.Parameter(p.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=p.type)
            for p in declared.parameters
        ]
        results = declared.results
        if not results:
            return inspect.Signature(parameters)
        return inspect.Signature(parameters, return_annotation=results[0] if len(results) == 1 else tuple(results))

    def __repr__(self) -> str:
        return f"<txc {self.__name__}{self.__signature__}>"

    @property
    def compile_options(self) -> Options:
        """The options that it is compiled with."""
        return self._options

    def options(self, **given: Any) -> CompiledTx:
        """The same function with other options."""
        return CompiledTx(self.function, Options.of(self._options, **given))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._bind(args, kwargs)
        graph = self.graph
        arrays, integers = self._inputs(given)
        executable = compiled(self._checked, [stride_fact(a) for a in arrays], self._options)
        if executable.written:
            arrays = resolve_aliasing(arrays, executable.written)
        try:
            prepared = executable.prepared(arrays, integers)
        except ValueError as error:
            raise TxcError(f"{self.__name__}: {error}", code="TX0552") from error
        there = any(isinstance(array, OnDevice) for array in arrays)
        made = results_on(self._options.device, executable, prepared, {}) if there else None
        try:
            outputs = executable.run(prepared, arrays, self._options.threads, made)
        finally:  # what is stored before an error is stored
            self._write_back(executable, arrays, args, kwargs)
        return results_of(self.function, graph, outputs)

    def _write_back(
        self, executable: Any, arrays: list[np.ndarray], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Arguments that had to be copied to be walked get what was written into the copy."""
        passed = dict(zip((p.name for p in self.function.parameters), args)) | kwargs
        inputs = [i for i in self.graph.inputs if i.value is not None]
        for position in executable.written:
            given, original = inputs[position], passed[inputs[position].name]
            if isinstance(original, np.ndarray) and not np.may_share_memory(original, arrays[position]):
                original[...] = arrays[position].T if given.layout == "col" else arrays[position]

    def profile(self, *args: Any, repeats: int | None = None, **kwargs: Any) -> Any:
        """Where the time of such a call goes, kernel by kernel: as `txc.jit` functions have it."""
        arrays, integers = self._inputs(self._bind(args, kwargs))
        try:
            return profiled(
                self._checked, [stride_fact(a) for a in arrays], self._options, arrays, lambda _: integers, repeats
            )
        except GuardFailure as error:
            raise TxcError(f"{self.__name__}: {error}", code="TX0552") from error

    def _inputs(self, given: dict[str, Any]) -> tuple[list[np.ndarray], list[int]]:
        """Arrays and ints, each in the order of the graph's inputs."""
        values = [(i.value is None, i.source if i.hidden else given[i.name]) for i in self.graph.inputs]
        return [v for is_int, v in values if not is_int], [v for is_int, v in values if is_int]

    def lower(self) -> Lowered:
        """Every stage of its compilation, for packed arguments."""
        return lowered(self._checked, packed(self.graph), self._options)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, each of its declared type."""
        parameters = self.function.parameters
        try:
            given = match_arguments(self.__name__, parameters, args, kwargs)
        except OpError as error:
            raise TxcError(error.message, hint=error.hint, code=error.code) from None
        return {p.name: self._typed(p, given[p.name]) for p in parameters}

    def _typed(self, p: Parameter, value: Any) -> Any:
        if p.type.is_int:
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise TxcError(f"{self.__name__} takes {p.name}: an int, got {value!r}", code="TX0551")
            return int(value.__index__())
        if p.type.scalar:
            number = np.asarray(value)
            if number.ndim or (number.dtype.kind not in "biuf" and number.dtype != p.type.dtype.numpy):
                raise TxcError(f"{self.__name__} takes {p.name}: a number ({p.type}), got {value!r}", code="TX0551")
            return number.astype(p.type.dtype.numpy)
        if isinstance(value, np.ndarray):
            refuse_foreign(f"{p.name} of {self.__name__}", value)
        elif is_xarrays(value):
            raise TxcError(
                f"{self.__name__} takes {p.name}: {p.type}, got a {type(value).__name__}, whose dims and coordinates "
                "the result would not have",
                hint=f"call xr.apply_ufunc({self.__name__}, …), or pass {p.name}.values",
                code="TX0551",
            )
        array = self._there(p, value) if is_device_array(value) else as_dense_strided(np.asarray(value))
        if array.dtype != p.type.dtype.numpy or array.ndim != len(p.type.dims):
            shape = "×".join(map(str, array.shape)) or "rank 0"
            raise TxcError(
                f"{self.__name__} takes {p.name}: {p.type}, got {array.dtype} of shape {shape}",
                hint=f"pass {p.name}.astype({p.type.dtype.numpy.name!r})" if array.ndim == len(p.type.dims) else "",
                code="TX0551",
            )
        if isinstance(array, OnDevice):
            return array.owner.T.form() if p.type.layout == "col" else array
        return array.T if p.type.layout == "col" else array

    def _there(self, p: Parameter, value: Any) -> OnDevice:
        """The form of an array in the memory of the GPU that it runs on."""
        try:
            return shared(f"{p.name} of {self.__name__}", self.__name__, value, self._options.device).form()
        except (TypeError, ValueError) as error:
            raise TxcError(str(error), code="TX0551") from error


def results_of(function: TxFunction, graph: Graph, outputs: Sequence[Any]) -> Any:
    """What a function returns, of the outputs of its graph: in the user's dims, the same one twice where it says so."""
    layouts = function.output_layouts(graph)
    given = [o.T if layout == "col" else o for o, layout in zip(map(for_the_user, outputs), layouts)]
    return Results(given).of(graph.structure)


class CompiledModule:
    """A `.tx` file; its functions are attributes."""

    def __init__(self, module: TxModule, options: Options):
        self._module, self._options = module, options
        self.functions = {name: CompiledTx(f, options) for name, f in module.functions.items()}

    def __reduce__(self) -> Any:
        """By the text of the file, and the options."""
        return _restored_module, (self._module.text, self._module.filename, self._options)

    def function(self, name: str | None = None) -> CompiledTx:
        """The function of that name, or the last one of the file."""
        return self.functions[self._module.function(name).name]

    def __getattr__(self, name: str) -> CompiledTx:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.function(name)

    def __dir__(self) -> list[str]:
        return list(self.functions)

    def __repr__(self) -> str:
        return f"<txc module {self._module.filename}: {', '.join(self.functions)}>"


#: What a pool's tasks bring again and again is parsed once.
_parsed = lru_cache(maxsize=64)(parse)


def _restored_function(text: str, filename: str, name: str, options: Options) -> CompiledTx:
    return CompiledTx(_parsed(text, filename).function(name), options)


def _restored_module(text: str, filename: str, options: Options) -> CompiledModule:
    return CompiledModule(_parsed(text, filename), options)


def compile_source(text: str, filename: str = "<tx>", **options: Any) -> CompiledModule:
    """The functions of a program text.  TxcError, with line and caret, for what is not the language."""
    return CompiledModule(parse(text, filename), Options.of(**options))


def load(path: str | Path, **options: Any) -> CompiledModule:
    """The functions of a `.tx` file.  TxcError where it cannot be read, or is not the language."""
    return compile_source(load_text(path), str(path), **options)
