"""`max_temp_bytes`: a call that needs more memory for temporaries is an error before anything runs."""

import re

import numpy as np
import pytest

import txc
from txc.compiler.cli.main import main
from txc.compiler.config.options import OptionError
from txc.compiler.diagnostics import TxcError


def smoothed(x, y):
    s = x.sum(axis=0)
    y[...] = y + 1
    return np.exp(x - s / s.sum())


LINE = smoothed.__code__.co_firstlineno + 1


def arguments(n):
    return np.linspace(0, 1, n * n).reshape(n, n), np.zeros(3)


def message(f, n):
    x, y = arguments(n)
    with pytest.raises(TxcError) as raised:
        f(x, y)
    assert not y.any(), "it ran before it was refused"
    return str(raised.value)


def test_the_error_names_the_temporary_its_line_the_bytes_and_the_fix():
    text = message(txc.jit(smoothed, max_temp_bytes=100), 200)
    needed = re.match(r"smoothed needs (\d+) bytes of temporaries, and max_temp_bytes is 100: the largest is ", text)
    assert needed is not None
    assert "f64[200], 1600 bytes [TX0402]" in text
    assert re.search(rf"--> {re.escape(__file__)}:{LINE}\n   \|     s = x.sum", text)
    assert f"hint: call it on parts of the arrays, or allow max_temp_bytes={needed[1]}" in text
    assert message(txc.jit(smoothed, max_temp_bytes=int(needed[1]) - 1), 200)
    x, y = arguments(200)
    assert np.array_equal(txc.jit(smoothed, max_temp_bytes=int(needed[1]))(x, y), txc.jit(smoothed)(x, y))


@pytest.mark.parametrize("native", ["1", "0"])
def test_it_is_checked_at_each_call_of_one_version(monkeypatch, native):
    monkeypatch.setenv("TXC_NATIVE_ENTRY", native)
    f = txc.jit(smoothed, max_temp_bytes=2_000)
    for n in (64, 65, 66):
        f(*arguments(n))
    assert "f64[700], 5600 bytes" in message(f, 700)
    assert np.array_equal(f(*arguments(65)), txc.jit(smoothed)(*arguments(65)))
    assert len(f._made()) == 1


def test_what_needs_no_temporary_fits_into_none():
    assert txc.jit(lambda x: x * 2 + 1, max_temp_bytes=0)(np.ones(100_000)).sum() == 300_000


def test_what_the_option_takes():
    for wrong in (-1, 1.5, "1MB", True):
        with pytest.raises(OptionError, match=f"max_temp_bytes must be a number of bytes, not {wrong!r}"):
            txc.jit(smoothed, max_temp_bytes=wrong)


def test_the_command_line(tmp_path, capsys):
    file = tmp_path / "f.tx"
    # What a scan makes and another one reads from its end is all in memory, on any processor.
    file.write_text("def f(x: f32[n]) -> f32[n]:\n    y = x.cumsum(0)\n    return y.reverse([True]).cumsum(0)\n")
    command = ["run", str(file), "--input", "x=random:f32[90000]", "--max-temp-bytes"]
    assert main([*command, "1000"]) == 1
    said = capsys.readouterr().err
    assert re.search(r"the largest is f32\[90000\], 360000 bytes \[TX0402\]", said) and f"{file}:2" in said
    assert main([*command, "100000000"]) == 0
