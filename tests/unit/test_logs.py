"""What is written about failures."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from switchyard_sidecar import logs
from switchyard_sidecar.logs import LogFormat


@pytest.fixture(autouse=True)
def _configured_as_before() -> Iterator[None]:
    """Logging belongs to the whole process."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:], logging.root.level = handlers, level


@pytest.mark.parametrize("form", ["json", "console"])
def test_traceback_shows_no_variables(form: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a call fails, a credential stands in a variable."""
    logs.configure(form)
    authorization = "Bearer s3cret"
    try:
        int("no number" + authorization[:0])
    except ValueError:
        structlog.get_logger().exception("call_failed", backend="tools/a")
        logging.getLogger("library").exception("library_failed")
    written = capsys.readouterr().err
    assert written.count("ValueError") >= 2
    assert "test_logs.py" in written
    assert "s3cret" not in written


HOSTILE = "\x1b[2Jred\x07\r\n2026-01-01 [error] forged\u202eesrever\x00"


@pytest.mark.parametrize("form", ["json", "console"])
def test_text_of_strangers_begins_no_line_and_moves_no_terminal(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone, in a list, in a library's message, and in what an exception says."""
    logs.configure(form)
    structlog.get_logger().warning("names_look_alike", tool=HOSTILE, short="\x1b[2J", names=[HOSTILE])
    logging.getLogger("library").error("bad request: %s", HOSTILE)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    try:
        _fail(HOSTILE)
    except ValueError:
        structlog.get_logger().exception("call_failed")
        logging.getLogger("library").exception("library_failed")
    lines += capsys.readouterr().err.splitlines()
    assert all(line.isprintable() for line in lines), lines
    assert not [line for line in lines if line.startswith("2026-01-01")]
    assert sum("forged" in line for line in lines) >= 3


def _fail(text: str) -> None:
    raise ValueError(text)
