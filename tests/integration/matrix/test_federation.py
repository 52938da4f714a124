"""All servers behind one gateway."""

import pytest

from integration.matrix.asking import Asker, tools_of
from integration.matrix.gateways import Gateways
from integration.matrix.programs import Connection
from integration.matrix.table import CLIENTS, SERVERS, Client, Server


@pytest.fixture
def servers() -> list[Server]:
    """All that can be started here."""
    return [server for server in SERVERS if server.program.available()]


def _prefixed(server: Server, definition: dict[str, object]) -> dict[str, object]:
    return definition | {"name": f"{server.name}__{definition['name']}"}


def test_every_client_sees_the_tools_of_every_server(
    client: Client, servers: list[Server], asker: Asker, gateways: Gateways
) -> None:
    """The union of what the servers list themselves, under their backends' names, in code point order."""
    expected = {
        f"{server.name}__{name}": _prefixed(server, definition)
        for server in servers
        for name, definition in asker.directly(server, client).tools.items()
    }
    with asker.connected(client, gateways.over(*servers).url) as connection:
        assert tools_of(connection) == expected
        assert [tool["name"] for tool in connection.client.ask("list")["tools"]] == sorted(expected)


def test_a_call_goes_to_the_backend_that_its_name_stands_for(
    client: Client, servers: list[Server], asker: Asker, gateways: Gateways
) -> None:
    """Equal tools of several servers are told apart, in whichever era each is spoken to."""
    with asker.connected(client, gateways.over(*servers).url) as connection:
        for server in servers:
            result = connection.client.call(f"{server.name}__echo", text=server.name)
            assert result["content"] == [{"type": "text", "text": server.name}]
            assert connection.client.call(f"{server.name}__add", a=2, b=-5)["structuredContent"] == {"sum": -3}


@pytest.mark.parametrize("stateful", [server for server in SERVERS if server.sessions], ids=str)
def test_two_clients_never_share_a_session_of_a_legacy_backend(
    stateful: Server, servers: list[Server], asker: Asker, gateways: Gateways
) -> None:
    """What a server remembers of one client stays with that client, call after call."""
    first, second = (client for client in CLIENTS if client.name in ("python-1", "node-1"))
    url = gateways.over(*servers).url
    with asker.connected(first, url) as one, asker.connected(second, url) as other:

        def count(connection: Connection) -> str:
            text: str = connection.client.call(f"{stateful.name}__counter")["content"][0]["text"]
            return text

        assert [count(one), count(one), count(other), count(one)] == ["1", "2", "1", "3"]
