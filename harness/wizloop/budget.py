"""Percentages of a time budget that, as printed, add up to exactly 100.0."""

from __future__ import annotations

# The accounts as a column heading has room for them.
SHORT_NAMES = {
    "spi_clock": "clock",
    "byte_gap": "gap",
    "select": "select",
    "dma_setup": "dma",
    "cpu": "cpu",
    "chip": "chip",
    "wire": "wire",
    "peer": "peer",
    "idle": "idle",
}

# What each account is, in a few words (sim/core/account.hpp).
MEANINGS = {
    "spi_clock": "SCLK running",
    "byte_gap": "pauses between SPI bytes",
    "select": "SCSn edges and the transaction around each frame",
    "dma_setup": "set-up of bursts and DMA, completion of DMA",
    "cpu": "firmware outside transfers",
    "chip": "waiting for the W5500",
    "wire": "waiting for a frame on the cable",
    "peer": "waiting for the remote host",
    "idle": "firmware sleeps of its own accord",
}


def percentages(budget_ps: dict[str, int]) -> dict[str, float]:
    """One decimal each, rounded by largest remainder; equal remainders favour the earlier account.

    An empty budget has no shares: all 0.
    """
    total = sum(budget_ps.values())
    if total == 0:
        return dict.fromkeys(budget_ps, 0.0)
    tenths = {account: 1000 * share // total for account, share in budget_ps.items()}
    by_remainder = sorted(budget_ps, key=lambda account: -(1000 * budget_ps[account] % total))
    for account in by_remainder[: 1000 - sum(tenths.values())]:
        tenths[account] += 1
    return {account: count / 10 for account, count in tenths.items()}
