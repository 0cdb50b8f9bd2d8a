"""The runtime's own machine code: our loader and LLVM's give the same functions and variables."""

import ctypes

import pytest

from txc.runtime.loader import code_cache
from txc.runtime.loader.loader import can_load

SOURCE = """
@counter = global i64 40
declare i64 @outside(i64)
define i64 @next() {
  %before = load i64, ptr @counter
  %after = add i64 %before, 1
  store i64 %after, ptr @counter
  %result = call i64 @outside(i64 %after)
  ret i64 %result
}
"""
TWICE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda n: 2 * n)


@pytest.mark.parametrize("ours", [True, False])
def test_each_loader_links_functions_and_variables(monkeypatch, ours):
    if ours and not can_load(b"\x7fELF"):
        pytest.skip("our loader is for ELF on processors it knows")
    monkeypatch.setattr(code_cache, "can_load", lambda _: ours)
    code = code_cache.RuntimeCode("test", lambda: SOURCE)
    symbols = {"outside": ctypes.cast(TWICE, ctypes.c_void_p).value or 0}
    found = [code.load(("next", "counter"), symbols) for _ in range(2)]
    for addresses in found:  # each copy has memory of its own
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(addresses["next"])() == 82
        assert ctypes.c_int64.from_address(addresses["counter"]).value == 41
