"""Hand-written IR text and its parser; no test but those of the cache sees what other processes kept."""

import os
from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, complex, func, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.parser import Parser

from txc.dialects import ops as _registered  # noqa: F401  (bodies call ops by name)
from txc.dialects.attributes import DimAttr, DimsAttr, DTypeAttr, MapAttr, OrderAttr
from txc.dialects.kernel import KERNEL
from txc.dialects.loop import LOOP

# Here, before any test module is imported, so that subprocesses inherit it too.
os.environ["TXC_CACHE_DIR"] = "0"


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    """``parse(text)``: a verified module."""
    context = Context()
    attributes = Dialect("tx", [], [DimAttr, DimsAttr, DTypeAttr, MapAttr, OrderAttr])
    for dialect in (builtin.Builtin, func.Func, arith.Arith, complex.Complex, math.Math, KERNEL, LOOP, attributes):
        context.load_dialect(dialect)

    def parse(text: str) -> ModuleOp:
        module = Parser(context, text).parse_module()
        module.verify()
        return module

    return parse
