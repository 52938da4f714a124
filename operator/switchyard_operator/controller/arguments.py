"""What is read from command lines: each function takes a word, and says in one what is wrong with it."""

from argparse import ArgumentTypeError


def address(text: str) -> tuple[str, int]:
    """``HOST:PORT``."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ArgumentTypeError(f"{text!r} is no HOST:PORT, such as 0.0.0.0:8080 or [::]:8080")
    return host, int(port)


def count(text: str) -> int:
    """How many, at least one."""
    value = int(text)  # argparse turns the ValueError into words
    if value < 1:
        raise ArgumentTypeError(f"{text!r} is less than 1")
    return value


def seconds(text: str) -> float:
    """A length of time that is one."""
    value = duration(text)
    if value == 0:
        raise ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def duration(text: str) -> float:
    """A number of seconds, perhaps none."""
    return _number(text, "seconds")


def rate(text: str) -> float:
    """So many in a second, perhaps none."""
    return _number(text, "pods per second")


def _number(text: str, unit: str) -> float:
    value = float(text)  # argparse turns the ValueError into words
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no number of {unit}")
    return value
