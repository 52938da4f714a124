"""From pydantic's errors to sentences for people who write YAML."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from switchyard_operator.api.fields import FieldPath
from switchyard_operator.api.model import RULE_ERROR

_SHOWN_CHARACTERS: Final = 60
_KEY_STEP: Final = "[key]"
"""What pydantic adds to the path of a mapping's entry when its key is wrong."""


class Explained(NamedTuple):
    """One thing that is wrong with an object."""

    field: FieldPath
    message: str
    value: str
    """What stands there, quoted and shortened; empty where it would not help or not be safe."""


def explain(model: type[BaseModel], error: ValidationError) -> Iterator[Explained]:
    """All that is wrong, in the order of fields."""
    for detail in error.errors(include_url=False):
        path: FieldPath = detail["loc"]
        if path[-1:] == (_KEY_STEP,):
            path = path[:-1]
        if detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]:
            continue  # pydantic counts valid entries alone; the others have been told of
        if detail["type"] == RULE_ERROR:
            for below, message in detail["ctx"]["breaches"]:
                yield Explained((*path, *below), message, "")
        elif detail["type"] == "extra_forbidden":
            yield Explained(path, _unknown_field(model, path), "")
        else:
            yield Explained(path, _sentence(detail), _shown(detail))


def _sentence(detail: ErrorDetails) -> str:
    value, context = detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "missing":
            return "is required"
        case "string_type":
            return "must be a string" + _why_no_string(value)
        case "literal_error":
            return _not_one_of(value, re.findall(r"'([^']*)'", context["expected"]))
        case "int_type" | "int_from_float" | "int_parsing":
            return "must be a whole number, without quotes" if isinstance(value, str) else "must be a whole number"
        case "bool_type":
            return "must be true or false, without quotes" if isinstance(value, str) else "must be true or false"
        case "model_type" | "model_attributes_type" | "mapping_type" | "dict_type":
            return f"must be a mapping of fields, not {_kind(value)}"
        case "tuple_type":
            return f"must be a list, not {_kind(value)}; write each entry on a line that begins with '-'"
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "too_short":
            return f"must have at least {context['min_length']} {_entries(context['min_length'])}; leave it out for the default"
        case "too_long":
            return f"has {context['actual_length']} entries; at most {context['max_length']} are allowed"
        case "datetime_from_date_parsing" | "datetime_parsing" | "datetime_type" | "timezone_aware":
            return "must be a time with its zone, such as 2026-07-28T12:00:00Z"
    return detail["msg"]


def _why_no_string(value: object) -> str:
    if isinstance(value, bool):
        return "; YAML 1.1 reads yes, no, on, off, true and false without quotes as a boolean: put the word in quotes"
    if isinstance(value, int | float):
        return "; YAML reads it as a number: put it in quotes"
    return f", not {_kind(value)}"


def _not_one_of(value: object, allowed: list[str]) -> str:
    choices = " or ".join(filter(None, (", ".join(allowed[:-1]), allowed[-1])))
    message = f"must be {choices}" if len(allowed) == 1 else f"must be one of {choices}"
    if isinstance(value, bool):
        return message + "; YAML 1.1 reads yes, no, on, off, true and false without quotes as a boolean"
    near = nearest(value, allowed) if isinstance(value, str) else None
    return f"{message}; did you mean {near}?" if near else message


def _unknown_field(model: type[BaseModel], path: FieldPath) -> str:
    known = _fields_at(model, path[:-1])
    near = nearest(str(path[-1]), known)
    if near:
        return f"there is no such field; did you mean {near}?"
    return f"there is no such field; possible here: {', '.join(sorted(known))}"


def nearest(word: str, known: list[str]) -> str | None:
    """The known word that was probably meant, if any; case does not count."""
    by_lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def _fields_at(model: type[BaseModel], path: FieldPath) -> list[str]:
    """The names of the fields that the model at ``path`` has, as written in YAML."""
    for step in path:
        if isinstance(step, str):
            fields: Mapping[str, Any] = {
                info.alias or name: info.annotation for name, info in model.model_fields.items()
            }
            model = _model_in(fields[step]) or model
    return [info.alias or name for name, info in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _shown(detail: ErrorDetails) -> str:
    value = detail["input"]
    if detail["type"] == "missing" or isinstance(value, dict | list) or _may_be_secret(detail["loc"], value):
        return ""
    text = value if isinstance(value, str) else _as_yaml(value)
    text = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
    return f'"{text}"' if isinstance(value, str) else text


def _may_be_secret(path: FieldPath, value: object) -> bool:
    """Whether the value was perhaps meant as a credential: a header's, a token, a URL with a password."""
    return not {"headers", "auth"}.isdisjoint(path) or (isinstance(value, str) and "@" in value)


def _as_yaml(value: object) -> str:
    return {True: "true", False: "false", None: "null"}[value] if isinstance(value, bool | None) else str(value)


def _entries(count: int) -> str:
    return "entry" if count == 1 else "entries"


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
    return "a string"
