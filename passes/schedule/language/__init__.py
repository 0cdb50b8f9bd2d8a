"""Schedules as programs: primitives on the loop nest of a kernel, each of which checks that it may be used.

A `Nest` (`nest.py`) begins as one loop for each iterator of a `kernel.generic`, in order, scalar and serial.  A
schedule is a function that takes a nest and calls primitives on its loops, which are handles:

    def schedule(nest):
        i, j = nest.loops
        j_o, j_i = nest.split(j, 4096)
        nest.vectorize(j_i, 8, unroll=4)
        nest.parallel(i)

`collapse split split_segments reorder peel peel_guards stage specialize` say which loops there are, `vectorize
unroll_and_jam parallel` how one runs.  The names are the literature's (Halide, TVM, Exo, MLIR's transform dialect); as
in Exo a primitive is a rewrite with a precondition, as in Halide the algorithm, which is the kernel, stays apart.

* A primitive that a nest does not allow is `IllegalSchedule`: it says which precondition fails and what to do
  (`preconditions.py`): that operands step through two loops as through one, that no element reads what another
  stores, that a loop stands where it has to, that a tile's size is known.
* So no program of primitives changes a bit of a result: bodies are copied to points, never changed, and the loops of a
  reduction are those over its results; what is reduced, in its order, is inside them and no loop of the nest.
* Each call is recorded (`record.py`): `explain()` and a remark show the program that made the loops.
* `lower.py` writes the ops of the `loop` dialect, once, at the end; nothing is rewritten, so a schedule costs no more
  than the loops that it asks for.
* What is known when code runs is a branch: `specialize` schedules a copy of the nest for either side.

`map/schedule.py`, `map/copy.py` and `reduce/register.py` are schedules in the language, and
``txc.jit(schedule=...)`` takes a user's of elementwise kernels (`user.py`).
"""
