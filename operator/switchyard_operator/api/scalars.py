"""Strings with a syntax: bounded text, durations and quantities.

Each type checks itself with a message for people and describes itself with the same pattern in JSON schema (patterns are
written in the subset that Python and RE2 share, so that the API server can check them too).
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from switchyard_operator.api.rules import Rule


@dataclass(frozen=True, slots=True)
class Text:
    """Annotates ``str``: what it must look like, how long it may be, and how that is said to people."""

    pattern: str
    """Must match as a whole; written without anchors."""
    max_length: int
    meaning: str
    """Completes the sentence "must be ..."."""

    def check(self, value: str) -> str:
        """Return the value, or raise with the meaning."""
        if len(value) > self.max_length:
            limits = {"length": len(value), "limit": self.max_length}
            raise PydanticCustomError("too_long_text", "has {length} characters; at most {limit} are allowed", limits)
        if not re.fullmatch(self.pattern, value):
            raise PydanticCustomError("text", "must be {meaning}", {"meaning": self.meaning})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^{self.pattern}$", "maxLength": self.max_length}


class Measure(str):
    """A string that stands for an amount of some unit. Compare :attr:`amount`, never the text."""

    __slots__ = ()

    @property
    def amount(self) -> int | Fraction:
        """The exact value in the type's base unit."""
        raise NotImplementedError

    @classmethod
    def at_least(cls, amount: str, least: str) -> str:
        """CEL that says whether one amount is not less than another: each a measure, or an expression for a field of this type."""
        raise NotImplementedError

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The measure that a value from YAML stands for, or an error that says what is expected."""
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=core_schema.to_string_ser_schema())


def _literal(operand: str) -> str:
    """A measure as text in CEL; empty for an expression."""
    return f"'{operand}'" if isinstance(operand, Measure) else ""


_DURATION = re.compile(r"([0-9]{1,5}(h|m|s|ms)){1,4}")
_UNIT_MS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}


class Duration(Measure):
    """A length of time as in GEP-2257: up to four terms of h, m, s and ms (``1h30m``, ``500ms``)."""

    __slots__ = ()

    @property
    def amount(self) -> int:
        """Milliseconds."""
        return self.ms

    @property
    def ms(self) -> int:
        """Milliseconds."""
        return sum(int(number) * _UNIT_MS[unit] for number, unit in re.findall(r"([0-9]+)(ms|h|m|s)", self))

    @classmethod
    def at_least(cls, amount: str, least: str) -> str:
        """CEL has durations, made of text."""
        left, right = (f"duration({_literal(each) or each})" for each in (amount, least))
        return f"{left} >= {right}"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Accept text of the right syntax; a bare number has no unit and is refused."""
        if not isinstance(value, str) or not _DURATION.fullmatch(value):
            raise PydanticCustomError("duration", "must be a duration such as 500ms, 30s, 10m or 1h30m")
        return cls(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{_DURATION.pattern}$", "maxLength": 32}


_QUANTITY = re.compile(r"([0-9]{1,19}(\.[0-9]{1,9})?)(Ki|Mi|Gi|Ti|k|M|G|T)?")
_UNIT_BYTES = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}


class Quantity(Measure):
    """A number of bytes: a whole number, or one with a Kubernetes suffix (``64Mi``, ``1.5G``). Fractions are rounded up."""

    __slots__ = ()

    @property
    def amount(self) -> Fraction:
        """Bytes, not rounded."""
        match = _QUANTITY.fullmatch(self)
        if match is None:
            raise ValueError(f"{self!r} is not a quantity")
        return Fraction(match[1]) * _UNIT_BYTES[match[3] or ""]

    @property
    def bytes(self) -> int:
        """Bytes, rounded up."""
        return math.ceil(self.amount)

    @classmethod
    def at_least(cls, amount: str, least: str) -> str:
        """Kubernetes' CEL has quantities, made of text. A field may hold a number: its text would have no bound to estimate by."""
        left, right = (
            f"quantity({literal})"
            if (literal := _literal(each))
            else f"(type({each}) == int ? quantity('0').add({each}) : quantity({each}))"
            for each in (amount, least)
        )
        return f"{left}.compareTo({right}) >= 0"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Accept a whole number or a string, as ``x-kubernetes-int-or-string`` does."""
        is_number = isinstance(value, int) and not isinstance(value, bool)
        text = str(value) if is_number else value
        if not isinstance(text, str) or not _QUANTITY.fullmatch(text):
            raise PydanticCustomError("quantity", "must be a number of bytes such as 1048576, 512Ki or 64Mi")
        return cls(text)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=core_schema.to_string_ser_schema())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "pattern": f"^{_QUANTITY.pattern}$",
            "maxLength": 32,
        }


@dataclass(frozen=True, slots=True)
class Within:
    """Annotates a :class:`Measure`: the least and the greatest value of its type, both allowed."""

    least: Measure
    greatest: Measure

    def check(self, value: Measure) -> Measure:
        """Return the value, or raise naming both bounds."""
        if not self.least.amount <= value.amount <= self.greatest.amount:
            bounds = {"least": self.least, "greatest": self.greatest}
            raise PydanticCustomError("within", "must be from {least} to {greatest}", bounds)
        return value

    @property
    def rule(self) -> Rule:
        """The same for the API server."""
        at_least = type(self.least).at_least
        return Rule(
            f"{at_least('self', self.least)} && {at_least(self.greatest, 'self')}",
            f"must be from {self.least} to {self.greatest}",
        )

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return self.rule.__get_pydantic_json_schema__(schema, handler)
