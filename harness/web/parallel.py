"""Doing several things at once on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

__all__ = ["side_by_side"]

_T = TypeVar("_T")


async def side_by_side(work: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Run coroutines in parallel; results in order, and none left running after an error."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
