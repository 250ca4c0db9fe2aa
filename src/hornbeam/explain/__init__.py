"""Why a tree is as it is: the table behind each split."""
