"""How many generated cases there are: a case is one op of one dtype, layout and rank on arrays of one shape."""

from __future__ import annotations

from . import test_generated, test_generated_ranks

#: What the operations page and the README may claim.
AT_LEAST = 20_000


def test_there_are_as_many_cases_as_is_said() -> None:
    counted = {**{f"{k}, rank 2": n for k, n in test_generated.COUNTED.items()}, **test_generated_ranks.COUNTED}
    print(counted, sum(counted.values()))
    assert all(counted.values()) and sum(counted.values()) >= AT_LEAST
