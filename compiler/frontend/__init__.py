"""Front ends: staged Python, lazy tensors and the .tx language, all building one expression graph."""

# First, because the modules that apply ops to tensors need the class, and its methods need them.
from . import tensor

assert tensor
