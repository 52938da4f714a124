"""Label selectors select as in Kubernetes."""

from typing import Any

import pytest
from pydantic import ValidationError

from switchyard_operator.api.selectors import LabelSelector

LABELS = {"team": "a", "tier": "gold"}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        ({"matchLabels": {"team": "a"}}, True),
        ({"matchLabels": {"team": "b"}}, False),
        ({"matchLabels": {"team": "a", "zone": "x"}}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a", "b"]}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}, True),
        ({"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "zone", "operator": "Exists"}]}, False),
    ],
)
def test_all_conditions_must_hold(selector: dict[str, Any], selected: bool) -> None:
    """An empty selector has none and selects everything."""
    assert LabelSelector.model_validate(selector).matches(LABELS) is selected


@pytest.mark.parametrize(
    ("requirement", "complaint"),
    [
        ({"key": "a", "operator": "In"}, "values: is required with operator In"),
        ({"key": "a", "operator": "Exists", "values": ["x"]}, "values: is not allowed with operator Exists"),
        ({"key": "a", "operator": "Gt", "values": ["1"]}, "operator"),
        ({"key": "a b", "operator": "Exists"}, "must be a label key"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused(requirement: dict[str, Any], complaint: str) -> None:
    """Values go with the operators that compare."""
    with pytest.raises(ValidationError, match=complaint):
        LabelSelector.model_validate({"matchExpressions": [requirement]})
