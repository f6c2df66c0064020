"""Ray is silent from its first moment to its last, and one that does not start leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shoal.backends.ray_session import join
from shoal.errors import ShoalError


@pytest.fixture
def ray() -> Any:
    return pytest.importorskip("ray", reason="needs the package ray: pip install 'shoal[ray]'")


def test_one_that_does_not_start_is_one_sentence(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, seen = ray._private.worker, list[tuple[bool, str]]()

    def init(_temp_dir: str, **options: Any) -> None:
        seen.append((worker._worker_logs_enabled, _temp_dir))
        assert Path(_temp_dir).is_dir()
        raise Exception("The node timed out\n during startup")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(
        ShoalError, match=r"^Ray does not start here \(The node timed out during startup\); try again, "
    ):
        join("local", 1)
    ((spoke, folder),) = seen
    assert not spoke and worker._worker_logs_enabled and not Path(folder).exists()


def test_news_that_were_kept_back_are_not_printed_at_the_end(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, spoke = ray._private.worker, list[bool]()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "init", lambda **options: spoke.append(worker._worker_logs_enabled))
    monkeypatch.setattr(ray, "shutdown", lambda: spoke.append(worker._worker_logs_enabled))
    leave = join("auto", None)
    assert not worker._worker_logs_enabled
    leave()
    assert spoke == [False, False] and worker._worker_logs_enabled
