"""Every client with every server, one gateway in between: what the client sees is what it sees without."""

import pytest

from integration.matrix.asking import Asker, asked
from integration.matrix.gateways import Gateways, until
from integration.matrix.programs import CallFailedError
from integration.matrix.table import Client, Server


def test_definitions_and_results_are_the_same_as_asked_directly(
    server: Server, client: Client, asker: Asker, gateways: Gateways
) -> None:
    """One backend: names as they are, definitions equal in every part, results and tool errors unchanged."""
    directly = asker.directly(server, client)
    with asker.connected(client, gateways.over(server).url) as connection:
        through = asked(connection)
    assert list(through.tools) == sorted(directly.tools)
    assert through.tools == directly.tools
    assert through.calls == directly.calls


def test_each_side_speaks_the_newest_version_it_can(
    server: Server, client: Client, asker: Asker, gateways: Gateways
) -> None:
    """The client's version comes from the gateway, whatever the backend speaks."""
    gateway = gateways.over(server)
    with asker.connected(client, gateway.url) as connection:
        assert connection.info["version"] == client.version
        assert connection.info["capabilities"]["tools"]["listChanged"] is True
        assert "logging" in connection.info["capabilities"]
    assert gateway.backend(server.name)["era"] == server.era.lower()


def test_an_unknown_tool_is_an_error_of_the_protocol(
    server: Server, client: Client, asker: Asker, gateways: Gateways
) -> None:
    """-32602 from the gateway's own table, also where the backend would have answered with a result."""
    with asker.connected(client, gateways.over(server).url) as connection, pytest.raises(CallFailedError) as failed:
        connection.client.call("no_such_tool")
    assert failed.value.error["code"] == -32602


def test_progress_and_log_lines_arrive_in_order(
    server: Server, client: Client, asker: Asker, gateways: Gateways
) -> None:
    """Each step's progress reaches the caller under its own token, and the log lines it asked for with it."""
    with asker.connected(client, gateways.over(server).url) as connection:
        call = connection.client.start("call", name="slow", arguments={"steps": 3, "delay_ms": 20})
        assert call.result()["content"] == [{"type": "text", "text": "3 steps"}]
        steps = [call.event() for _ in range(3)]
        assert [(step.name, step.params["progress"], step.params["total"]) for step in steps] == [
            ("progress", 1, 3),
            ("progress", 2, 3),
            ("progress", 3, 3),
        ]
        assert [step.params["message"] for step in steps] == ["step 1", "step 2", "step 3"]
        logged = [connection.pending.event().params for _ in range(2 if server.logs_aside else 3)]
        assert {(line["level"], line["logger"]) for line in logged} == {("info", "slow")}


def test_a_cancelled_call_is_cancelled_at_the_backend(
    server: Server, client: Client, asker: Asker, gateways: Gateways
) -> None:
    """However client and backend say it: closing the stream, or ``notifications/cancelled``."""
    with asker.connected(client, gateways.over(server).url) as connection:

        def cancelled() -> int:
            return int(connection.client.call("cancelled_count")["content"][0]["text"])

        before = cancelled()
        call = connection.client.start("call", name="slow", arguments={"steps": 1000, "delay_ms": 20})
        call.event()
        connection.client.ask("cancel", request=call.id)
        with pytest.raises(CallFailedError) as failed:
            call.result()
        assert failed.value.error == {"cancelled": True}
        until(lambda: cancelled() == before + 1)
