"""What all resource models have in common: camelCase, immutable, strict about names, and rules across fields.

A field's docstring is its description for users (and in the CRD): meaning, default, limits, what happens when it is wrong.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from switchyard_operator.api.fields import FieldPath, dotted
from switchyard_operator.api.rules import RULES_KEY, Rule

RULE_ERROR = "switchyard_rule"
"""The pydantic error type that carries :class:`Breach` entries in its context under ``breaches``."""


class Breach(NamedTuple):
    """A rule across fields that does not hold, and the field to correct (relative to the model that states the rule)."""

    field: FieldPath
    message: str


def refuse(breaches: Sequence[Breach]) -> None:
    """Raise, for pydantic to report, when there are any."""
    if breaches:
        text = "; ".join(f"{dotted(field)}: {message}" if field else message for field, message in breaches)
        raise PydanticCustomError(RULE_ERROR, "{text}", {"text": text, "breaches": tuple(breaches)})


class ApiModel(BaseModel):
    """A part of a resource. A field nobody knows is an error, and an explicit ``null`` means "not given", as in the cluster."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    rules: ClassVar[tuple[Rule, ...]] = ()
    """What :meth:`breaches` says, for the API server."""
    atomic: ClassVar[bool] = False
    """Whether its fields make sense only together, so that server-side apply replaces it as a whole."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = {field.alias for field in cls.model_fields.values()}
        return {key: value for key, value in data.items() if value is not None or key not in known}

    @model_validator(mode="after")
    def _rules_hold(self) -> Self:
        refuse(tuple(self.breaches()))
        return self

    def breaches(self) -> Iterator[Breach]:
        """Rules across this model's fields that do not hold. None, unless a model says otherwise."""
        return iter(())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema)
        own = handler.resolve_ref_schema(described)
        if cls.atomic:
            own["x-kubernetes-map-type"] = "atomic"
        if cls.rules:
            own[RULES_KEY] = [rule.as_schema() for rule in cls.rules]
        return described
