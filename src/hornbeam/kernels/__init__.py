"""Compiled functions only: plain loops on flat arrays, no classes, no input or output."""
