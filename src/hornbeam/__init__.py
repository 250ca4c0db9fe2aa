"""hornbeam: one engine for every tree method."""
__version__ = "0.1.0"
