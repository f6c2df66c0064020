"""Observers of a run, one file each."""

from shoal.experiment.callbacks.base import Observer
from shoal.experiment.callbacks.files import Files
from shoal.experiment.callbacks.memory import PeakMemory

__all__ = ["Files", "Observer", "PeakMemory"]
