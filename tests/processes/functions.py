"""Functions that other processes find by name, for `program.py`."""

import txc

__all__ = ["Model", "Trained", "compiled", "plain", "with_options"]

SCALE = 3.0


@txc.jit
def compiled(x):
    return x * SCALE


def plain(x, power=2):
    return x**power


with_options = compiled.options(threads=2, max_temp_bytes=1 << 20)


class Model:
    def __init__(self, weight):
        self.weight = weight

    @txc.jit
    def times(self, x):
        return x * self.weight


class Trained:
    """Refers to a function that refers back to it."""

    def __init__(self):
        self.weight = 2.0
        self.step = txc.jit(lambda x: x * self.weight)
