"""How server-side apply merges what several field managers say about one list.

A list without a word here is atomic: its last writer owns it whole.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from switchyard_operator.api.model import Breach, refuse
from switchyard_operator.api.rules import RULES_KEY, Rule


@dataclass(frozen=True, slots=True)
class KeyedBy:
    """Annotates a list of models: each entry stands for the value of one of its fields, which occurs once."""

    field: str
    """The field's name, the same in Python and in YAML. A string that every entry has."""
    case_counts: bool = True

    def check(self, entries: Sequence[BaseModel]) -> Sequence[BaseModel]:
        """Return the list, or raise naming each second occurrence."""
        refuse(tuple(self._repetitions(entries)))
        return entries

    def _repetitions(self, entries: Sequence[BaseModel]) -> Iterator[Breach]:
        seen = Counter[str]()
        for index, entry in enumerate(entries):
            value: str = getattr(entry, self.field)
            folded = value if self.case_counts else value.lower()
            seen[folded] += 1
            if seen[folded] == 2:
                yield Breach((index, self.field), f"{value} is given more than once")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema) | {
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [self.field],
        }
        if not self.case_counts:
            once = f"self.all(a, self.exists_one(b, a.{self.field}.lowerAscii() == b.{self.field}.lowerAscii()))"
            message = f"the same {self.field} is given more than once (case does not count)"
            described[RULES_KEY] = [Rule(once, message).as_schema()]
        return described
