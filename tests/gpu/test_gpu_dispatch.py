"""What runs on a GPU in tests, by list: every example of the repository and every op, and why some do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpu_support
import numpy as np
import pytest

import txc
from txc.compiler.tools.bisect import differing
from txc.dialects.registry import OPS, Op

from ..ops.generated import MAPS, REDUCTIONS, SCANS, VIEWS
from ..ops.test_op_matrix import OTHER_VIEWS
from ..test_examples import ARGUMENTS, EXAMPLES, table
from . import test_foreign
from .devices import on_gpus

#: What the simulator gets instead, where an example's own arguments take it minutes: eight digits of the 597 held out.
SMALLER: dict[str, Callable[[], tuple[Any, ...]]] = {"digits_classifier": lambda: (table()[:1208],)}
#: Ops that have no code on any device, with the reason.
NO_CODE = {
    "require": "is a demand on data, which becomes checks before anything is compiled",
    "swap_layout": "says of a tensor that its dims are named in the other order",
}
GENERATED = {op.name for op in (*MAPS, *REDUCTIONS, *SCANS, *VIEWS)} - OTHER_VIEWS
#: Loop generators, and the two ways to a transform.
CUSTOM_KERNELS = {*test_foreign.USES, "dft"}
#: What `test_op_matrix.py` and `test_foreign.py` leave: each is applied as docs/gpu_support.py does.
OTHERS = [op for name, op in sorted(OPS.items()) if name not in {*GENERATED, *CUSTOM_KERNELS, *NO_CODE}]
X = np.random.default_rng(2).permutation(np.linspace(1, 2, 24, dtype=np.float32)).reshape(4, 6)


def test_every_op_is_run_or_has_no_code() -> None:
    assert set(NO_CODE) <= set(OPS) and set(NO_CODE).isdisjoint(GENERATED | CUSTOM_KERNELS)
    assert GENERATED | CUSTOM_KERNELS | {op.name for op in OTHERS} | set(NO_CODE) == set(OPS)


def test_every_example_has_arguments() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.tx")} == set(ARGUMENTS) >= set(SMALLER)


@pytest.mark.parametrize(("device", "name"), on_gpus(list(ARGUMENTS)))
def test_examples_have_the_bits_of_the_cpu(device: str, name: str) -> None:
    arguments = (SMALLER[name] if device == "ptx-sim" and name in SMALLER else ARGUMENTS[name])()
    module = txc.load(EXAMPLES / f"{name}.tx")
    results = []
    for where in ("cpu", device):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        made = module.function(name).options(device=where)(*given)
        results.append([np.asarray(r) for r in (made if isinstance(made, tuple) else (made,))])
    assert differing(results[0], results[1]) is None


@pytest.mark.parametrize(("device", "op"), on_gpus(OTHERS))
def test_ops_have_the_bits_of_the_cpu(device: str, op: type[Op]) -> None:
    def applied(x: Any) -> Any:
        return gpu_support.applied_to(op, x)

    # What has statements is staged, which wants the function itself.
    function = gpu_support.EXAMPLES.get(op.name, applied)
    results = [txc.jit(function, device=where)(X.copy()) for where in ("cpu", device)]
    both = [[np.asarray(r) for r in (made if isinstance(made, tuple) else (made,))] for made in results]
    assert differing(both[0], both[1]) is None
