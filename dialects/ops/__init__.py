"""The operations, each declared once.  Importing this package imports every module in it, and so fills the registry."""

from importlib import import_module
from pkgutil import iter_modules

for _module in sorted(found.name for found in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
