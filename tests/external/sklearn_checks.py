"""scikit-learn's common checks of array API inputs, with arrays of `txc` beside those of `array_api_strict`.

From the root of the repository, in an environment with `.[dev]` and scikit-learn, for all estimators or some:

    PYTHONPATH=src python -m tests.external.sklearn_checks [PCA Ridge ...]

For each estimator that says that it takes array API inputs: types, shapes and values of fitted attributes and results
beside NumPy's; targets in NumPy's arrays; and an error for arrays of another library than those it was fitted to.
pytest does not collect this; CI does not run it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from unittest import SkipTest

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported: scikit-learn asks for it

checks: Any = importlib.import_module("sklearn.utils.estimator_checks")
instances: Any = importlib.import_module("sklearn.utils._test_common.instance_generator")
get_tags: Any = importlib.import_module("sklearn.utils").get_tags

Check = partial[None]


def checks_with(namespace: str) -> Iterator[Check]:
    """scikit-learn's checks of an estimator, with arrays of a namespace; NumPy's are targets of another library."""
    device = "CPU_DEVICE" if namespace == "array_api_strict" else None
    for dtype in ("float64", "float32"):
        yield partial(
            checks.check_array_api_input, array_namespace=namespace, device_name=device, dtype_name=dtype,
            check_values=dtype == "float64",
        )  # fmt: skip
    here, numpy = checks.NamespaceAndDevice(namespace, device), checks.NamespaceAndDevice("numpy", None)
    yield partial(checks.check_array_api_mixed_inputs, X_ns_and_device=here, other_ns_and_device=numpy)
    yield partial(checks.check_array_api_same_namespace, array_namespace=namespace, device_name=device)


def outcome(check: Check, estimator: Any) -> str:
    """Nothing where an estimator passes a check, or why it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(type(estimator).__name__, estimator)
    except SkipTest as why:
        return f"skipped: {why}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error) else ''}"
    return ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Check estimators, and print what each comes to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("estimators", nargs="*", help="names of estimators; all, if none is given")
    names = parser.parse_args(arguments).estimators
    passed: dict[str, int] = defaultdict(int)
    of_txc, estimators = 0, set()
    for estimator in instances._tested_estimators():
        name = type(estimator).__name__
        if not get_tags(estimator).array_api_support or (names and name not in names):
            continue
        estimators.add(name)
        failing = instances._get_expected_failed_checks(estimator)
        for strictly, ours in zip(checks_with("array_api_strict"), checks_with("txc"), strict=True):
            called = strictly.func.__name__
            if called in failing or outcome(strictly, estimator):
                continue
            passed[name] += 1
            why = outcome(ours, estimator)
            of_txc += not why
            if why:
                print(f"    {estimator}: {called}: {why}", flush=True)
        print(f"{name}: {passed[name]} checks that pass with array_api_strict", flush=True)
    total = sum(passed.values())
    print(f"{len(estimators)} estimators: {of_txc} of {total} checks that pass with array_api_strict pass with txc")


if __name__ == "__main__":
    main()
