"""The model file: what every estimator is saved as, and the checks of what comes back."""
