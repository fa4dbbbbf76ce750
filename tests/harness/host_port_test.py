"""HOST:PORT, as every option and address takes it."""

import pytest

from wizloop.host_port import split_host_port


@pytest.mark.parametrize(
    "text, parts",
    [
        ("board:7000", ("board", 7000)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        (":65535", ("", 65535)),
        ("[::1]:7000", ("::1", 7000)),
    ],
)
def test_host_and_port_are_what_stands_around_the_last_colon(text, parts):
    assert split_host_port(text) == parts


@pytest.mark.parametrize("text", ["", "board", "board:", "board:65536", "board:-1", "board:٧", "::1:7000", "[]:7000", "a:b:1"])
def test_what_is_no_host_and_port_is_none(text):
    assert split_host_port(text) is None
