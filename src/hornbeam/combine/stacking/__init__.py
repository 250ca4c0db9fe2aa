"""Stacking: an estimator learns from what members predict for rows that they have not seen."""
