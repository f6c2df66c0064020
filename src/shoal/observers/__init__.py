"""Observers of a run, one file each."""

from shoal.observers.files import Files
from shoal.observers.memory import PeakMemory
from shoal.observers.observer import Observer
from shoal.observers.progress import ProgressLine, progress_line
from shoal.observers.stopping import Stopping
from shoal.observers.track import TRACKERS, check_trackers, make_trackers

__all__ = [
    "TRACKERS",
    "Files",
    "Observer",
    "PeakMemory",
    "ProgressLine",
    "Stopping",
    "check_trackers",
    "make_trackers",
    "progress_line",
]
