"""Compiled code of gradient boosting: histograms of integers, searched and subtracted."""
