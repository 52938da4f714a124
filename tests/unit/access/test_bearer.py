"""Where a token may stand in a request, and where not."""

import pytest
from multidict import CIMultiDict

from switchyard_sidecar.access.bearer import MAX_TOKEN_BYTES, bearer_token
from switchyard_sidecar.access.refusals import Denied


@pytest.mark.parametrize(
    ("line", "token"),
    [
        ("Bearer abc.d-e_f~+/==", "abc.d-e_f~+/=="),
        ("bearer abc", "abc"),
        ("BEARER  abc ", "abc"),
        ("Bearer " + "a" * MAX_TOKEN_BYTES, "a" * MAX_TOKEN_BYTES),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic YTpi", None),
        ("abc", None),
        ("", None),
    ],
)
def test_token_is_what_follows_the_scheme(line: str, token: str | None) -> None:
    """Whatever the scheme's case; credentials of another kind are none."""
    assert bearer_token(CIMultiDict({"Authorization": line}), "") == token


@pytest.mark.parametrize(
    "line", ["Bearer a b", "Bearer a\x7f", "Bearer é", "Bearer \udcff", "Bearer " + "a" * (MAX_TOKEN_BYTES + 1)]
)
def test_what_can_be_no_token_is_an_invalid_one(line: str) -> None:
    """It is refused unread."""
    with pytest.raises(Denied) as caught:
        bearer_token(CIMultiDict({"Authorization": line}), "")
    assert (caught.value.error, caught.value.status) == ("invalid_token", 401)


def test_several_authorization_headers_are_refused() -> None:
    """Also where they are equal, or one is of another kind: which one counts must not depend on who reads them."""
    for other in ("Bearer a", "Basic YTpi"):
        with pytest.raises(Denied) as caught:
            bearer_token(CIMultiDict([("Authorization", "Bearer a"), ("authorization", other)]), "")
        assert (caught.value.error, caught.value.status) == ("invalid_request", 400)


@pytest.mark.parametrize(
    "query",
    [
        "access_token=abc",
        "a=b&access_token=",
        "access_token",
        "access%5Ftoken=abc",
        "ACCESS_TOKEN=abc",
        "a;access_token=b&access_token=c",
        "&".join(["a=b"] * 101),
    ],
)
def test_token_in_the_query_is_refused(query: str) -> None:
    """However it is written, and although there is a good one in its place too."""
    with pytest.raises(Denied) as caught:
        bearer_token(CIMultiDict({"Authorization": "Bearer a"}), query)
    assert (caught.value.error, caught.value.status) == ("invalid_request", 400)


@pytest.mark.parametrize("query", ["", "a=b", "token=abc", "my_access_token=abc", "a=access_token"])
def test_other_queries_are_nobodys_business(query: str) -> None:
    """The endpoint has no parameters, and minds none."""
    assert bearer_token(CIMultiDict({"Authorization": "Bearer a"}), query) == "a"
