"""What the input of a sample may be: an array, a dict or tuple of arrays, or a sequence of any length."""

from shoal.tree.inputs import (
    Pad,
    Sequences,
    Tree,
    address,
    as_array,
    batch,
    joined,
    leaves,
    length,
    nbytes,
    take,
    tree_map,
)
from shoal.tree.ragged import Ragged
from shoal.tree.shapes import Kind, Shape, by_name, kind_of, placed, shape_of, told, zeros

__all__ = [
    "Kind",
    "Pad",
    "Ragged",
    "Sequences",
    "Shape",
    "Tree",
    "address",
    "as_array",
    "batch",
    "by_name",
    "joined",
    "kind_of",
    "leaves",
    "length",
    "nbytes",
    "placed",
    "shape_of",
    "take",
    "told",
    "tree_map",
    "zeros",
]
