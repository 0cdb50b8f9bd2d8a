"""Asking for a variable of the environment gives what it is now."""

from __future__ import annotations

import os

import pytest

from txc.runtime.environment import variable


@pytest.mark.parametrize("plain", [False, True])
def test_a_variable_is_what_the_environment_says_now(monkeypatch, plain):
    """Also where the environment is a mapping of another kind."""
    if plain:
        monkeypatch.setattr(os, "environ", {})
    ask = variable("TXC_ASKED_BY_A_TEST")
    assert not ask()
    monkeypatch.setitem(os.environ, "TXC_ASKED_BY_A_TEST", "first")
    first = ask()
    monkeypatch.setitem(os.environ, "TXC_ASKED_BY_A_TEST", "second")
    assert first and ask() and ask() != first
    monkeypatch.delitem(os.environ, "TXC_ASKED_BY_A_TEST")
    assert not ask()
