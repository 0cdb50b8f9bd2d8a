"""Options of passes, as a user writes them: ``tx-fuse-rows{enabled=false},tx-schedule-cpu{unroll=2}``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from .config.device_names import OptionError

__all__ = ["parse_pass_options"]

#: Options that were another pass's, or had another name, in an earlier version: where they are now.
_MOVED = {
    ("tx-fuse", "rows"): ("tx-fuse-rows", "enabled"),
    ("tx-fuse", "panels"): ("tx-fuse-rows", "contractions"),
    ("tx-fuse", "across"): ("tx-fuse-rows", "column_major"),
    ("tx-fuse", "siblings"): ("tx-fuse-siblings", "enabled"),
    ("tx-fuse", "matrix_units"): ("tx-select-mma", "units"),
    ("tx-reduction-order", "along_memory"): ("tx-reduction-order", "follow_layout"),
    ("tx-swap-layout", "keep_results"): ("tx-swap-layout", "row_major_results"),
    ("tx-schedule-cpu", "streaming"): ("tx-schedule-cpu", "nontemporal"),
    ("tx-schedule-cpu", "ahead"): ("tx-schedule-cpu", "prefetch"),
    ("tx-schedule-cpu", "updates"): ("tx-schedule-cpu", "inplace_stencils"),
    ("tx-schedule-cpu", "joins"): ("tx-schedule-cpu", "fuse_reductions"),
    ("tx-schedule-gpu", "boxes"): ("tx-schedule-gpu", "tma"),
}
#: Passes that had another name in an earlier version.
_RENAMED = {"tx-order-folds": "tx-reduction-order"}
#: Matrix units, values of ``units`` of `tx-select-mma`, that had another name in an earlier version.
_UNITS = {f"{name}_tile": f"{name}_amx" for name in ("bf16", "bf16x3", "bf16x6")}


def parse_pass_options(text: str, passes: Mapping[str, type[ModulePass]]) -> dict[str, ArgSpec]:
    """The options of each of the `passes` that a text speaks of, with their names of today.

    A name of an earlier version is a FutureWarning.  Raises OptionError for what is wrong with them.
    """
    try:
        specs = [_with_name_of_today(spec) for spec in parse_pipeline(text)] if text.strip() else []
    except ArgSpecParseError as error:
        raise OptionError(
            f"{text!r} is no list of passes: write 'pass{{option=value}}', separated by commas"
        ) from error
    for spec in specs:
        if spec.name not in passes:
            import difflib  # start-up: for errors

            near = difflib.get_close_matches(spec.name, passes, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(passes)}"
            raise OptionError(f"there is no pass {spec.name!r}; {hint}")
    found = _with_names_of_today(specs)
    for name, spec in found.items():
        known = [f.name for f in fields(passes[name])]
        for option in spec.parameters:
            if option not in known:
                listed = ", ".join(known) or "none"
                raise OptionError(f"pass {name} has no option {option!r}; it has {listed}")
        try:
            passes[name].from_pass_spec(spec)
        except (TypeError, ValueError) as error:
            raise OptionError(f"an option of pass {name} has a value that it does not take: {error}") from error
    return found


def _with_name_of_today(spec: ArgSpec) -> ArgSpec:
    name = _RENAMED.get(spec.name, spec.name)
    if name != spec.name:
        _warn(spec.name, name)
    return ArgSpec(name, spec.parameters)


def _with_names_of_today(specs: list[ArgSpec]) -> dict[str, ArgSpec]:
    """What is said of each pass, the last word of each option."""
    found: dict[str, ArgSpec] = {}
    for spec in specs:
        found.setdefault(spec.name, ArgSpec(spec.name, {}))
        for option, value in spec.normalize_parameter_names().parameters.items():
            name, today = _MOVED.get((spec.name, option), (spec.name, option))
            if (name, today) != (spec.name, option):
                _warn(*(f"{p}{{{o}=…}}".replace("_", "-") for p, o in ((spec.name, option), (name, today))))
            if (name, today) == ("tx-select-mma", "units"):
                value = tuple(map(_unit_of_today, value))
            found.setdefault(name, ArgSpec(name, {})).parameters[today] = value
    return found


def _unit_of_today(name: ParameterType) -> ParameterType:
    if name not in _UNITS:
        return name
    _warn(f"the unit {name}", str(_UNITS[str(name)]))
    return _UNITS[str(name)]


def _warn(before: str, today: str) -> None:
    warnings.warn(f"{before} is a name of an earlier version; write {today}", FutureWarning, stacklevel=2)
