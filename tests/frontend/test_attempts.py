"""`try` and `with`: handlers take what Python raises while a function is staged, and nothing that only calls know."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([1.0, 5.0, 2.0, 7.0, 3.0])
WEIGHTS = {"w": np.array([2.0, 3.0]), "k": 3}


def of_facts(x, t):
    try:
        n = x.shape[2]
    except IndexError:
        n = 1
    try:
        w = WEIGHTS["none"]
    except KeyError as error:
        w = len(str(error))
    else:
        w = -1
    try:
        y = np.zeros((2, 3)) + x
    except (TypeError, ValueError):
        y = x + n
    try:
        y = y.missing
    except AttributeError:
        y = y * w
    try:
        x[30] = 1.0
    except IndexError:
        x[0] = 4.0
    return y, w


def left_by_jumps(x, t):
    numbers, i, s = [], 0, 0.0
    for text in ["1", "a", "2.5"]:
        try:
            v = int(text)
        except ValueError:
            try:
                v = float(text)
            except ValueError:
                continue
        numbers.append(v * x[0])
    while i < 3:
        try:
            i += 1
            s += x[i] * t
            if s > 20:
                continue
        except KeyError:
            break
        else:
            s += 10
        finally:
            s += 100
    for k in range(3):
        try:
            if k == 1:
                break
            x = x + 1
        finally:
            x = x * 2
    return numbers, s, x


def returned(x, t):
    try:
        return x * WEIGHTS["none"]
    except KeyError:
        return x * WEIGHTS["k"]
    finally:
        x[1] = 0.0


def raised_again(x, t):
    said = ()
    try:
        try:
            WEIGHTS["none"]
        except KeyError as error:
            raise ValueError("bad") from error
    except ValueError as error:
        said = str(error), isinstance(error.__cause__, KeyError)
    try:
        raise KeyError("a")
    except LookupError:
        try:
            raise ValueError("b")
        except ValueError:
            x = x + 1
        if len(x) > 3:
            raise
    return x, said


def in_loops(x, t):
    s = 0.0
    for i in range(len(x)):
        try:
            raise ValueError("a")
        except ValueError:
            s += x[i]
        try:
            s += WEIGHTS["none"]
        except KeyError:
            s += 1
    try:
        for i in range(len(x)):  # whose indices surely are inside
            s += x[i] * t
    except IndexError:
        s = -1.0
    return s


class Doubled:
    def __init__(self, x):
        self.x, self.found = x, []

    def __enter__(self):
        self.x = self.x * 2
        return self

    def __exit__(self, kind, error, traceback):
        self.x = self.x + 1
        self.found.append(kind is KeyError)
        return kind is KeyError


def first_of(doubled):
    with doubled:
        return doubled.x


def managed(x, t):
    with Doubled(x) as a:
        y = a.x * 3
    with Doubled(y) as b, np.errstate(all="ignore"):
        y = y / 0 * WEIGHTS["none"]
    with warnings.catch_warnings(), contextlib.nullcontext(3.0) as k:
        warnings.simplefilter("ignore")
        y = y + k
    with contextlib.suppress(KeyError, IndexError):
        y = y * WEIGHTS["none"]
    c = Doubled(x)
    return y, a.x, b.x, a.found, b.found, first_of(c), c.x


@dataclasses.dataclass
class Pair:
    a: Any
    b: float = 1.0


def of_the_library(x, t):
    pair = dataclasses.replace(Pair(x), b=3.0)
    return pair.a * pair.b, [f.name for f in dataclasses.fields(pair)]


def _outcome(f: Callable[..., Any], *given: Any) -> str:
    x = given[0].copy()
    try:
        found = f(x, *given[1:])
    except (KeyError, ValueError) as error:
        found = type(error), str(error)
    return repr((found, x))


FUNCTIONS = (of_facts, left_by_jumps, returned, raised_again, in_loops, managed, of_the_library)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_handlers_take_what_python_raises(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for call in ((X, 2.5), (np.tile(X, 8), 0.0)):
        assert _outcome(jitted, *call) == _outcome(f, *call)


class _Settings:
    scale: float


def test_what_is_not_there_is_a_fact():
    settings, weights = _Settings(), dict[str, float]()

    def f(x):
        try:
            x = x * settings.scale
        except AttributeError:
            x = x - 1
        try:
            return x * weights["w"]
        except KeyError:
            return x - 2

    jitted = txc.jit(f)
    for change in (lambda: None, lambda: setattr(settings, "scale", 3.0), lambda: weights.update(w=5.0)):
        change()
        np.testing.assert_array_equal(jitted(X), f(X))
    del settings.scale
    np.testing.assert_array_equal(jitted(X), f(X))


def raised_by_values(x, i):
    try:
        if x[0] > 0:
            raise ValueError("positive")
    except ValueError:
        x = x * 2
    return x


def index_of_values(x, i):
    try:
        return x[int(x[i])]
    except IndexError:
        return 0.0


def inverted(x, i):
    try:
        return np.linalg.inv(x[:4].reshape(2, 2))
    except np.linalg.LinAlgError:
        return np.zeros((2, 2))


def divided(x, i):
    try:
        return 1.0 / float(x[i])
    except Exception:
        return 0.0


def cleaned_up(x, i):
    try:
        s = x[int(x[i])]
    finally:
        x[0] = 0.0
    return s


def exited(x, i):
    with Doubled(x) as d:
        s = x[int(x[i])]
    return s, d.x


def suppressed(x, i):
    with contextlib.suppress(ZeroDivisionError):
        return 1.0 / float(x[i])
    return 0.0


def of_refused(x, i):
    try:
        return x.tolist()
    except Exception:
        return x


def of_no_name(x, i):
    try:
        return x * missing  # pyright: ignore[reportUndefinedVariable]
    except NameError:
        return x


def yielding(x, i):
    def rows():
        try:
            yield x[0]
        except ValueError:
            yield x[1]

    return list(rows())


def recording(x, i):
    with warnings.catch_warnings(record=True) as found:
        x = x / 0
    return x, len(found)


REFUSED = [
    (raised_by_values, "whether ValueError is raised in this block is known only when", "let an `if` decide instead"),
    (index_of_values, "whether IndexError is raised in this block", "`if 0 <= i < len(x):`"),
    (inverted, "whether LinAlgError is raised in this block", "as by np.linalg.cond"),
    (divided, "whether ZeroDivisionError is raised in this block", "`if d != 0:`"),
    (cleaned_up, "no `except`, `finally` or `__exit__` is run", "around the call of the function"),
    (exited, "is raised in this block is known only when", "around the call of the function"),
    (suppressed, "whether ZeroDivisionError is raised in this block", "`if d != 0:`"),
    (of_refused, "tolist", "use the array itself"),
    (of_no_name, "NameError is taken by a handler", "give the name a value before the try"),
    (yielding, "a yield in a try is not staged", "before the yield"),
    (recording, "warnings are recorded", "around the call"),
]


@pytest.mark.parametrize(("f", "text", "hint"), REFUSED)
def test_no_handler_is_passed_by(f: Callable[..., Any], text: str, hint: str):
    with pytest.raises(TxcError) as refused:
        txc.jit(f)(X, 1)
    said = str(refused.value)
    assert text in said and hint in said and "test_attempts.py" in said
