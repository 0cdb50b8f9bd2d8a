"""The tensor-level interpreter against NumPy, and each pass of that level against the interpreter."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.parser import Parser

from txc.compiler.interpret.tensor import run
from txc.dialects.tx import tx_dialect
from txc.dialects.verification import check_dominance, verify_distinct
from txc.passes.tensor.canonicalize import CanonicalizePass
from txc.passes.tensor.eval_insertion import EvalInsertionPass
from txc.passes.tensor.layout_swap import LayoutSwapPass

T = 'tensor<?x?xf32, #tx.dims<"n, m">>'
C = 'tensor<?x?xf32, #tx.dims<"m, n">>'
R = 'tensor<?xf32, #tx.dims<"n">>'
SCALAR = "tensor<f32>"
SUM = 'dims = [1], order = #tx.order<"tree<1024, 64>">'
LOOP = 'iv = "i", lower = #tx.dim<"1">, upper = #tx.dim<"n">, step = #tx.dim<"1">'

SOFTMAX = f"""
  %0 = tx.maximum %x {{dims = [1], order = #tx.order<"free">}} : ({T}) -> {R}
  %1 = tx.view %0 {{map = #tx.map<"(d0: n, d1: m) -> (d0)">}} : ({R}) -> {T}
  %2 = tx.sub %x, %1 : ({T}, {T}) -> {T}
  %3 = tx.exp %2 : ({T}) -> {T}
  %4 = tx.sum %3 {{{SUM}}} : ({T}) -> {R}
  %5 = tx.view %4 {{map = #tx.map<"(d0: n, d1: m) -> (d0)">}} : ({R}) -> {T}
  %r = tx.div %3, %5 : ({T}, {T}) -> {T}
"""
# Each row becomes itself plus the row before, in place: the loop's iterator is used in a view and in a store.
ROWS = f"""
  %r = "tx.for"(%x) ({{
  ^bb0(%c: {T}):
    %0 = tx.view %c {{map = #tx.map<"(d0: m) -> (i - 1, d0)">}} : ({T}) -> tensor<?xf32, #tx.dims<"m">>
    %1 = tx.view %c {{map = #tx.map<"(d0: m) -> (i, d0)">}} : ({T}) -> tensor<?xf32, #tx.dims<"m">>
    %2 = tx.add %0, %1 : (tensor<?xf32, #tx.dims<"m">>, tensor<?xf32, #tx.dims<"m">>) -> tensor<?xf32, #tx.dims<"m">>
    %3 = tx.insert %c, %2 {{map = #tx.map<"(d0: m) -> (i, d0)">}} : ({T}, tensor<?xf32, #tx.dims<"m">>) -> {T}
    tx.yield %3 : {T}
  }}) {{{LOOP}}} : ({T}) -> {T}
"""
TRANSPOSED = f"""
  %0 = tx.shuffle %x {{permutation = [1, 0]}} : ({T}) -> {C}
  %1 = tx.exp %0 : ({C}) -> {C}
  %2 = tx.negate %1 : ({C}) -> {C}
  %3 = tx.negate %2 : ({C}) -> {C}
  %r = tx.shuffle %3 {{permutation = [1, 0]}} : ({C}) -> {T}
"""


def parse(body: str, result: str = T) -> builtin.ModuleOp:
    context = Context()
    for dialect in (builtin.Builtin, func.Func, tx_dialect()):
        context.load_dialect(dialect)
    head = f'func.func @f(%x: {T}) -> {result} attributes {{tx.symbols = #tx.dims<"n, m">}}'
    text = f"{head} {{{body} func.return %r : {result} }}"
    module = Parser(context, text).parse_module()
    module.verify()
    check_dominance(module)
    return module


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def rows(x):
    return np.cumsum(x, axis=0)


PROGRAMS = {"softmax": (SOFTMAX, softmax), "rows": (ROWS, rows), "transposed": (TRANSPOSED, np.exp)}
X = np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32)


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_numpy(name):
    body, oracle = PROGRAMS[name]
    before = X.copy()
    (got,) = run(parse(body), [X])
    np.testing.assert_allclose(got, oracle(X), rtol=1e-5, atol=1e-6)
    assert np.array_equal(X, before), "an input was written"


@pytest.mark.parametrize("name", PROGRAMS)
def test_passes_keep_every_bit(name):
    module = parse(PROGRAMS[name][0])
    (expected,) = run(module, [X])
    for made in (CanonicalizePass(), LayoutSwapPass(), EvalInsertionPass(), CanonicalizePass()):
        made.apply(Context(), module)
        module.verify()
        check_dominance(module)
        (got,) = run(module, [X])
        assert np.array_equal(got, expected), made.name


def test_bad_arguments():
    module = parse(SOFTMAX)
    with pytest.raises(ValueError, match="takes 1 arrays"):
        run(module, [])
    with pytest.raises(ValueError, match="argument 0 is f32"):
        run(module, [X.astype(np.float64)])


def test_dominance_sees_a_use_before_its_definition():
    module = parse(SOFTMAX)
    (function,) = module.body.block.ops
    first = function.regions[0].block.first_op
    block = function.regions[0].block
    last = block.last_op
    assert first is not None and last is not None
    first.detach()
    block.insert_op_before(first, last)
    module.verify()  # xDSL accepts it
    with pytest.raises(Exception, match=r"before tx\.maximum defines it"):
        check_dominance(module)


def test_dominance_sees_a_use_of_a_sibling_regions_value():
    bad = f"""
  %0 = tx.view %x {{map = #tx.map<"() -> (0, 0)">}} : ({T}) -> {SCALAR}
  %1 = tx.greater %0, %0 : ({SCALAR}, {SCALAR}) -> tensor<i1>
  %r = "tx.if"(%1) ({{
    %2 = tx.exp %x : ({T}) -> {T}
    tx.yield %2 : {T}
  }}, {{
    tx.yield %x : {T}
  }}) : (tensor<i1>) -> {T}
"""
    module = parse(bad)
    branch = next(op for op in module.walk() if op.name == "tx.if")
    stolen = branch.regions[0].block.first_op
    other = branch.regions[1].block.last_op
    assert stolen is not None and other is not None
    other.operands = [stolen.results[0]]
    with pytest.raises(Exception, match=r"outside the region in which tx\.exp defines it"):
        check_dominance(module)


CHAIN = f"""
  %0 = tx.exp %x : ({T}) -> {T}
  %1 = tx.sum %0 {{{SUM}}} : ({T}) -> {R}
  %2 = tx.sum %0 {{{SUM}}} : ({T}) -> {R}
  %3 = tx.exp %2 : ({R}) -> {R}
  %r = tx.exp %3 : ({R}) -> {R}
"""


def test_of_equal_operations_one_is_verified(monkeypatch):
    module = parse(CHAIN, R)
    verified = []
    for cls in {type(op) for op in module.walk()}:
        monkeypatch.setattr(cls, "verify_", lambda self: verified.append(self.name))
    verify_distinct(module)
    assert sorted(verified) == ["builtin.module", "func.func", "func.return", "tx.exp", "tx.exp", "tx.sum"]


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (2, lambda op: op.attributes.pop("order"), "needs its order of arithmetic"),
        (2, lambda op: op.attributes.update(dims=builtin.ArrayAttr([builtin.IntegerAttr(0, 64)])), "tx.sum gives"),
        (4, lambda op: setattr(op, "operands", [op.parent.args[0]]), "tx.exp gives"),
    ],
)
def test_operations_that_differ_are_each_verified(number, change, message):
    module = parse(CHAIN, R)
    (function,) = module.body.block.ops
    change(list(function.regions[0].block.ops)[number])
    with pytest.raises(Exception, match=message):
        verify_distinct(module)
