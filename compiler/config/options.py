"""What a user may ask of a compilation: the options of ``txc.jit``, of ``f.options`` and of the command line."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..config import knobs
from .device_names import CPU, OptionError
from .devices import device_of_knob, gpu_device, parse_device
from .user_schedule import UserSchedule

__all__ = ["FASTMATH", "OPT_LEVELS", "OptionError", "Options", "parse_device"]

#: Rewrites that change results and must therefore be allowed by name.
FASTMATH = ("reassoc", "tf32", "bf16x3", "bf16x6")
#: Optimization levels: code that is made fast, and fast code.
OPT_LEVELS = (0, 2)


class Options(NamedTuple):
    """`threads` 0 means: `TXC_NUM_THREADS`, else the CPUs there are, one in a worker process (`pool/threads.py`).
    `passes` holds options of passes, as text.  `device` is ``cpu`` or a GPU's name, as `devices.Device` has it.

    With `debug` the code says for debuggers which of the user's lines it comes from; with `check_bounds` it compares
    each index with the size of its buffer, which finds mistakes of the compiler
    (`compiler/codegen/emit/memory/bounds_check.py`).  `donate` names parameters (`donation.py`).  A call that needs
    more than `max_temp_bytes` of temporaries is an error (None: there is no limit). With `autotune` code is made for
    the constants of the cost model by which the first call was fastest (`tools/autotune.py`).  With `exact` sums across
    chunks of Dask's arrays have the bits of one array (`chunks/block_order.py`).  A `schedule` shapes the loops of
    elementwise nests in place of the compiler's own (`user_schedule.py`).  At `opt_level` 0 code for the CPU is plain
    scalar loops, made in a third to half of the time, with the bits of the usual level.
    """

    threads: int = 0
    fastmath: frozenset[str] = frozenset()
    passes: str = ""
    debug: bool = False
    donate: tuple[str, ...] = ()
    max_temp_bytes: int | None = None
    device: str = CPU.name
    autotune: bool = False
    check_bounds: bool = False
    exact: bool = False
    schedule: UserSchedule | None = None
    opt_level: int = OPT_LEVELS[-1]

    @staticmethod
    def of(base: Options | None = None, **given: Any) -> Options:
        """`base` (default: the knobs) with the given options.  Raises OptionError for what there is not."""
        for name in given:
            if name not in Options._fields:
                import difflib

                near = difflib.get_close_matches(name, Options._fields, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(Options._fields)}"
                raise OptionError(f"jit has no option {name!r}{hint}")
        if "device" in given:
            device = parse_device(given["device"])
            if device.is_gpu and given.get("threads"):
                raise OptionError(f"threads={given['threads']} of {device.name!r}: threads are those of the CPU")
            given["device"] = device.name
            given.setdefault("threads", device.threads)
        elif given.get("threads") and base is not None and base.device != CPU.name:
            raise OptionError(f"threads={given['threads']} of {base.device!r}: threads are those of the CPU")
        if "threads" in given:
            given["threads"] = _threads(given["threads"])
        if "fastmath" in given:
            given["fastmath"] = _fastmath(given["fastmath"])
        for flag in ("debug", "autotune", "check_bounds", "exact"):
            if flag in given and not isinstance(given[flag], bool):
                raise OptionError(f"{flag} must be True or False, not {given[flag]!r}")
        if "donate" in given:
            given["donate"] = _donate(given["donate"])
        if "max_temp_bytes" in given:
            given["max_temp_bytes"] = _bytes(given["max_temp_bytes"])
        if "opt_level" in given:
            given["opt_level"] = _opt_level(given["opt_level"])
        if given.get("schedule") is not None:
            given["schedule"] = UserSchedule(given["schedule"])
        if base is None:
            device = device_of_knob()
            base = Options(
                device.threads, passes=knobs.PASSES.get(), debug=knobs.GDB.get(), device=device.name,
                check_bounds=knobs.CHECK_BOUNDS.get(), opt_level=knobs.OPT_LEVEL.get(),
            )  # fmt: skip
        made = base._replace(**given)
        if made.autotune and made.device != CPU.name:
            raise OptionError(f"autotune=True of {made.device!r}: the search is one for the CPU")
        if given.get("check_bounds") and made.device != CPU.name:
            raise OptionError(f"check_bounds=True of {made.device!r}: code for the CPU has these checks")
        if given.get("opt_level") == 0 and made.device != CPU.name:
            raise OptionError(f"opt_level=0 of {made.device!r}: it is a level of code for the CPU")
        if made.autotune and made.opt_level == 0:
            raise OptionError("autotune=True at opt_level=0: the search is one for the fastest code")
        if made.schedule is not None and made.autotune:
            raise OptionError("autotune=True with a schedule: the search is one around the compiler's own schedules")
        if made.schedule is not None and made.device != CPU.name:
            raise OptionError(f"schedule= of {made.device!r}: a schedule is one for the CPU")
        return made

    @property
    def compiled(self) -> tuple[Any, ...]:
        """The part that compiled code depends on; the number of threads is not in it, nor what chunks are."""
        known = self.debug, self.check_bounds, self.is_plain
        limits = self.donate, self.max_temp_bytes
        return self.fastmath, self.passes, known, *limits, self.device, self.autotune, self.schedule

    @property
    def is_plain(self) -> bool:
        """Whether code is to be made fast, and not to be fast: a GPU's is not."""
        return self.opt_level == 0 and self.device == CPU.name

    @property
    def lines(self) -> bool:
        """Whether code knows the user's lines: then equal programs at other lines have code of their own."""
        return self.debug or self.check_bounds or self.device != CPU.name

    @property
    def unkept(self) -> str:
        """Why other processes may not have the code; empty where they may."""
        if self.debug:
            return "debug information names lines, which the keys of the cache do not hold"
        if self.schedule is not None and self.schedule.unkept:
            return self.schedule.unkept
        return "checks of indices name lines, which the keys of the cache do not hold" if self.check_bounds else ""

    @property
    def gpu(self) -> str:
        """What PTX is made for, ``sm_90a``; empty where code runs on the CPU."""
        return "" if self.device == CPU.name else gpu_device(self.device).cpu


def _threads(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise OptionError(f"threads must be a positive integer, not {value!r}")
    return value


def _donate(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (tuple, list)) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise OptionError(f"donate must be the name of a parameter or a tuple of names, not {value!r}")
    return names


def _bytes(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise OptionError(f"max_temp_bytes must be a number of bytes, not {value!r}")
    return value


def _opt_level(value: Any) -> int:
    if isinstance(value, bool) or value not in OPT_LEVELS:
        raise OptionError(f"opt_level must be {' or '.join(map(str, OPT_LEVELS))}, not {value!r}")
    return value


def _fastmath(value: Any) -> frozenset[str]:
    names = [value] if isinstance(value, str) else list(value)
    for name in names:
        if name not in FASTMATH:
            raise OptionError(f"fastmath has no {name!r}; there is {', '.join(FASTMATH)}")
    return frozenset(names)
