"""Front ends: staged Python, lazy tensors and the .tx language, all building one expression graph."""

# First: whoever imports a module of the front end finds tensors that are whole.
from . import tensor_functions

assert tensor_functions
