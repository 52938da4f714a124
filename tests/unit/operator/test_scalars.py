"""Durations, quantities and bounded text."""

from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from switchyard_operator.api.scalars import Duration, Quantity, Text, Within


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s", 0),
        ("500ms", 500),
        ("5s", 5_000),
        ("10m", 600_000),
        ("1h30m", 5_400_000),
        ("1h1m1s1ms", 3_661_001),
        ("99999h", 359_996_400_000),
    ],
)
def test_a_duration_is_read_in_milliseconds(text: str, ms: int) -> None:
    """GEP-2257: up to four terms, each a number and a unit."""
    assert TypeAdapter(Duration).validate_python(text).ms == ms


@pytest.mark.parametrize(
    "wrong", ["", "5", "1.5s", "-1s", "1d", "1s 2s", "100000s", "1h1m1s1ms1h", "5S", 5, None, True, "5s\n"]
)
def test_what_is_no_duration_is_refused(wrong: object) -> None:
    """No bare numbers, no fractions, no signs, no other units."""
    with pytest.raises(ValidationError, match="must be a duration such as 500ms, 30s, 10m or 1h30m"):
        TypeAdapter(Duration).validate_python(wrong)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (0, 0),
        (1048576, 1048576),
        ("1024", 1024),
        ("1k", 1000),
        ("64Mi", 67108864),
        ("1.5G", 1_500_000_000),
        ("0.5Ki", 512),
        ("1.0001Ki", 1025),
    ],
)
def test_a_quantity_is_read_in_bytes(value: object, size: int) -> None:
    """A number or a string, decimal and binary suffixes, rounded up."""
    assert TypeAdapter(Quantity).validate_python(value).bytes == size


@pytest.mark.parametrize("wrong", [-1, 1.5, True, None, "", "64m", "64MB", "1e3", "Mi", " 1", "１"])
def test_what_is_no_quantity_is_refused(wrong: object) -> None:
    """Thousandths of a byte are a slip for M, and a fraction of a byte is nothing."""
    with pytest.raises(ValidationError, match="must be a number of bytes such as 1048576, 512Ki or 64Mi"):
        TypeAdapter(Quantity).validate_python(wrong)


def test_measures_are_written_back_as_they_were_read() -> None:
    """What a user wrote survives a round trip."""
    assert TypeAdapter(Duration).dump_python(Duration("90s")) == "90s"
    assert TypeAdapter(Quantity).dump_python(Quantity("64Mi")) == "64Mi"


@pytest.mark.parametrize(
    ("text", "fits"), [("999ms", False), ("1s", True), ("60s", True), ("1m", True), ("60001ms", False)]
)
def test_bounds_are_compared_by_amount(text: str, fits: bool) -> None:
    """Both bounds are allowed, in whatever unit they are written."""
    adapter = TypeAdapter[Duration](Annotated[Duration, Within(Duration("1s"), Duration("1m"))])
    if fits:
        assert adapter.validate_python(text) == text
    else:
        with pytest.raises(ValidationError, match="must be from 1s to 1m"):
            adapter.validate_python(text)


def test_text_is_bounded_and_matched_as_a_whole() -> None:
    """A pattern that fits a part of the text is not enough, and length is judged first."""
    adapter = TypeAdapter[str](Annotated[str, Text("[a-z]+", 3, "small letters")])
    assert adapter.validate_python("abc") == "abc"
    with pytest.raises(ValidationError, match="must be small letters"):
        adapter.validate_python("ab\n")
    with pytest.raises(ValidationError, match="has 4 characters; at most 3 are allowed"):
        adapter.validate_python("abcd")
