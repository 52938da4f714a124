"""A backend's list changes while clients of all kinds are listening."""

from contextlib import ExitStack

from integration.matrix.asking import Asker, tools_of
from integration.matrix.gateways import Gateways, until
from integration.matrix.programs import Counterparts
from integration.matrix.table import CLIENTS, Server


def test_every_listening_client_hears_of_each_change_once(
    server: Server, asker: Asker, gateways: Gateways, counterparts: Counterparts
) -> None:
    """Somebody else changes the backend: each subscriber, of either era, is told once, and then reads the new list."""
    gateway = gateways.over(server)
    clients = [client for client in CLIENTS if client.program.available()]
    with ExitStack() as stack:
        somebody_else = stack.enter_context(counterparts.another_client(CLIENTS[0].program))
        stack.enter_context(somebody_else.connected(counterparts.server(server.program)))
        connections = {str(client): stack.enter_context(asker.connected(client, gateway.url)) for client in clients}
        listening = {name: connection.client.start("listen") for name, connection in connections.items()}
        for pending in listening.values():
            pending.result()
        # Legacy clients open their stream when they are connected, and do not say when it is there.
        until(lambda: gateway.status()["subscribers"]["open"] == len(clients))
        # A change told twice would be taken for the next one here, and leave one too many at the end.
        changes = [("grow", True), ("shrink", False)] * (2 if server.announces else 1)
        for change, is_there in changes:
            somebody_else.call(change, name="late_arrival")
            for name, pending in listening.items():
                assert pending.event().name == "list_changed", name
                assert ("late_arrival" in tools_of(connections[name])) is is_there, name
        assert [name for name, pending in listening.items() if pending.events()] == []
