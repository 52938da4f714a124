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
