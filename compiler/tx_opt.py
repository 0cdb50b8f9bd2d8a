"""`tx-opt`: xDSL's optimizer driver with txc's dialects and passes, for tests and for exploring one pass at a time."""

from __future__ import annotations

from xdsl.xdsl_opt_main import xDSLOptMain

from ..dialects.kernel import KERNEL
from ..dialects.loop import LOOP
from ..dialects.tx import tx_dialect
from .pipeline import PASSES

__all__ = ["main"]


class TxOptMain(xDSLOptMain):
    """``tx-opt FILE -p 'tx-fuse,tx-bufferize'``; without ``-p`` it parses, verifies and prints."""

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        self.ctx.register_dialect("tx", tx_dialect)
        self.ctx.register_dialect("kernel", lambda: KERNEL)
        self.ctx.register_dialect("loop", lambda: LOOP)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name, made in PASSES.items():
            self.register_pass(name, lambda made=made: made)


def main() -> None:
    """The `tx-opt` command."""
    TxOptMain("tx-opt").run()


if __name__ == "__main__":
    main()
