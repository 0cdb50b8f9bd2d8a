"""The version, as the package around this folder states it: `import txc` loads nothing, so it cannot ask here."""

import sys

__all__ = ["__version__"]

__version__: str = sys.modules[__name__.partition(".")[0]].__version__
