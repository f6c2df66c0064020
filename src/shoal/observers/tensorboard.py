"""TensorBoard: event files in the run folder, for `tensorboard --logdir runs`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.store.folder import Folder

ALWAYS = "time/round"  # a number that every record has


class TensorBoard:
    """One event per round with all its numbers, so that a round is there as a whole or not at all."""

    def open(self, folder: Folder, parameters: Mapping[str, Any]) -> int:
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        place = folder.path / "tensorboard"
        self._round = last = last_round(place) if place.is_dir() else -1
        self._writer = EventFileWriter(str(place))
        if last < 0:
            known = {k: v if isinstance(v, bool | int | float) else str(v) for k, v in parameters.items()}
            self._add(hparams_pb(known).value)
            self._text("config", "\n".join(f"    {k} = {v}" for k, v in parameters.items()))
        return last

    def log_round(self, round: int, numbers: Mapping[str, float]) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._round = round
        self._add([Summary.Value(tag=name, simple_value=value) for name, value in numbers.items()])

    def log_artifact(self, path: Path) -> None:
        """Texts; models stay where they are, TensorBoard has no place for files."""
        if path.is_file():
            self._text(path.name, "\n".join(f"    {line}" for line in path.read_text(encoding="utf-8").splitlines()))

    def close(self, complete: bool) -> None:
        self._writer.close()

    def _text(self, name: str, markdown: str) -> None:
        from tensorboard.plugins.text.summary_v2 import text_pb

        self._add(text_pb(name, markdown).value)

    def _add(self, values: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._writer.add_event(Event(wall_time=time.time(), step=max(self._round, 0), summary=Summary(value=values)))
        self._writer.flush()


def last_round(place: Path) -> int:
    """The last round in the event files of a folder, -1 if none."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(place)).Reload()
    return max((e.step for e in found.Scalars(ALWAYS)), default=-1) if ALWAYS in found.Tags()["scalars"] else -1
