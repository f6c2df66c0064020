"""Models: plain torch modules that turn a batch of samples into one row of class scores each.

Every model is `head(features(x))`.
"""

from shoal.models.registry import GENERIC, NAMES, PUBLISHED, Named, factory

__all__ = ["GENERIC", "NAMES", "PUBLISHED", "Named", "factory"]
