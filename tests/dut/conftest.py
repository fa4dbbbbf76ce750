"""The bodies here know nothing of where they run: fixtures of wizloop.dut.plugin bring the board."""

from __future__ import annotations

import pytest
from wizloop.dut.device import Device


@pytest.fixture
def online(dut: Device) -> Device:
    """The board with its link up."""
    assert dut.wait_for_link()["up"] == "1"
    dut.agent.forget()
    return dut
