"""`tx-opt`: xDSL's optimizer driver with txc's dialects and passes, for tests and for exploring one pass at a time.

``tx-opt FILE -p 'tx-fuse,tx-bufferize'``; without ``-p`` it parses, verifies and prints.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.xdsl_opt_main import xDSLOptMain

from .universe import UNIVERSE

__all__ = ["main"]


class TxOptMain(xDSLOptMain):
    """xDSL's driver; what its plugin mechanism has registered already is left as it is."""

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        for name, made in UNIVERSE.all_dialects.items():
            if name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(name, made)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name, made in UNIVERSE.all_passes.items():
            if name not in self.available_passes:
                self.register_pass(name, made)


def main(arguments: Sequence[str] | None = None) -> None:
    """The `tx-opt` command, by default with the arguments of this process."""
    TxOptMain("tx-opt", arguments).run()


if __name__ == "__main__":
    main()
