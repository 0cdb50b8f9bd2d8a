"""docs/reference/operations.md has every name of Eigen's Tensor module, each with a test that there is."""

from __future__ import annotations

import ast
import itertools
import json
from pathlib import Path

import gpu_support
import pytest
from pages import operations

import txc
from txc.dialects.registry import OPS

ROOT = Path(__file__).parent.parent

#: The names of the module in txc's spelling, as the project promises them: one that goes missing is an error here.
PROMISED = """
Tensor TensorFixedSize TensorMap TensorRef swap_layout eval assign txc.device eval_async ndim rank shape dimensions
dimension size dtype layout set_constant set_zero set_values set_random constant random data data_ptr __dlpack__
__array_interface__ sqrt rsqrt square cube inverse exp expm1 log log1p log2 log10 abs sign arg real imag conjugate pow
clip round rint ceil floor isnan isinf isfinite tanh sigmoid erf erfc ndtri lgamma digamma logical_not bessel_i0
bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e igamma
igammac zeta polygamma betainc unary_expr binary_expr nullary_expr generate custom_op cwise_max cwise_min logical_and
logical_or select np.where contract np.einsum np.tensordot np.matmul sum mean maximum minimum prod all any argmax argmin
reduce cumsum cumprod scan convolve fft np.fft reshape shuffle stride slice strided_slice chip reverse roll
broadcast concatenate pad inflate extract_patches extract_image_patches extract_volume_patches cast format
TensorIOFormat bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128
""".split()
#: Operators and calls with an argument, as they are written.
PROMISED_FORMS = (
    "-a", "~a", "a + 2", "2 - a", "a * 2", "2 / a", "a % 2", "a + b", "a - b", "a * b", "a / b", "a % b", "a ** b",
    "a & b", "a | b", "a ^ b", "a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b", "a @ b", "t[i, j]",
    "t[i, j] = v", "buffer protocol", 'layout="row"', 'layout="col"', "f32[n, m].col", "Y[...] = expression",
    "on(d)[...] = expression", "eval(device=)", 'round(half="away")', "x.view()[...] = y", "trace(dims=)",
    "cumsum(exclusive=True)", "cumprod(exclusive=True)", 'fft(result="real")', 'fft(result="imag")',
    'fft(direction="reverse")', *(f'{name}(b, nan="{policy}")' for name in ("cwise_max", "cwise_min")
    for policy in ("fast", "propagate", "numbers")), 'maximum(nan="fast")', 'maximum(nan="propagate")',
    'maximum(nan="numbers")', 'minimum(nan="fast")', 'minimum(nan="numbers")',
)  # fmt: skip


PAGE = (ROOT / "docs" / operations.PAGE).read_text(encoding="utf-8")
NAMES = {name: entry for names in operations.eigen_names().values() for name, entry in names.items()}


def test_every_promised_name_is_on_the_page() -> None:
    assert sorted(NAMES) == sorted([*PROMISED, *PROMISED_FORMS])
    for name in NAMES:
        assert f"| `{name}` |".replace("a | b", "a \\| b") in PAGE


@pytest.mark.parametrize("name", [n for n, e in NAMES.items() if n.isidentifier() and "dtype" not in e])
def test_the_name_exists(name: str) -> None:
    """As a tensor's attribute or method, or as a name of the package."""
    tensor = txc.Tensor("f32", (2, 3))
    assert hasattr(tensor, name) or hasattr(txc, name)


@pytest.mark.parametrize("name", NAMES)
def test_what_proves_it_exists(name: str) -> None:
    path, _, test = operations.proof(name, NAMES[name]).partition("::")
    function, _, case = test.partition("[")
    text = (ROOT / "tests" / path).read_text(encoding="utf-8")
    found = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    assert function in found
    case = case.rstrip("]")
    if test in operations.TESTS.values() or path == "ops/test_op_matrix_views.py":
        assert not case or case in OPS
    elif case:
        texts = [text, *(p.read_text(encoding="utf-8") for p in (ROOT / "tests" / path).parent.glob("examples.py"))]
        assert any(case in t or json.dumps(case) in t or f"'{case}'" in t for t in texts)


def test_the_table_of_ptx_is_measured() -> None:
    """It has every op; some of them, compiled again, become PTX for the kinds that it says."""
    table = json.loads((ROOT / "docs" / "gpu_support.json").read_text(encoding="utf-8"))
    assert table["kinds"] == list(gpu_support.KINDS) and sorted(table["ops"]) == sorted(OPS)
    for name in itertools.islice(sorted(OPS), 0, None, 12):
        assert gpu_support.compiled_kinds(OPS[name]) == table["ops"][name], f"{name}: run python docs/gpu_support.py"
