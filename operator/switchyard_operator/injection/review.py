"""AdmissionReview (admission.k8s.io/v1): the question of the API server, and our answer."""

import base64
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.resource import Key
from switchyard_operator.injection.decision import Decision, Result, decide
from switchyard_operator.workloads.settings import Installation

_API_VERSION: Final = "admission.k8s.io/v1"
_POD: Final = {"group": "", "version": "v1", "kind": "Pod"}
_FAILED: Final = Decision(
    Result.FAILED, (), ("switchyard: no sidecar is added: the webhook has failed; its log says more",)
)
Request = Mapping[str, Any]
Json = dict[str, Any]


class NotAReview(ValueError):  # noqa: N818 - the name says it
    """What was sent is no question that could be answered; the message says why."""


def request_in(body: bytes) -> Request:
    """The request in a review.

    Raises:
        NotAReview: there is none.
    """
    try:
        review = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAReview(f"the body is no JSON: {error}") from error
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise NotAReview("the body is no AdmissionReview with a request")
    if review.get("apiVersion") != _API_VERSION:
        raise NotAReview(f"only {_API_VERSION} is spoken here")
    return request


def judge(
    request: Request, gateway_of: Callable[[Key], MCPGateway | None], installation: Installation
) -> tuple[Decision, Exception | None]:
    """The decision about the object of a request, with what went wrong, if anything did.

    A fault of ours blocks nobody: the pod is let through without a sidecar, and the operator counts it.
    """
    try:
        if request["operation"] != "CREATE" or request["kind"] != _POD or request.get("subResource"):
            return Decision(Result.NOT_ASKED), None
        return decide(request["object"], request["namespace"], gateway_of, installation), None
    except Exception as error:  # noqa: BLE001 - whatever it is
        return _FAILED, error


def answer(request: Request, decision: Decision) -> Json:
    """The review to send back. Every pod is allowed; what became of it is said in warnings and in the audit log."""
    response: Json = {"uid": request["uid"], "allowed": True}
    if decision.patch:
        patch = base64.b64encode(msgspec.json.encode(decision.patch)).decode()
        response |= {"patchType": "JSONPatch", "patch": patch}
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    if decision.result is Result.FAILED:
        response["status"] = {"code": HTTPStatus.INTERNAL_SERVER_ERROR, "message": decision.warnings[0]}
    if decision.result is not Result.NOT_ASKED:
        response["auditAnnotations"] = {"result": decision.result.value, **decision.facts}
    return {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": response}
