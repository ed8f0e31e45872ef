import asyncio

import pytest

from harness.web.parallel import side_by_side


def test_results_come_in_order_and_the_work_overlaps():
    running = []

    async def job(number):
        running.append(number)
        for _ in range(5 - number):
            await asyncio.sleep(0)
        return number, len(running)

    results = asyncio.run(_run([job(number) for number in range(4)]))
    assert results == [(number, 4) for number in range(4)]


def test_an_error_stops_the_others():
    ended = []

    async def fails():
        await asyncio.sleep(0)
        raise ValueError("no")

    async def waits():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cleanly")

    async def work():
        with pytest.raises(ValueError, match="no"):
            await side_by_side([waits(), fails(), waits()])
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(work()) == set()
    assert ended == ["cleanly"] * 2


def test_no_work_is_no_results():
    assert asyncio.run(_run([])) == []


async def _run(jobs):
    return await side_by_side(jobs)
