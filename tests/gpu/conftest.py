"""All PTX that tests here have the simulator run is assembled as well, where there is a `ptxas`."""

import re
from collections.abc import Iterator

import pytest

from txc.runtime.ptx_simulator import PtxSimulator
from txc.runtime.ptx_simulator.device import PtxModule

from ..codegen.ptxas import may_spill, ptxas, spills


@pytest.fixture(autouse=True)
def assembled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For the GPU that it is made for, without spills in kernels that `docs/inside/gpu.md` does not list."""
    texts: list[str] = []
    simulated = PtxSimulator.load

    def load(self: PtxSimulator, ptx: str) -> PtxModule:
        texts.append(ptx)
        return simulated(self, ptx)

    monkeypatch.setattr(PtxSimulator, "load", load)
    yield
    for ptx in dict.fromkeys(texts) if ptxas() is not None else ():
        target = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
        assert target is not None
        spilled = {f: size for f, size in spills(ptx, target[1]).items() if f not in may_spill()}
        assert not spilled, f"spills registers: {spilled}"
