"""The arithmetic of ensembles: why many weak models are a good one.

Juries, averages, bootstrap samples, and the parts that an error is made of. Every function has its
formula in its docstring, and what can be drawn is drawn by a ``plot_`` function.
"""

from __future__ import annotations

from hornbeam.theory.average import variance_of_average
from hornbeam.theory.bootstrap import distinct_share, inclusion_probability, measured_share
from hornbeam.theory.decomposition import BiasVariance, bias_variance, plot_bias_variance
from hornbeam.theory.jury import hoeffding_bound, majority_error, plot_jury

__all__ = [
    "BiasVariance",
    "bias_variance",
    "distinct_share",
    "hoeffding_bound",
    "inclusion_probability",
    "majority_error",
    "measured_share",
    "plot_bias_variance",
    "plot_jury",
    "variance_of_average",
]
