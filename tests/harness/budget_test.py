import random

import pytest
from wizloop.budget import percentages

ACCOUNTS = ("spi_clock", "byte_gap", "select", "dma_setup", "cpu", "chip", "wire", "peer", "idle")


def test_thirds_add_up_because_the_first_gets_the_tenth_left_over():
    assert percentages({"a": 1, "b": 1, "c": 1}) == {"a": 33.4, "b": 33.3, "c": 33.3}


def test_the_largest_remainder_is_rounded_up():
    assert percentages({"a": 33_330, "b": 33_339, "c": 33_331}) == {"a": 33.3, "b": 33.4, "c": 33.3}


def test_an_empty_budget_has_no_shares():
    assert percentages({"a": 0, "b": 0}) == {"a": 0.0, "b": 0.0}


@pytest.mark.parametrize("seed", range(200))
def test_printed_shares_always_add_up_to_one_hundred(seed):
    draw = random.Random(seed)
    budget = {account: draw.randrange(10 ** draw.randrange(1, 16)) for account in ACCOUNTS}
    budget["idle"] += 1
    shares = percentages(budget)
    assert sum(round(10 * float(f"{share:.1f}")) for share in shares.values()) == 1000
    for account, share in shares.items():
        assert abs(share - 100 * budget[account] / sum(budget.values())) <= 0.1
