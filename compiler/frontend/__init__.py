"""Front ends: staged Python, lazy tensors and the .tx language, all building one expression graph.

Modules import downwards only; `tests/test_imports.py` looks for circles.  `context` (the traces of a thread), `graph`,
`emit` and `leaves` are below `Tensor`; `apply`, `assignment` and `indexing` are above it; then come NumPy's functions,
the state of staged Python, and the languages.  `methods_table` gives the class what is built on it.
"""

# First: whoever imports a module of the front end finds tensors that are whole.
from . import methods_table

assert methods_table
