"""The operations, each declared once.  Importing this package imports every module in it, and so fills the registry."""

from importlib import import_module
from os import listdir

# Not pkgutil: importing it and asking it would be a tenth of the time of `import txc`.
for _folder in __path__:
    for _file in sorted(listdir(_folder)):
        if _file.endswith(".py") and _file != "__init__.py":
            import_module(f"{__name__}.{_file[:-3]}")
