"""Label selectors, as everywhere in Kubernetes."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from switchyard_operator.api.model import ApiModel, Breach
from switchyard_operator.api.names import LabelKey, LabelValue
from switchyard_operator.api.rules import Rule


class LabelRequirement(ApiModel):
    """One condition on a label."""

    key: LabelKey
    """The label's key, at most 317 characters."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """`In` and `NotIn` compare with `values`; `Exists` and `DoesNotExist` look at the key alone. An object without the label
    satisfies `NotIn` and `DoesNotExist`."""
    values: Annotated[tuple[LabelValue, ...], Field(max_length=64)] = ()
    """Required with `In` and `NotIn`, not allowed otherwise. At most 64, of at most 63 characters."""

    rules = (
        Rule(
            "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
            "is required with operators In and NotIn",
            "values",
        ),
        Rule(
            "self.operator in ['In', 'NotIn'] || !has(self.values) || size(self.values) == 0",
            "is not allowed with operators Exists and DoesNotExist",
            "values",
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """`values` goes with the operators that compare."""
        if self.operator in {"In", "NotIn"} and not self.values:
            yield Breach(("values",), f"is required with operator {self.operator}")
        if self.operator in {"Exists", "DoesNotExist"} and self.values:
            yield Breach(("values",), f"is not allowed with operator {self.operator}")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels satisfies the condition."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels


class LabelSelector(ApiModel):
    """Selects by labels; all conditions must hold. An empty selector selects everything."""

    match_labels: Annotated[Mapping[LabelKey, LabelValue], Field(max_length=64)] = {}
    """Labels with exactly these values, each at most 63 characters. At most 64. An object with a key that no label can have is
    not accepted."""
    match_expressions: Annotated[tuple[LabelRequirement, ...], Field(max_length=64)] = ()
    """Further conditions. At most 64."""

    atomic = True

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )
