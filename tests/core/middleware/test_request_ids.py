"""Every call has an id of its own."""

from uuid import UUID

import pytest
from core_home import Hosting
from mcp_host.middleware.request_id import RequestIds

pytestmark = pytest.mark.anyio


async def test_request_ids_are_uuids_of_version_4_and_none_comes_twice(hosted: Hosting) -> None:
    async with hosted({}) as host:
        given = [host.host.context().request_id for _ in range(3 * RequestIds.MANY)]

    assert len(set(given)) == len(given)
    assert {UUID(one).version for one in given} == {4}
    assert [str(UUID(one)) for one in given] == given
