"""Structured logs on stderr: one event name, fields; JSON for machines, colours for people.

Text that came from a backend or a client is untrusted: it only ever stands in a field's value, where JSON and the console
renderer's ``repr`` escape control characters. A traceback names places in our code and nothing that stood in variables
there: those hold headers with credentials, and what callers sent.
"""

import logging
import sys
from typing import Literal

import structlog

LogFormat = Literal["json", "console"]


def configure(form: LogFormat, level: str = "info") -> None:
    """Set up logging for the process. ``level``: debug, info, warning or error."""
    numeric = logging.getLevelNamesMapping()[level.upper()]
    finish: list[structlog.typing.Processor]
    if form == "json":
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        finish = [structlog.processors.ExceptionRenderer(tracebacks), structlog.processors.JSONRenderer()]
    else:
        plain = structlog.dev.plain_traceback
        finish = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, *finish],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    # Libraries log through the standard module; only what they find wrong is of interest.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *finish],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
