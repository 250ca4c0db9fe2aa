"""What people look at and keep: the model file, text, rules and drawings of a tree."""

from __future__ import annotations

from hornbeam.output.drawing import plot_tree
from hornbeam.output.modelfile import load_model as load
from hornbeam.output.svg import tree_svg
from hornbeam.output.text import export_rules, export_text

__all__ = ["export_rules", "export_text", "load", "plot_tree", "tree_svg"]
