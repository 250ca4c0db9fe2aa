"""Blending: stacking with a share of the rows held out once, in place of folds."""
