"""Rules for the API server: what the models check, said once more in CEL.

They stand in the CRDs as ``x-kubernetes-validations``, beside the Python that says the same to users of files. Tests give every
example to both.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

RULES_KEY = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule on the value ``self``. A model lists its own under ``rules``; on a scalar it is an annotation."""

    cel: str
    """True for what is allowed. Evaluated after defaulting, and only where types, patterns and bounds hold."""
    message: str
    """What is wrong, for people, in the words of the model's own message."""
    field: str = ""
    """The field to correct, below ``self``, by its names in YAML; empty: the value itself."""

    def as_schema(self) -> dict[str, Any]:
        """The entry of ``x-kubernetes-validations``."""
        entry = {"rule": self.cel, "message": self.message}
        return entry | ({"fieldPath": f".{self.field}"} if self.field else {})

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema)
        return described | {RULES_KEY: [*described.get(RULES_KEY, ()), self.as_schema()]}
