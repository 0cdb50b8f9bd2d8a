"""Running lazy expressions: their graph, on a device, now or in another thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dialects.registry import RAISE, OpError
from ....dialects.tx_internal import Stored
from ...config.devices import device as on_device
from ...config.devices import device_here, parse_device
from ..trace.context import current, suspended
from ..trace.graph import DimTable, Graph, Node, Value, schedule
from .deferred import array_of_leaf, force
from .eval_cache import insert, lookup, request
from .materialize import first_piece, fresh_keys, keep, outside, worth_keeping
from .structural_key import changing, key_of
from .symbolic_shapes import generic, leaf_input
from .varying_numbers import take_varying_numbers

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..tensor.tensor import Tensor

__all__ = ["check_outside_a_trace", "evaluate_async", "evaluate_value", "evaluated", "lazy_graph", "run_in_place"]

#: The module of the functions that need tensors, which puts itself here (`methods_table`).
functions: Any = None


def lazy_graph(outputs: Sequence[Value], written: Value | None = None) -> Graph:
    """The graph that computes values of lazy expressions: their leaves are hidden inputs.

    The first output is the new content of the leaf `written`, where one is given.  Dims are symbols, so that other
    shapes find the same code; numbers where the expression relies on them (`symbolic_shapes`).  Its nodes are its own:
    values of the expressions may become arrays meanwhile.
    """
    with changing:
        outputs = _copied([force(v) for v in outputs])
    ordered = _leaves_of(outputs, written)
    leaves = [leaf.results[0] for leaf in ordered]
    try:
        table, inputs, results = generic(outputs, leaves, None if written is None else written.node.results[0])
    except OpError:
        table, inputs, results = DimTable(), [leaf_input(i, v) for i, v in enumerate(leaves)], list(outputs)
    aliases = {} if written is None else {0: ordered.index(written.node)}
    for number, given in aliases.items():
        before = inputs[given].value
        if before is not None and any(node.attrs.get("mode") == RAISE for node in schedule(results)):
            results[number] = Node(Stored, (results[number], before), {}, [results[number].type]).results[0]
    structure = 0 if len(outputs) == 1 else tuple(range(len(outputs)))
    return Graph("expression", inputs, results, table, aliases, structure, len(outputs)).settle()


def _copied(outputs: Sequence[Value]) -> list[Value]:
    """The outputs of nodes made again, of the same leaves."""
    known: dict[Value, Value] = {}

    def again(v: Value) -> Value:
        return v.node.results[0] if v.node.op is None else known[v]

    for node in schedule(outputs):
        types = [r.type for r in node.results]
        made = Node(node.op, [again(v) for v in node.operands], node.attrs, types, node.loc, node.regions)
        known.update(zip(node.results, made.results))
    return [again(v) for v in outputs]


def _leaves_of(outputs: Sequence[Value], written: Value | None) -> list[Node]:
    """The leaves that values need, in the order of the graph's inputs."""
    leaves = {v.node for v in [*outputs, *(o for n in schedule(outputs) for o in n.operands)] if v.node.op is None}
    if written is not None:
        leaves.add(written.node)
    return sorted(leaves, key=lambda leaf: leaf.serial)


def evaluate_value(value: Value) -> np.ndarray:
    """The elements of a lazy value in graph dims, in memory of their own."""
    array = array_of_leaf(value)
    return _run(value) if array is None else np.array(array)


def run_in_place(value: Value, leaf: Value) -> None:
    """Compute the new content of a leaf's array, there; what it reads of that memory is what was there before."""
    _run(value, leaf)


def _run(value: Value, written: Value | None = None) -> np.ndarray:
    """The value of an expression; it goes into the array of the leaf `written`, where one is given.

    What others want of it too is kept (`materialize`), but for what is written, whose memory they share.
    """
    found = outside(value)
    if not found or written is not None:
        return _computed((value,), written)[0]
    kept = worth_keeping(found, (value.key or key_of(value))[1] or ())
    arrays = _computed((value, *kept), None)
    keep(kept, [a.copy() if a is arrays[0] else a for a in arrays[1 : len(kept) + 1]])
    return arrays[0]


def _computed(outputs: Sequence[Value], written: Value | None) -> list[np.ndarray]:
    """The values of expressions, at once where they are not long; the first goes into `written`, if there is one.

    Behind them is what run-time checks found, where there are any.
    """
    given = request(outputs, written)
    call = None if given is None else lookup(given[0])
    if call is None:
        while piece := first_piece(outputs[0]):
            keep(piece, _computed_first(piece, None)[: len(piece)])
        return _computed_first(outputs, written)
    assert given is not None
    return call(given[1])


def _computed_first(outputs: Sequence[Value], written: Value | None) -> list[np.ndarray]:
    """As `_computed`, of expressions whose call is not known; it is from now on, where they have forms."""
    with suspended():
        with changing:
            fresh_keys(outputs)
            given = request(outputs, written)
            call = None if given is None else lookup(given[0])
            made = (
                (lazy_graph(outputs, written), _leaves_of([force(v) for v in outputs], written)) if not call else None
            )
        if made is None:
            assert given is not None and call is not None
            return call(given[1])
        driver, (graph, ordered) = functions.compile_cache(), made
        take_varying_numbers(graph)
        numbers = [i.source for i in graph.inputs if i.kind != "int"][len(ordered) :]
        graph = functions.with_runtime_checks(graph)
        if given is None or device_here().is_gpu:  # whose code knows the user's lines
            return driver.evaluate_graph(graph)
        key, leaves = given
        options = driver.options_here()
        places = tuple([leaves.index(v) for v in ordered])
        arrays = [*(v.leaf for v in ordered), *numbers]
        call = driver.call_of(graph, options, arrays)
    if not options.lines:
        insert(key, call, places, numbers)
    return call(arrays)


def evaluated(t: Tensor, device: str | None = None) -> Tensor:
    """A tensor of its own memory with the elements of `t`, computed on `device`."""
    check_outside_a_trace("eval(device=…)")
    with on_device(device):
        return t.attach_memory(evaluate_value(t.value))


def evaluate_async(work: Callable[[], Any], device: str | None, done: Callable[[Any], object] | None) -> Future[Any]:
    """Run `work` in another thread on `device`: a future of what it gives, set when `done` has been called with that.

    An exception of the work, or of `done`, is the future's.
    """
    if device is not None:
        parse_device(device)
    import threading
    from concurrent.futures import Future  # which loads `logging`

    future: Future[Any] = Future()

    def run() -> None:
        try:
            with on_device(device):
                result = work()
            if done is not None:
                done(result)
        except BaseException as error:  # the future hands it to whoever asks for the result
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="txc-eval").start()
    return future


def check_outside_a_trace(what: str) -> None:
    """OpError inside a function that is being compiled."""
    if current() is not None:
        raise OpError(
            f"{what} inside a compiled function",
            "the function has one device: give it to txc.jit(device=…) or f.options(device=…)",
            "TX0701",
        )
