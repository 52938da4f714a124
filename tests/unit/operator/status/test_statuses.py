"""What is known of one object, brought together."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from switchyard_operator.api.resource import Key
from switchyard_operator.compile import compile_gateway
from switchyard_operator.controller.configure import Outcome
from switchyard_operator.controller.metrics import Metrics
from switchyard_operator.controller.resources import ALIASES, BACKENDS, EVENTS, GATEWAYS, SECRETS, Resource
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.gateway import PodCounts, Writing, Written
from switchyard_operator.controller.status.probed import Answer, ProbeReason, Reach
from switchyard_operator.controller.status.writer import StatusWriter
from switchyard_operator.controller.statuses import Statuses
from switchyard_operator.controller.store import Store
from switchyard_operator.controller.work import Task, Work

MAIN, GITHUB, FIND = Key("agents", "main"), Key("agents", "github"), Key("agents", "find")
SPECS: dict[Resource, tuple[str, dict[str, Any]]] = {
    BACKENDS: ("github", {"url": "http://github.example/mcp"}),
    GATEWAYS: ("main", {"backends": [{"name": "github"}]}),
    ALIASES: ("find", {"backendRef": {"name": "github"}, "tool": "search", "alias": "find"}),
}
SHARED = {"from": "All", "credentials": "Share"}
ANSWERED = Reach(ProbeReason.ANSWERED, Answer("Modern", "2026-07-28", True, "GitHub", "1", 40, "ab"))


class Controller:
    """The statuses of a backend, a gateway that includes it and an alias, with what surrounds them."""

    def __init__(self) -> None:
        self.store = Store(expected=())
        self.outcomes: dict[Key, Outcome] = {}
        self.reaches: dict[str, Reach] = {}
        self.awaited: set[Work] = set()
        self.hidden: set[Key] = set()
        self.due: list[tuple[Work, float]] = []
        self.writes: list[str] = []
        writer = StatusWriter(self, "replica", lambda: None, self.seen, Metrics(CollectorRegistry()))
        self.statuses = Statuses(
            self.store,
            self.outcomes,
            lambda _: PodCounts(2, 1, 1),
            self.reaches,
            self.exists,
            self.awaited.__contains__,
            lambda work, after_s: self.due.append((work, after_s)),
            writer,
        )
        self.version = 100
        self.specs: dict[Resource, dict[str, Any]] = {}
        for resource in SPECS:
            self.declare(resource)

    def declare(self, resource: Resource, generation: int = 1, namespace: str = "agents", **more: Any) -> None:
        """An object, or a new generation of it with more in its spec."""
        self.version += 1
        name, spec = SPECS[resource]
        spec = self.specs[resource] = spec | more
        metadata = {"namespace": namespace, "name": name, "uid": f"uid-{name}", "generation": generation}
        metadata["resourceVersion"] = str(self.version)
        self.store.event(resource, "MODIFIED", {"metadata": metadata, "spec": spec})

    def compile(self, generation: int = 1) -> None:
        """The gateway as it is declared now, compiled and written."""
        composition = Composition.of(compile_gateway(self.store.objects, MAIN, revision_key=None, cluster=True))
        writing = Writing(Written.PROGRAMMED, "the config is written", "c0ffee")
        self.outcomes[MAIN] = Outcome("uid-main", generation, composition, writing)

    async def exists(self, resource: Resource, key: Key) -> bool:
        assert resource is SECRETS
        return key in self.hidden

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
        assert resource is EVENTS
        return dict(body)

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str | None = None
    ) -> dict[str, Any]:
        assert subresource == "status"
        self.version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.version)}
        metadata["generation"] = body["status"]["observedGeneration"]
        self.writes.append(str(resource.kind))
        return {**body, "metadata": metadata, "spec": self.specs[resource]}

    def seen(self, resource: Resource, answer: Mapping[str, Any]) -> None:
        assert self.store.event(resource, "MODIFIED", answer) is None

    def status(self, resource: Resource) -> Mapping[str, Any]:
        """What is stored."""
        item = self.store.shelf(resource).get(Key("agents", SPECS[resource][0]))
        assert item is not None
        return item.status

    def message(self, resource: Resource) -> str:
        """What ``Ready`` says."""
        (found,) = (each["message"] for each in self.status(resource)["conditions"] if each["type"] == "Ready")
        assert isinstance(found, str)
        return found


async def test_nothing_is_said_of_a_gateway_that_was_not_compiled_as_it_is() -> None:
    """Its generation tells readers that something is under way."""
    controller = Controller()
    await controller.statuses.gateway(MAIN)
    controller.compile()
    controller.declare(GATEWAYS, generation=2)
    await controller.statuses.gateway(MAIN)
    assert controller.writes == []
    controller.compile(generation=2)
    await controller.statuses.gateway(MAIN)
    assert controller.writes == ["MCPGateway"]


async def test_a_gateway_tells_of_its_pods_and_tools() -> None:
    """Pods as they were counted, tools as its backends answered."""
    controller = Controller()
    controller.reaches["uid-github"] = ANSWERED
    controller.compile()
    await controller.statuses.gateway(MAIN)
    status = controller.status(GATEWAYS)
    assert status["pods"] == {"attached": 2, "current": 1, "unknown": 1}
    assert status["tools"] == {"count": 40}
    assert status["configHash"] == "c0ffee"


async def test_a_gateway_tells_of_backends_that_do_not_answer() -> None:
    """It is ready all the same."""
    controller = Controller()
    controller.reaches["uid-github"] = replace(ANSWERED, reason=ProbeReason.TIMED_OUT, failures=3)
    controller.compile()
    await controller.statuses.gateway(MAIN)
    assert controller.message(GATEWAYS) == "serves 1 of 1 backends, 1 of which does not answer the operator"


async def test_an_alias_is_held_back_while_a_gateway_is_still_to_be_compiled() -> None:
    """What an older compilation says of it may be wrong by now."""
    controller = Controller()
    controller.compile()
    controller.awaited.add(Work(Task.CONFIG, MAIN))
    await controller.statuses.alias(FIND)
    assert (controller.writes, controller.due) == ([], [])
    controller.awaited.clear()
    controller.statuses.configured(MAIN)
    assert controller.due == [(Work(Task.GATEWAY_STATUS, MAIN), 0.0), (Work(Task.ALIAS_STATUS, FIND), 0.0)]
    await controller.statuses.alias(FIND)
    assert controller.status(ALIASES)["gateways"] == {"total": 1, "accepted": 1, "conflicted": 0}


async def test_an_alias_says_that_its_tool_is_not_listed_until_it_is() -> None:
    """As the operator's last look at the backend says."""
    controller = Controller()
    controller.compile()
    answer = Answer("Modern", "2026-07-28", True, "GitHub", "1", 1, "ab", ("other",))
    controller.reaches["uid-github"] = Reach(ProbeReason.ANSWERED, answer)
    await controller.statuses.alias(FIND)
    assert "lists no tool search" in controller.message(ALIASES)
    controller.reaches["uid-github"] = Reach(ProbeReason.ANSWERED, replace(answer, names=("search",)))
    await controller.statuses.alias(FIND)
    ((work, _),) = controller.due
    assert work == Work(Task.ALIAS_STATUS, FIND)


async def test_a_backend_is_told_of_as_it_was_probed() -> None:
    """Under its uid: another backend of the same name begins anew."""
    controller = Controller()
    controller.reaches["uid-of-another"] = ANSWERED
    await controller.statuses.backend(GITHUB)
    assert "tools" not in controller.status(BACKENDS)
    controller.reaches["uid-github"] = ANSWERED
    await controller.statuses.backend(GITHUB)
    assert controller.status(BACKENDS)["tools"] == {"count": 40, "digest": "ab"}


async def test_a_backend_not_probed_by_this_process_keeps_what_was_said() -> None:
    """A restart changes nothing."""
    controller = Controller()
    controller.reaches["uid-github"] = ANSWERED
    await controller.statuses.backend(GITHUB)
    controller.reaches.clear()
    await controller.statuses.backend(GITHUB)
    assert controller.writes == ["MCPBackend"]


@pytest.mark.parametrize(
    ("hidden", "reason"), [(set(), "SecretNotFound"), ({Key("agents", "gh")}, "SecretNotLabelled")]
)
async def test_a_secret_that_is_not_seen_is_asked_for(hidden: set[Key], reason: str) -> None:
    """It is absent, or its owner has not labelled it."""
    controller = Controller()
    controller.hidden = hidden
    auth = {"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}
    controller.declare(BACKENDS, generation=2, auth=auth)
    await controller.statuses.backend(GITHUB)
    assert [each["reason"] for each in controller.status(BACKENDS)["conditions"] if each["type"] == "Ready"] == [reason]


BEARER = {"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}


async def test_a_gateway_says_of_a_backend_at_fault_what_the_backend_says() -> None:
    """Compiling does not know of Secrets without the label; the backend's status does."""
    controller = Controller()
    controller.hidden = {Key("agents", "gh")}
    controller.declare(BACKENDS, generation=2, auth=BEARER)
    controller.compile()
    await controller.statuses.backend(GITHUB)
    await controller.statuses.gateway(MAIN)
    assert "backend agents/github is left out (SecretNotLabelled); its status says more" in controller.message(GATEWAYS)


async def test_a_gateway_is_looked_at_again_when_a_backend_at_fault_says_something_else() -> None:
    """Whichever of the two statuses was written first; once for each change."""
    controller = Controller()
    controller.hidden = {Key("agents", "gh")}
    controller.declare(BACKENDS, generation=2, auth=BEARER)
    controller.compile()
    await controller.statuses.gateway(MAIN)
    assert "left out (SecretNotFound)" in controller.message(GATEWAYS)
    await controller.statuses.backend(GITHUB)
    assert controller.due == [(Work(Task.GATEWAY_STATUS, MAIN), 0.0)]
    await controller.statuses.backend(GITHUB)
    assert len(controller.due) == 1


async def test_which_secrets_there_are_is_not_said_elsewhere() -> None:
    """A gateway of another namespace is told what compiling finds, whatever the backend's owner is told."""
    controller = Controller()
    controller.hidden = {Key("tools", "gh")}
    controller.declare(BACKENDS, generation=2, namespace="tools", auth=BEARER, allowedNamespaces=SHARED)
    controller.declare(GATEWAYS, generation=2, backends=[{"name": "github", "namespace": "tools"}])
    controller.compile(generation=2)
    await controller.statuses.backend(Key("tools", "github"))
    await controller.statuses.gateway(MAIN)
    assert "backend tools/github is left out (SecretNotFound); its status says more" in controller.message(GATEWAYS)
    assert controller.due == []


async def test_what_has_to_wait_is_due_later() -> None:
    """Two counts within five seconds: the second is not lost."""
    controller = Controller()
    controller.reaches["uid-github"] = ANSWERED
    await controller.statuses.backend(GITHUB)
    controller.reaches["uid-github"] = Reach(
        ProbeReason.ANSWERED, Answer("Modern", "2026-07-28", True, "G", "1", 9, "c")
    )
    await controller.statuses.backend(GITHUB)
    ((work, after_s),) = controller.due
    assert work == Work(Task.BACKEND_STATUS, GITHUB)
    assert 4 < after_s <= 5


async def test_nothing_is_said_of_what_is_gone() -> None:
    """Work may come late."""
    controller = Controller()
    nobody = Key("agents", "nobody")
    for each in (controller.statuses.gateway, controller.statuses.backend, controller.statuses.alias):
        await each(nobody)
    assert controller.writes == []
