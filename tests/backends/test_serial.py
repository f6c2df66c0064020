"""The plain back end: arithmetic as in a worker, and afterwards as it was."""

from __future__ import annotations

import pytest
import torch

from shoal.backends.site import one_thread


def denormal() -> float:
    """Half of the smallest normal number of single precision."""
    return float(torch.tensor([2.0**-126]) * torch.tensor([0.5]))


@pytest.mark.skipif(not torch.set_flush_denormal(False), reason="this processor cannot flush denormals")
def test_denormals_are_flushed_at_work_and_not_afterwards() -> None:
    assert denormal() == 2.0**-127
    with one_thread():
        assert denormal() == 0
        assert torch.get_num_threads() == 1
    assert denormal() == 2.0**-127


def test_threads_are_as_they_were_also_after_an_error() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ValueError, match="ill"), one_thread():
            raise ValueError("ill")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
