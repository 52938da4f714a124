"""What all resource models have in common: camelCase, immutable, strict about names, and rules across fields.

A field's docstring is its description for users (and in the CRD): meaning, default, limits, what happens when it is wrong.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from switchyard_operator.api.fields import FieldPath, dotted

RULE_ERROR = "switchyard_rule"
"""The pydantic error type that carries :class:`Breach` entries in its context under ``breaches``."""


class Breach(NamedTuple):
    """A rule across fields that does not hold, and the field to correct (relative to the model that states the rule)."""

    field: FieldPath
    message: str


class ApiModel(BaseModel):
    """A part of a resource. A field nobody knows is an error, and an explicit ``null`` means "not given", as in the cluster."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = {field.alias for field in cls.model_fields.values()}
        return {key: value for key, value in data.items() if value is not None or key not in known}

    @model_validator(mode="after")
    def _rules_hold(self) -> Self:
        breaches = tuple(self.breaches())
        if breaches:
            text = "; ".join(f"{dotted(field)}: {message}" if field else message for field, message in breaches)
            raise PydanticCustomError(RULE_ERROR, "{text}", {"text": text, "breaches": breaches})
        return self

    def breaches(self) -> Iterator[Breach]:
        """Rules across this model's fields that do not hold. None, unless a model says otherwise."""
        return iter(())
