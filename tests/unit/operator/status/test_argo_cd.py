"""The health script for Argo CD, run in Lua 5.1 as Argo CD runs it, on statuses that the operator writes."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from lupa.lua51 import LuaRuntime

from switchyard_operator.api.resource import Key
from switchyard_operator.api.status import PENDING
from switchyard_operator.compile.objects import Objects
from switchyard_operator.controller.status.alias import Stand, Standing, assess_alias
from switchyard_operator.controller.status.assessment import Assessment
from switchyard_operator.controller.status.backend import assess_backend
from switchyard_operator.controller.status.composition import Composition
from switchyard_operator.controller.status.gateway import PodCounts, Writing, Written, assess_gateway
from switchyard_operator.controller.status.probed import ProbeReason, Reach
from unit.operator import kstatus
from unit.operator.declared import MAIN, alias, backend, compiled, gateway
from unit.operator.status.situations import GENERATION, NOW, held, invalid

ROOT = Path(__file__).parents[4]
SCRIPT = (ROOT / "examples" / "argocd" / "health.lua").read_text()
HEALTH: Final[dict[kstatus.Reading, str]] = {"Current": "Healthy", "InProgress": "Progressing", "Failed": "Degraded"}
UNSEEN = Reach()
BEARER = {"type": "Bearer", "secretKeyRef": {"name": "gh", "key": "token"}}


def health(resource: dict[str, Any]) -> tuple[str, str | None]:
    """Status and message, as Argo CD takes them from the script: the object is a global, most of the standard library is not there."""
    lua = LuaRuntime(register_eval=False, register_builtins=False)
    variables = lua.globals()
    for library in ("string", "math", "io", "debug"):
        variables[library] = None
    variables["obj"] = lua.table_from(json.loads(json.dumps(resource)), recursive=True)
    found = lua.execute(SCRIPT)
    return found["status"], found["message"]


def stored(assessment: Assessment) -> dict[str, Any]:
    """An object with this status, as the API server holds it."""
    return {"metadata": {"generation": GENERATION}, "status": assessment.status(GENERATION, {}, NOW)}


def of_gateway(*backends: str, writing: Written = Written.PROGRAMMED, **spec: Any) -> Assessment:
    declared = gateway(*backends, **spec)
    composed = Composition.of(compiled(declared, backend("github"), cluster=True))
    return assess_gateway(held(declared), composed, Writing(writing, "as the writer says", "c0ffee"), PodCounts(), 40)


def of_backend(reach: Reach = UNSEEN, **spec: Any) -> Assessment:
    declared = backend("github", **spec)
    return assess_backend(held(declared), Objects.of([declared]), reach)


def of_alias(*found: Standing) -> Assessment:
    return assess_alias(held(alias("find", "github", "search", "find_repo")), found)


SITUATIONS = [
    pytest.param(of_gateway("github"), "Healthy", "serves 1 of 1 backends", id="a gateway that is well"),
    pytest.param(
        of_gateway("github", "gone"),
        "Healthy",
        "serves 1 of 2 backends; spec.backends[1]: there is no MCPBackend agents/gone",
        id="a gateway that serves a part",
    ),
    pytest.param(
        of_gateway("gone"),
        "Progressing",
        "spec.backends[0]: there is no MCPBackend agents/gone",
        id="a gateway that waits for its backend",
    ),
    pytest.param(
        of_gateway("github", writing=Written.WRITE_FAILED),
        "Progressing",
        "as the writer says",
        id="a gateway that is tried again",
    ),
    pytest.param(
        of_gateway("github", writing=Written.NAME_CONFLICT),
        "Degraded",
        "as the writer says",
        id="a gateway that somebody must help",
    ),
    pytest.param(
        of_backend(), "Healthy", "is accepted, and all its references resolve", id="a backend that is not probed yet"
    ),
    pytest.param(
        of_backend(Reach(ProbeReason.TIMED_OUT, failures=3)),
        "Healthy",
        "is accepted, and all its references resolve; not reachable: does not answer the operator in time",
        id="a backend that does not answer: an outage elsewhere blocks no rollout",
    ),
    pytest.param(
        of_backend(auth=BEARER),
        "Progressing",
        (
            "spec.auth.secretKeyRef: there is no Secret agents/gh with the label switchyard.dev/credential: "
            '"true"; the backend is left out'
        ),
        id="a backend that waits for its Secret",
    ),
    pytest.param(
        of_gateway("github", auth={"kubernetes": {"audiences": ["a"]}}),
        "Degraded",
        "the config is written, and lets nobody in: nothing of spec.auth resolves",
        id="a gateway that lets nobody in",
    ),
    pytest.param(
        assess_backend(invalid(), Objects(), Reach()),
        "Degraded",
        "spec.url: must be an absolute http or https URL; spec.headers[0].name: is required",
        id="a backend that breaks the rules",
    ),
    pytest.param(
        of_alias(Standing(MAIN, Stand.ACTS)), "Healthy", "has its name wherever it acts", id="an alias that is well"
    ),
    pytest.param(
        of_alias(),
        "Progressing",
        "spec.backendRef: no gateway of namespace agents includes backend agents/github; the alias has no effect",
        id="an alias that waits for a gateway",
    ),
    pytest.param(
        of_alias(Standing(MAIN, Stand.LOST, Key("agents", "older"))),
        "Degraded",
        (
            'spec.alias: "find_repo" on gateway agents/main belongs to MCPToolAlias agents/older, which comes first '
            "(older, then by namespace and name); this tool keeps its ordinary name"
        ),
        id="an alias that has lost its name",
    ),
]


@pytest.mark.parametrize(("assessment", "expected", "message"), SITUATIONS)
def test_health_is_what_the_status_says(assessment: Assessment, expected: str, message: str) -> None:
    """With the message of the condition that decides; and as Flux and Helm read the same status."""
    assert health(stored(assessment)) == (expected, message)
    assert HEALTH[kstatus.read(stored(assessment))] == expected


@pytest.mark.parametrize(("assessment", "expected", "message"), SITUATIONS)
def test_a_change_that_the_operator_has_not_seen_is_in_progress(
    assessment: Assessment, expected: str, message: str
) -> None:
    """Whatever was said of the version before."""
    changed = stored(assessment) | {"metadata": {"generation": GENERATION + 1}}
    assert health(changed) == ("Progressing", "the operator has not looked at this version yet")
    assert kstatus.read(changed) == "InProgress"


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"conditions": [PENDING.model_dump(mode="json", by_alias=True)]}, id="the default"),
        pytest.param({}, id="empty"),
        pytest.param(None, id="absent"),
    ],
)
def test_what_the_operator_has_never_seen_is_in_progress(status: dict[str, Any] | None) -> None:
    """With the status that the API server gives it, or without."""
    new = {"metadata": {"generation": 1}} | ({} if status is None else {"status": status})
    assert health(new) == ("Progressing", "the operator has not looked at this version yet")


def test_the_config_map_carries_the_script_for_each_kind() -> None:
    """What users apply is what is tested here."""
    (document,) = yaml.safe_load_all((ROOT / "examples" / "argocd" / "argocd-cm.yaml").read_text())
    kinds = ("MCPBackend", "MCPGateway", "MCPToolAlias")
    assert document["data"] == {f"resource.customizations.health.switchyard.dev_{kind}": SCRIPT for kind in kinds}
