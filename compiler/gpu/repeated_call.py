"""Calls that come again with arrays of the same forms on a GPU: what follows from the forms alone is done once.

Binding arguments, comparing facts, checking guards and laying out results takes Python several times as long as the
driver takes to launch a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...runtime.gpu.device_array import DeviceArray, Form
from ..call.results import Results
from ..config.devices import device_lock
from .executable import GpuCode

if TYPE_CHECKING:
    from ..call.arguments import Call
    from ..driver.executable import Prepared
    from ..driver.specializations import Version

__all__ = ["RepeatedCall", "RepeatedCalls"]

#: Combinations of forms that are remembered; where there are more, all are learned anew.
_MOST_FORMS = 256


class RepeatedCalls:
    """The calls of a function whose arguments are all arrays on its device, by the forms of these."""

    def __init__(self, device: str):
        self._device = device
        self._known: dict[tuple[Any, ...], RepeatedCall] = {}

    def find(self, args: Sequence[Any]) -> RepeatedCall | None:
        """What makes a call, where one of these forms was made before and the captured values are what they were."""
        forms = self._forms(args)
        found = None if forms is None else self._known.get(forms)
        return found if found is not None and all(same() for same in found.version.captured) else None

    def note(self, args: Sequence[Any], call: Call, version: Version, prepared: Prepared) -> None:
        """Remember a call that was made, where later ones like it need nothing but its launches."""
        forms = self._forms(args)
        each = len(args) == len(call.arguments) and all(a.kind == "array" for a in call.arguments)
        if forms is None or not each or not _only_launches(version):
            return
        if len(self._known) >= _MOST_FORMS:
            self._known.clear()
        self._known[forms] = RepeatedCall(version, prepared, [a.name for a in call.arguments])

    def _forms(self, args: Sequence[Any]) -> tuple[Any, ...] | None:
        """The forms of arrays that are txc's own, all of them; None where something else is among them."""
        forms = []
        for array in args:
            if type(array) is not DeviceArray or array.original is not None or array.device != self._device:
                return None
            forms.append((array.shape, array.dtype, array.strides))
        return tuple(forms)


def _only_launches(version: Version) -> bool:
    """Whether a call of a version reads its arguments, launches kernels, and gives new arrays: nothing else."""
    executable, signature = version.executable, version.signature
    no_more = not (executable.written or executable.views or executable.rooms or signature.checks or signature.compared)
    from_arguments = not signature.integers and not any(given.hidden for given in signature.arrays)
    return no_more and from_arguments and {*executable.outputs} == {*executable.fresh}


class RepeatedCall:
    """A call of a version with arrays of certain forms, whose parameters have these names."""

    def __init__(self, version: Version, prepared: Prepared, names: Sequence[str]):
        executable = version.executable
        assert isinstance(executable.native, GpuCode)
        self.version, self._code, self._prepared = version, executable.native, prepared
        self._order = [names.index(given.name) for given in version.signature.arrays]
        dtypes = [executable.buffers[b].dtype for b in executable.fresh]
        self._results = [Form.of(dtype, *layout) for dtype, layout in zip(dtypes, prepared.outputs, strict=True)]
        self._outputs = [executable.fresh.index(b) for b in executable.outputs]

    def __call__(self, args: Sequence[DeviceArray]) -> Any:
        """The call's result.  Errors as of `GpuCode.run`."""
        code, arena = self._code, self._prepared.arena
        with device_lock(code.device_name):
            device = code.device
            made = [DeviceArray.empty(device, form) for form in self._results]
            addresses = [*[args[p].address for p in self._order], *[array.address for array in made]]
            temporaries = device.allocate(arena) if arena else 0
            try:
                code.queue(self._prepared, addresses, temporaries)
            finally:
                if temporaries:
                    device.free(temporaries)
        return Results([made[i] for i in self._outputs]).of(self.version.signature.structure)
