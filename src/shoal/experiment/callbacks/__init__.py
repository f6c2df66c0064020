"""Observers of a run, one file each."""

from shoal.experiment.callbacks.base import Observer
from shoal.experiment.callbacks.files import Files
from shoal.experiment.callbacks.memory import PeakMemory
from shoal.experiment.callbacks.track import TRACKERS, check_trackers, make_trackers

__all__ = ["TRACKERS", "Files", "Observer", "PeakMemory", "check_trackers", "make_trackers"]
