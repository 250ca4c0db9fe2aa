"""Compiled code of ID3 and C4.5: rows that carry fractions, and splits with many branches."""
