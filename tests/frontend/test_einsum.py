"""`np.einsum` in all its forms, against NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import txc

RNG = np.random.default_rng(8)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RNG.normal(size=s) for s in shapes]


CASES: dict[str, tuple[str, list[np.ndarray]]] = {
    "chain": ("ij,jk,kl->il", arrays((3, 4), (4, 5), (5, 2))),
    "four": ("ij,jk,kl,lm->mi", arrays((3, 4), (4, 5), (5, 2), (2, 6))),
    "eight": (",".join("abcdefghi"[k : k + 2] for k in range(8)), arrays(*[(2, 2)] * 8)),
    "vector last": ("ij,jk,k", arrays((3, 4), (4, 5), (5,))),
    "shared by three": ("bi,bj,b->bij", arrays((3, 4), (3, 5), (3,))),
    "summed by three": ("ai,bi,ci->abc", arrays((3, 6), (2, 6), (4, 6))),
    "private": ("ijx,jk,kly->il", arrays((3, 4, 2), (4, 5), (5, 2, 3))),
    "scalars": (",i,->i", arrays((), (4,), ())),
    "diagonal": ("ii->i", arrays((4, 4))),
    "trace": ("ii", arrays((4, 4))),
    "diagonal of three": ("iji->ji", arrays((3, 2, 3))),
    "threefold": ("iii->i", arrays((3, 3, 3))),
    "diagonal times": ("ii,ij->j", arrays((4, 4), (4, 3))),
    "diagonal in each": ("ii,jj->ij", arrays((4, 4), (3, 3))),
    "ellipsis": ("...ij,...jk->...ik", arrays((2, 3, 4), (2, 4, 5))),
    "ellipsis stretched": ("...ij,...jk->...ik", arrays((7, 1, 3, 4), (2, 4, 5))),
    "ellipsis in front": ("i...->...", arrays((3, 4, 5))),
    "ellipsis implicit": ("i...j,jk", arrays((3, 2, 4), (4, 5))),
    "ellipsis of one": ("...i,i->...", arrays((2, 3, 4), (4,))),
    "ones": ("ij,ij->ij", arrays((3, 1), (1, 4))),
    "sum": ("ij->", arrays((3, 4))),
    "blanks": (" i j , j k -> k i ", arrays((3, 4), (4, 2))),
}


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str) -> None:
    text, operands = CASES[name]
    for optimize in (False, True, "greedy", ("optimal", 1e6)):
        got = txc.jit(lambda *xs: np.einsum(text, *xs, optimize=optimize))(*operands)  # noqa: B023  # pyright: ignore
        np.testing.assert_allclose(got, np.einsum(text, *operands), rtol=1e-11, atol=1e-12)


def test_a_path_is_followed() -> None:
    text, operands = CASES["four"]
    path = np.einsum_path(text, *operands, optimize="optimal")[0]
    for how in (path, ["einsum_path", (0, 1, 2, 3)], ["einsum_path", (1, 2), (0, 1), (0, 1)]):
        got = txc.jit(lambda *xs: np.einsum(text, *xs, optimize=how))(*operands)  # noqa: B023  # pyright: ignore
        np.testing.assert_allclose(got, np.einsum(text, *operands), rtol=1e-11)


def test_the_order_is_one_that_costs_little() -> None:
    """A chain that ends in a vector never multiplies two matrices."""
    text, operands = CASES["vector last"]
    lowered = txc.jit(lambda *xs: np.einsum(text, *xs)).lower(*operands).as_text("tensor")  # pyright: ignore
    contractions = [line for line in lowered.splitlines() if "tx.contract" in line]
    assert len(contractions) == 2
    assert all(re.search(r": f64\[[^,\]]+\]$", line) for line in contractions)


def test_numbers_for_letters_out_and_dtype() -> None:
    x, y = arrays((3, 4), (4, 5))

    def compiled(x: Any, y: Any, z: Any) -> Any:
        first = np.einsum(x, [0, 1], y, [1, 2], [2, 0])
        second = np.einsum(x, [0, ...], [..., 0])  # pyright: ignore[reportCallIssue, reportArgumentType]
        np.einsum("ij,jk->ik", x, y, out=z)
        return first, second, np.einsum("ij->j", x, dtype=np.float32)

    z = np.zeros((3, 5))
    first, second, narrow = txc.jit(compiled)(x, y, z)
    np.testing.assert_allclose(first, (x @ y).T, rtol=1e-12)
    np.testing.assert_array_equal(second, x.T)
    np.testing.assert_allclose(z, x @ y, rtol=1e-12)
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, x.sum(0), rtol=1e-5)


def test_sizes_do_not_recompile() -> None:
    f = txc.jit(lambda x, y, z: np.einsum("ij,jk,kl->il", x, y, z))
    for a, b, c, d in ((3, 4, 5, 6), (70, 2, 9, 3), (2, 60, 2, 90)):
        operands = arrays((a, b), (b, c), (c, d))
        np.testing.assert_allclose(f(*operands), np.linalg.multi_dot(operands), rtol=1e-10, atol=1e-10)
    assert f.explain_compile().count("version") == 1


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("ij,jk", [(3, 4)], "'ij,jk' does not fit f64["),
        ("ij", [(3, 4, 5)], "'ij' does not fit f64["),
        ("ij->ii", [(3, 4)], "does not fit"),
        ("ij->k", [(3, 4)], "does not fit"),
        ("i*->i", [(3, 4)], "does not fit"),
        ("ij,jk->ik", [(3, 4), (5, 2)], "contract"),
        ("ii->i", [(3, 4)], "einsum"),
    ],
)
def test_errors(text: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(txc.TxcError) as raised:
        txc.jit(lambda *xs: np.einsum(text, *xs))(*arrays(*shapes))  # pyright: ignore
    assert message in str(raised.value)


def test_orders_that_there_are_not() -> None:
    x = np.ones((2, 2))
    with pytest.raises(txc.TxcError) as raised:
        txc.jit(lambda x: np.einsum("ij,jk,kl", x, x, x, optimize="cheapest"))(x)
    assert "np.einsum does not take optimize='cheapest'" in str(raised.value)
