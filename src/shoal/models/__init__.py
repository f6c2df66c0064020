"""Models: plain torch modules that turn a batch of samples into one row of class scores each.

Every model is `head(features(x))`. Builders declare their names; `MODELS` is what everything else reads.
"""

from shoal.models import conv, linear, published, recurrent, residual  # noqa: F401
from shoal.models.registry import MODELS, Named, Published, factory, model
from shoal.models.residual import Residual

__all__ = ["MODELS", "Named", "Published", "Residual", "factory", "model"]
