"""Programs that tests need and a user's machine may lack."""

import os
from typing import Final, NoReturn

import pytest

IN_CI: Final = os.environ.get("CI") == "true"


def missing(reason: str) -> NoReturn:
    """Skip the test for what is not installed; fail it in CI, which has to have everything."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)
