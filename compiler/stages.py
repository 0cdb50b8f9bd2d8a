"""The names of the stages: the same word in the pipeline, in ``--emit``, in dump files and under ``filecheck/``."""

from __future__ import annotations

from collections.abc import Collection

from .config.device_names import OptionError

__all__ = ["EXPORTS", "IR_STAGES", "STAGES", "check_stage"]

#: In order, with what the program is there.
STAGES: dict[str, str] = {
    "graph": "expression graph, plain Python objects",
    "tensor": "tx dialect: named ops on tensors, value semantics",
    "canonical": "tx dialect: simplified, views composed",
    "layout": "tx dialect: the stored order of dims is chosen",
    "evals": "tx dialect: tx.eval marks what is materialised",
    "fused": "kernel dialect: loop nests over tensors",
    "buffers": "kernel dialect: loop nests over memory",
    "loops": "loop dialect: explicit loops, lanes and threads",
    "llvm": "LLVM IR text",
    "ptx": "for a GPU, the last one: PTX text, below the launch plan",
    "asm": "assembly",
    "obj": "object file",
}

#: What can be made for C of a function, with the suffix of its file.
EXPORTS = {"obj": ".o", "so": ".so", "header": ".h"}

#: The stages whose form is an IR module.
IR_STAGES = ("tensor", "canonical", "layout", "evals", "fused", "buffers", "loops")


def check_stage(name: str, others: Collection[str] = ()) -> str:
    """`name`, where it is a stage or one of `others`; OptionError, with the nearest one, where it is not."""
    known = [*STAGES, *(o for o in others if o not in STAGES)]
    if name not in known:
        import difflib  # start-up: for errors

        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(known)}"
        raise OptionError(f"there is no stage {name!r}; {hint}")
    return name
