"""Hotseat: put a quiz-playing agent in the hot seat, live and on tape.

The package is imported as ``harness``; the distribution and the command are
called ``hotseat``.  Importing this module loads no model library and stays
under 0.3 s: everything heavy is imported by the function that needs it.
"""

from importlib import metadata

try:
    __version__ = metadata.version("hotseat")
except metadata.PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
