"""What may go into a request to a backend."""

import pytest
from pydantic import TypeAdapter, ValidationError

from switchyard_operator.api.http import (
    HeaderName,
    HeaderValue,
    HostHeader,
    HttpUrl,
    OriginPattern,
    bearer_token_fault,
    header_value_fault,
)


@pytest.mark.parametrize(
    "url",
    [
        "https://github-mcp.example/mcp",
        "http://127.0.0.1:9000/mcp",
        "http://[::1]:9000/mcp",
        "http://mcp.tools.svc",
        "HTTP://host/",
        "https://host.example/mcp?tenant=a%20b&x=1",
        "http://under_score:80/x",
    ],
)
def test_a_url_is_kept_verbatim(url: str) -> None:
    """Nothing is normalised: the sidecar uses it as it was written."""
    assert TypeAdapter(HttpUrl).validate_python(url) == url


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("github-mcp.example/mcp", "must be an absolute http or https URL"),
        ("/mcp", "must be an absolute http or https URL"),
        ("ftp://host/mcp", "must be an absolute http or https URL"),
        ("http:///mcp", "must be an absolute http or https URL"),
        ("http://-host/mcp", "must be an absolute http or https URL"),
        ("http://ho%73t/mcp", "must be an absolute http or https URL"),
        ("http://host:0/mcp", "must be an absolute http or https URL"),
        ("http://host:99999/mcp", "is not a well-formed URL"),
        ("http://[::1/mcp", "is not a well-formed URL"),
        ("http://[::1::2]/mcp", "is not a well-formed URL"),
        ("http://[1.2.3.4]/mcp", "is not a well-formed URL"),
        ("http://[::ffff:1.2.3.4]/mcp", "must not write an IPv4 address as IPv6"),
        ("http://host/100%", "must be a URL in ASCII; percent-encode"),
        ("http://user:pw@host/mcp", "must not contain a user name or password"),
        ("http://token@host/mcp", "must not contain a user name or password"),
        ("http://host/mcp#part", "must not have a fragment"),
        ("http://host/mcp#", "must not have a fragment"),
        ("http://host/a b", "must be a URL without blanks"),
        ("http://host/mcp\n", "must be a URL without blanks"),
        ("http://münchen.example/mcp", "must be a URL in ASCII"),
        ("http://host\\@evil/mcp", "must be a URL in ASCII"),
        ("http://host/" + "a" * 2048, "has 2060 characters; at most 2048 are allowed"),
    ],
)
def test_an_unusable_url_is_refused_with_the_reason(url: str, complaint: str) -> None:
    """Absolute, http or https, with a real host, no credentials, no fragment."""
    with pytest.raises(ValidationError, match=complaint):
        TypeAdapter(HttpUrl).validate_python(url)


@pytest.mark.parametrize("name", ["X-Team", "x-api-key", "User-Agent", "traceparent", "X_Y", "Origin"])
def test_ordinary_headers_can_be_set(name: str) -> None:
    """Whatever does not belong to the protocol, the message or the connection."""
    assert TypeAdapter(HeaderName).validate_python(name) == name


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("Authorization", "use spec.auth"),
        ("AUTHORIZATION", "use spec.auth"),
        ("Host", "use spec.hostHeader"),
        ("Cookie", "cookies belong to a session"),
        ("Connection", "belongs to one connection"),
        ("Transfer-Encoding", "belongs to one connection"),
        ("Proxy-Authorization", "belongs to one connection"),
        ("TE", "belongs to one connection"),
        ("Accept", "describes the message"),
        ("Content-Length", "describes the message"),
        ("Content-Type", "describes the message"),
        ("Mcp-Session-Id", r"Mcp-\* headers are made from each message"),
        ("MCP-Protocol-Version", r"Mcp-\* headers are made from each message"),
        ("mcp-param-x", r"Mcp-\* headers are made from each message"),
        ("X Team", "must be a header name"),
        ("X-Team:", "must be a header name"),
        ("", "must be a header name"),
        ("X-Téam", "must be a header name"),
    ],
)
def test_headers_of_the_protocol_cannot_be_set(name: str, complaint: str) -> None:
    """The message says what to use instead, or whose the header is."""
    with pytest.raises(ValidationError, match=complaint):
        TypeAdapter(HeaderName).validate_python(name)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\n", "a\x00b", "a\x7f", " a", "a ", "\ta", "é"])
def test_a_header_value_is_one_line_of_printable_ascii(value: str) -> None:
    """Neither a second header nor what two programs would read differently."""
    with pytest.raises(ValidationError, match="must be printable ASCII on one line"):
        TypeAdapter(HeaderValue).validate_python(value)
    assert TypeAdapter(HeaderValue).validate_python("a b\tc; d=1") == "a b\tc; d=1"
    assert TypeAdapter(HeaderValue).validate_python("") == ""


@pytest.mark.parametrize(
    ("content", "as_header", "as_token"),
    [
        (b"s3cret", None, None),
        (b"a b", None, "contains blanks"),
        (b"Bearer s3cret", None, "contains blanks"),
        (b"", "is empty", "is empty"),
        (b"s3cret\n", "ends in a line break", "ends in a line break"),
        (b"s3cret\r\n", "ends in a line break", "ends in a line break"),
        (b"two\nlines", "must be printable ASCII on one line", "must be printable ASCII on one line"),
        (b"nul\0", "must be printable ASCII on one line", "must be printable ASCII on one line"),
        (b"\xff\xfe", "must be printable ASCII on one line", "must be printable ASCII on one line"),
    ],
)
def test_bytes_of_a_secret_are_judged_without_being_quoted(
    content: bytes, as_header: str | None, as_token: str | None
) -> None:
    """The commonest fault, a line break at the end, has a message of its own; none shows the secret."""
    for fault, expected in ((header_value_fault(content), as_header), (bearer_token_fault(content), as_token)):
        assert (fault is None) == (expected is None)
        assert (fault or "").startswith(expected or "")
        assert "s3cret" not in (fault or "")


@pytest.mark.parametrize(
    ("host", "fits"),
    [
        ("a.example", True),
        ("a.example:80", True),
        ("[::1]:80", True),
        ("a b", False),
        ("a/b", False),
        ("", False),
        ("a:", False),
    ],
)
def test_a_host_header_is_a_host_and_perhaps_a_port(host: str, fits: bool) -> None:
    """Nothing that could end the header or name a path."""
    if fits:
        assert TypeAdapter(HostHeader).validate_python(host) == host
    else:
        with pytest.raises(ValidationError, match="must be a host name"):
            TypeAdapter(HostHeader).validate_python(host)


@pytest.mark.parametrize(
    ("origin", "fits"),
    [
        ("*", True),
        ("https://app.example", True),
        ("http://localhost:3000", True),
        ("https://app.example/", False),
        ("app.example", False),
        ("null", False),
    ],
)
def test_an_origin_has_a_scheme_and_no_path(origin: str, fits: bool) -> None:
    """As browsers send it, or `*`."""
    if fits:
        assert TypeAdapter(OriginPattern).validate_python(origin) == origin
    else:
        with pytest.raises(ValidationError, match=r"or an origin such as https://app\.example"):
            TypeAdapter(OriginPattern).validate_python(origin)
