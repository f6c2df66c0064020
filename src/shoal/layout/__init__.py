"""How a module lies in one flat vector: names, shapes and slices. Nobody else knows layers."""

from shoal.layout.calling import call
from shoal.layout.checks import as_input, factory_of
from shoal.layout.layout import Layout, Part
from shoal.layout.seeding import ModelFactory, seeded, torch_seed

__all__ = ["Layout", "ModelFactory", "Part", "as_input", "call", "factory_of", "seeded", "torch_seed"]
