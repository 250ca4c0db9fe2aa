"""Quinlan's trees, ID3 and C4.5: many branches, missing values as fractions, pruning, rules."""
