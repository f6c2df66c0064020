"""What happens on one client, on its own data. What a method reveals is the union of its tasks' answers."""

from shoal.tasks.choose import Choose
from shoal.tasks.detect_shift import DetectShift
from shoal.tasks.evaluate import Evaluate
from shoal.tasks.gradient import Gradient
from shoal.tasks.label_histogram import LabelHistogram
from shoal.tasks.losses import Losses
from shoal.tasks.nearest import Nearest, StoreDirections
from shoal.tasks.train import Train
from shoal.tasks.train_in_stages import TrainInStages

__all__ = [
    "TrainInStages",
    "Choose",
    "LabelHistogram",
    "Evaluate",
    "Gradient",
    "StoreDirections",
    "Losses",
    "Nearest",
    "DetectShift",
    "Train",
]
