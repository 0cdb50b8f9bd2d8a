"""`tx-opt`: xDSL's optimizer driver with txc's dialects and passes, for tests and for exploring one pass at a time.

``tx-opt FILE -p 'tx-fuse,tx-bufferize'``; without ``-p`` it parses, verifies and prints.  It reads and prints modules
as `tensor-compile --emit` does, and with ``--print-op-generic`` in the form that any tool of xDSL reads.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from ...dialects.ir_text import ModuleParser, ir_text
from ..version import __version__
from .universe import UNIVERSE

__all__ = ["main"]


class _Refused(Exception):
    """What the user can set right."""


class TxOptMain(xDSLOptMain):
    """xDSL's driver; what its plugin mechanism has registered already is left as it is."""

    version_format = f"tx-opt {__version__} (xDSL {{xdsl_version}})"

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        for name, made in UNIVERSE.all_dialects.items():
            if name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(name, made)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument("--print-locations", action="store_true", help="print the lines that ops come from")
        arg_parser.add_argument("--print-unbroken", action="store_true", help="print long lines as they are")

    def setup_pipeline(self) -> None:
        try:
            super().setup_pipeline()
        except (ValueError, ArgSpecParseError) as error:
            unknown = [name for name in re.findall(r"'([\w-]+)'", str(error)) if name not in self.available_passes]
            near = difflib.get_close_matches(unknown[0], self.available_passes, 1) if unknown else []
            raise _Refused(f"{error}{f'; did you mean {near[0]!r}?' if near else ''}") from None

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        try:
            return super().prepare_input()
        except OSError as error:
            raise _Refused(f"cannot read {self.args.input_file}: {error.strerror or error}") from None
        except ValueError as error:
            raise _Refused(f"{self.args.input_file}: {error}") from None

    def prepare_output(self) -> IO[str]:
        try:
            return super().prepare_output()
        except OSError as error:
            raise _Refused(f"cannot write {self.args.output_file}: {error.strerror or error}") from None

    def register_all_frontends(self) -> None:
        super().register_all_frontends()

        def read(file: IO[bytes]) -> ModuleOp:
            try:
                text = file.read().decode()
            except UnicodeDecodeError:
                raise _Refused(f"{self.get_input_name()}: it is not text") from None
            parser = ModuleParser(self.ctx, text, self.get_input_name())
            return parser.parse_module(not self.args.no_implicit_module)

        self.available_frontends["mlir"] = read

    def output_resulting_program(self, prog: ModuleOp) -> str:
        if self.args.target != "mlir":
            return super().output_resulting_program(prog)
        given = self.args
        text = ir_text(
            prog, generic=given.print_op_generic, locations=given.print_locations, unbroken=given.print_unbroken
        )
        return text + "\n"

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name, made in UNIVERSE.all_passes.items():
            if name not in self.available_passes:
                self.register_pass(name, made)


def main(arguments: Sequence[str] | None = None) -> None:
    """The `tx-opt` command, by default with the arguments of this process.

    SystemExit with status 1, and why on stderr, for what cannot be read or parsed, is not valid, or is no pass.
    """
    try:
        TxOptMain("tx-opt", arguments).run()
    except (ParseError, DiagnosticException, _Refused) as error:
        print(f"error: {str(error).strip()}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
