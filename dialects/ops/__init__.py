"""The operations, each declared once.  Importing this package imports every module in it, and so fills the registry."""

from collections.abc import Iterable
from importlib import import_module
from os import path, scandir


def _import_all(folders: Iterable[str], package: str) -> None:
    """Import the modules of a package and of those inside it, in the order of their names.

    Not by pkgutil: importing it and asking it would be a tenth of the time of `import txc`.
    """
    for folder in folders:
        for item in sorted(scandir(folder), key=lambda item: item.name):
            if item.name.endswith(".py") and item.name != "__init__.py":
                import_module(f"{package}.{item.name[:-3]}")
            elif path.exists(path.join(item.path, "__init__.py")):
                _import_all([item.path], f"{package}.{item.name}")


_import_all(__path__, __name__)
