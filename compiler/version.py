"""The version that the package `txc` states; it is stated there because `import txc` loads no other module."""

import sys

__all__ = ["__version__"]

__version__: str = sys.modules[__name__.partition(".")[0]].__version__
