"""What people look at and keep: the model file, text, rules and drawings of a tree."""
