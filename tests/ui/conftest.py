"""A folder with a few tiny runs, one of them full of hostile names, made once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.backends import Serial
from shoal.data.federation import Federation

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "@g0:soft", "%{x}")
HOSTILE_RUN = '"><img src=x onerror=alert(3)> <script>alert(4)<'


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`runs` with a sweep of two methods and two seeds, and a run of clients with hostile names."""
    root = tmp_path_factory.mktemp("ui") / "runs"
    shoal.sweep(["fedavg", "ifca"], groups=2, rounds=3, seed=[0, 1], lr=0.1, engine=Serial(), out=root / "sweep")
    rng = np.random.default_rng(0)
    arrays = {name: (rng.normal(size=(12, 4)), np.arange(12) % 2) for name in HOSTILE}
    federation = replace(Federation.from_arrays(arrays, test=0.25), truth=np.array([0, 0, 1, 1]))
    shoal.run("wecfl", federation, "mclr", groups=2, rounds=2, engine=Serial(), out=root / HOSTILE_RUN)
    return root


class Client:
    """Asks an application without a network; keeps cookies."""

    def __init__(self, app: Any, base: str = "http://127.0.0.1:8765") -> None:
        self._app, self._base = app, base
        self._cookies: Any = None

    def request(self, method: str, path: str, **more: Any) -> Any:
        import httpx

        async def once() -> Any:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url=self._base, cookies=self._cookies) as http:
                answer = await http.request(method, path, **more)
                self._cookies = http.cookies
                return answer

        return asyncio.run(once())

    def get(self, path: str, **more: Any) -> Any:
        return self.request("GET", path, **more)
