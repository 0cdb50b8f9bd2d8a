"""``jit(schedule=...)``: loops of elementwise kernels as the user shapes them, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.cache.disk_cache import code_key
from txc.compiler.config.options import OptionError, Options
from txc.compiler.driver.compile_cache import compile_cached, packed

X, V = np.random.default_rng(5).standard_normal((33, 70)), np.arange(70.0)
LANES = 4


def program(x, v):
    return np.exp(x) * v


def by_columns(nest):
    i, j = nest.loops
    outer, inner = nest.split(j, 16)
    nest.reorder(outer, i, inner)
    nest.vectorize(inner)
    nest.parallel(outer)


def by_rows(nest):
    i, j = nest.loops
    nest.vectorize(j, LANES, unroll=2)
    nest.parallel(i)


def unknown(nest):
    nest.vectorize(nest.loops[-1], next(by_chance))


by_chance = iter([4, 8])


def test_a_users_schedule_makes_the_loops_and_the_same_bits():
    f = txc.jit(program)
    expected = f(X, V).tobytes()
    for schedule in (by_columns, by_rows, lambda nest: nest.default()):
        assert f.options(schedule=schedule)(X, V).tobytes() == expected
    text = f.options(schedule=by_rows).lower(X, V).as_text("loops")
    assert "loop.parallel i0 = 0 to x.0 on cpu_thread" in text and "to x.1 vector 4 unroll 2" in text


def test_explain_shows_the_program():
    shown = txc.jit(program, schedule=by_rows).explain(X, V)
    assert (
        """\
  exp mul over (x.0, x.1):
    d0, d1 = nest.loops
    nest.vectorize(d1, 4, unroll=2)
    nest.parallel(d0)
"""
        in shown
    )


def test_another_schedule_is_another_compilation(monkeypatch, tmp_path):
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path))
    graph = txc.jit(program).graph(X, V)
    facts, made = packed(graph), [Options.of(), Options.of(schedule=by_rows), Options.of(schedule=by_columns)]
    keys = [code_key(graph, facts, options, None) for options in made]
    assert len({key.name for key in keys if key is not None}) == 3
    assert code_key(graph, facts, Options.of(schedule=by_rows), None) == keys[1]
    monkeypatch.setitem(globals(), "LANES", 8)
    assert code_key(graph, facts, made[1], None) != keys[1]
    natives = [compile_cached(graph, facts, options)[0].native for options in (*made, made[1])]
    assert len({id(native) for native in natives}) == 3


def test_code_of_a_schedule_that_content_does_not_tell_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path))
    f = txc.jit(program, schedule=unknown)
    assert f(X, V).tobytes() == txc.jit(program)(X, V).tobytes()
    assert "its schedule is not known by its content: 'by_chance' is a list_iterator" in f.explain_cache()


def test_what_a_nest_does_not_allow_is_an_error_at_the_users_line():
    def wrong(nest):
        nest.vectorize(nest.loops[0])

    with pytest.raises(txc.TxcError) as error:
        txc.jit(program, schedule=wrong)(X, V)
    lines = str(error.value).splitlines()
    assert lines[0].startswith("vectorize(d0, ") and lines[0].endswith("d0 is not innermost in d0, d1 [TX0420]")
    assert lines[1].endswith("in wrong") and lines[2].strip() == "| " + "        nest.vectorize(nest.loops[0])"
    assert lines[4] == "  hint: reorder it first"


def test_a_program_without_a_nest_for_it_is_an_error():
    with pytest.raises(ValueError, match=r"sums has no elementwise kernel on its own") as error:
        sums = lambda x: x.sum()  # noqa: E731
        sums.__name__ = "sums"
        txc.jit(sums, schedule=by_rows)(X)
    assert error.value.code == "TX0421"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"schedule": 3}, "schedule must be a function that takes a nest, not 3"),
        ({"schedule": by_rows, "device": "ptx-sim"}, "schedule= of 'ptx-sim': a schedule is one for the CPU"),
        ({"schedule": by_rows, "autotune": True}, "autotune=True with a schedule: the search is one around"),
    ],
)
def test_options_that_do_not_go_together(options, text):
    with pytest.raises(OptionError, match=text):
        txc.jit(program, **options)
