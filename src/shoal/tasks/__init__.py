"""What happens on one client, on its own data. What a method reveals is the union of its tasks' answers."""

from shoal.tasks.ahead import Ahead
from shoal.tasks.choose import Choose
from shoal.tasks.describe import Describe
from shoal.tasks.evaluate import Evaluate
from shoal.tasks.gradient import Gradient
from shoal.tasks.losses import Losses
from shoal.tasks.nearest import Keep, Nearest
from shoal.tasks.shifted import Shifted
from shoal.tasks.train import Train

__all__ = ["Ahead", "Choose", "Describe", "Evaluate", "Gradient", "Keep", "Losses", "Nearest", "Shifted", "Train"]
