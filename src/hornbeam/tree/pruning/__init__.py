"""Pruning of fitted trees: three methods as functions, and the choice of ``ccp_alpha``."""
