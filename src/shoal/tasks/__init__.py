"""What happens on one client, on its own data. What a method reveals is the union of its tasks' answers."""

from shoal.tasks.describe import Describe
from shoal.tasks.evaluate import Evaluate
from shoal.tasks.losses import Losses
from shoal.tasks.train import Train

__all__ = ["Describe", "Evaluate", "Losses", "Train"]
