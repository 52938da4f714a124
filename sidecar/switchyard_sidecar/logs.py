"""Structured logs on stderr: one event name, fields; JSON for machines, colours for people.

Text that came from a backend or a client is untrusted: it only ever stands in a field's value, where control characters and
whatever else has no shape of its own are escaped, so that it neither begins a line nor tells a terminal anything. A traceback names places in our code and nothing that stood in variables
there: those hold headers with credentials, and what callers sent.
"""

import io
import logging
import sys
from typing import Literal, TextIO

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
        finish = [_escaped, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_traceback)]
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


def _escaped(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """The event with all texts in one line each. What holds texts is shown by its ``repr``, which escapes them."""
    return {key: _printable(value) if isinstance(value, str) else value for key, value in event.items()}


def _traceback(out: TextIO, raised: structlog.typing.ExcInfo) -> None:
    """The library's traceback, each line indented: what an exception says may have lines too, which must not look like ours."""
    text = io.StringIO()
    structlog.dev.plain_traceback(text, raised)
    out.write("\n".join(f"  {_printable(line)}" for line in text.getvalue().split("\n")))


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
