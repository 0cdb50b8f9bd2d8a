"""How many generated cases there are, and that no map lacks one that its declaration promises."""

from __future__ import annotations

from txc.dialects.registry import OPS, Map

from . import generated, test_generated, test_generated_maps, test_generated_ranks

#: What the operations page and the README may claim.
AT_LEAST = 60_000
#: Maps without generated cases, and what tests them.
EXCLUDED = {"scalar_map": "made of a function of the user's: test_scalar_loops.py"}


def test_there_are_as_many_cases_as_is_said() -> None:
    counted = {
        "map": len(test_generated_maps.RUN),
        **{f"{k}, rank 2": n for k, n in test_generated.COUNTED.items()},
        **test_generated_ranks.COUNTED,
    }
    print(counted, sum(counted.values()))
    assert all(counted.values()) and sum(counted.values()) >= AT_LEAST


def test_every_map_has_all_its_cases() -> None:
    """Every dtype that it declares, in both layouts, on every kind of array and of every rank."""
    declared = {
        case
        for op in OPS.values() if issubclass(op, Map) and op.name not in EXCLUDED
        for name in generated.dtypes_of(op) for case in generated.cases(op.name, name)
    }  # fmt: skip
    missing, unknown = declared - test_generated_maps.RUN, test_generated_maps.RUN - declared
    assert not missing, f"no test has {len(missing)} cases, of them {min(missing)}"
    assert not unknown, f"{len(unknown)} cases are of no dtype that the op declares, of them {min(unknown)}"


def test_what_is_excluded_exists_and_has_no_cases() -> None:
    assert set(EXCLUDED) <= {op.name for op in OPS.values() if issubclass(op, Map)}
    assert not {case.op for case in test_generated_maps.RUN} & set(EXCLUDED)
