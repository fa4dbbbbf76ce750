"""The gate on itself: how often it cries wolf, and what it misses, on a board that scatters as those of a rack do."""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np
import pytest
from noisy_board import NoisyBoard
from wizloop.compare import gate
from wizloop.compare.gate import BASE, NEW, Limits, State, judge, pairs
from wizloop.compare.interleave import ROUNDS, order

ALARMS = (State.REGRESSED, State.IMPROVED)
TRANSFER_S = 2.0
COMPARISONS = 200
ALARMS_MAX = 2


def session(seed: int, slower_pct: float, sides: list[str]) -> list[tuple[str, float]]:
    """Samples of one board in the given order of sides, the new one slower."""
    board = NoisyBoard(seed, len(sides))
    takes = {BASE: TRANSFER_S, NEW: TRANSFER_S * (1 + slower_pct / 100)}
    return [(side, board.seconds(takes[side])) for side in sides]


FEWEST = Limits().confirm_pairs_min  # the fewest pairs that the gate alarms on


@functools.cache
def in_turn(seed: int, slower_pct: float, rounds: int = ROUNDS) -> list[tuple[float, float]]:
    return pairs(session(seed, slower_pct, list(order(rounds, seed))))


def one_after_the_other(seed: int) -> list[tuple[float, float]]:
    """What a night and the next give: all of one side, then all of the other."""
    samples = [seconds for _, seconds in session(seed, 0.0, [BASE] * ROUNDS + [NEW] * ROUNDS)]
    return list(zip(samples[:ROUNDS], samples[ROUNDS:], strict=True))


def alarms(verdicts) -> int:
    """How many of them are alarms; stops to count when it is enough."""
    count = 0
    for verdict in verdicts:
        count += verdict.state in ALARMS
        if count > ALARMS_MAX:
            break
    return count


@pytest.mark.parametrize(("rounds", "passed_min"), [(ROUNDS, 0.98), (FEWEST, 0.8)])
def test_of_200_comparisons_of_a_board_with_itself_at_most_two_alarm(rounds, passed_min):
    verdicts = [judge(in_turn(seed, 0.0, rounds), lower_is_better=True) for seed in range(COMPARISONS)]
    states = Counter(verdict.state for verdict in verdicts)
    assert sum(states[alarm] for alarm in ALARMS) <= ALARMS_MAX
    assert states[State.PASS] >= passed_min * COMPARISONS  # the others were too noisy for a verdict


@pytest.mark.parametrize(("slower_pct", "found_of_100"), [(3.0, 90), (5.0, 99), (10.0, 100)])
def test_injected_slowdowns_are_found(slower_pct, found_of_100):
    verdicts = [judge(in_turn(1000 + seed, slower_pct), lower_is_better=True) for seed in range(100)]
    assert sum(verdict.state is State.REGRESSED for verdict in verdicts) >= found_of_100
    error = [abs(verdict.slower_pct - slower_pct) for verdict in verdicts]
    assert np.median(error) < 0.5
    covered = sum(verdict.low_pct <= slower_pct <= verdict.high_pct for verdict in verdicts)
    assert covered >= 95


def blind_interval(monkeypatch):
    monkeypatch.setattr(gate, "_resampled_medians", lambda values: np.full(100, np.median(values)))


def blind_test(monkeypatch):
    monkeypatch.setattr(gate.stats, "mannwhitneyu", lambda a, b: type("Always", (), {"pvalue": 0.0}))


def test_the_comparison_with_itself_convicts_a_gate_with_a_broken_statistic(monkeypatch):
    blind_interval(monkeypatch)
    blind_test(monkeypatch)
    assert alarms(judge(in_turn(seed, 0.0, FEWEST), True) for seed in range(COMPARISONS)) > ALARMS_MAX


def test_the_comparison_with_itself_convicts_lax_limits():
    lax = Limits(effect_pct_min=0.0, alpha=0.3, confirm_alpha=0.5)
    assert alarms(judge(in_turn(seed, 0.0), True, lax) for seed in range(COMPARISONS)) > ALARMS_MAX


def test_the_comparison_with_itself_convicts_sides_that_were_not_measured_in_turn():
    assert alarms(judge(one_after_the_other(seed), True) for seed in range(COMPARISONS)) > ALARMS_MAX


def test_injected_slowdowns_convict_a_gate_that_is_hard_of_hearing():
    deaf = Limits(alpha=1e-9)
    found = sum(judge(in_turn(1000 + seed, 3.0), True, deaf).state is State.REGRESSED for seed in range(100))
    assert found < 90


# --- what each part is for


def steady(change_pct: float, count: int = 60, scatter_pct: float = 0.2, seed: int = 1) -> list[tuple[float, float]]:
    random = np.random.default_rng(seed)
    noise = np.exp(random.normal(scale=scatter_pct / 100, size=(count, 2)))
    return [(float(a), float(b * (1 + change_pct / 100))) for a, b in noise]


def test_time_and_rate_are_slower_in_opposite_directions():
    assert judge(steady(5), lower_is_better=True).state is State.REGRESSED
    assert judge(steady(5), lower_is_better=False).state is State.IMPROVED
    assert judge(steady(-5), lower_is_better=True).state is State.IMPROVED
    rate = judge(steady(-5), lower_is_better=False)
    assert rate.state is State.REGRESSED
    assert rate.slower_pct == pytest.approx(100 * (1 / 0.95 - 1), abs=0.1)
    assert rate.low_pct < rate.slower_pct < rate.high_pct


def test_a_certain_move_below_the_least_effect_is_nobodys_concern():
    verdict = judge(steady(0.5), True)
    assert verdict.state is State.PASS
    assert verdict.low_pct > 0 and verdict.p_value < 1e-6
    assert judge(steady(0.5), True, Limits(effect_pct_min=0.3)).state is State.REGRESSED


def test_a_move_that_the_second_half_does_not_show_is_no_alarm():
    verdict = judge(steady(4, 40) + steady(0, 20), True)
    assert verdict.slower_pct > 2 and verdict.p_value < 0.01
    assert verdict.state is State.PASS
    assert judge(steady(0, 20) + steady(4, 40), True).state is State.REGRESSED


def test_a_move_in_opposite_directions_is_no_alarm():
    assert judge(steady(6, 45, seed=2)[:31] + steady(-6, 45, seed=3)[:29], True).state not in ALARMS


def test_few_pairs_raise_a_suspicion_and_fewer_nothing():
    assert judge(steady(10, 9), True).state is State.TOO_FEW
    assert judge(steady(10, 12), True).state is State.UNCONFIRMED
    assert judge(steady(10, 20), True).state is State.REGRESSED
    assert judge(steady(0, 12), True).state is State.PASS


def test_scatter_that_could_hide_a_slowdown_gives_no_verdict():
    assert judge(steady(0, scatter_pct=20), True).state is State.UNCLEAR
    assert judge(steady(0, scatter_pct=20), True, Limits(resolution_pct_max=50)).state is State.PASS


def test_a_drift_that_both_sides_share_is_no_alarm_and_hides_no_slowdown():
    def drifting(change_pct):
        warm = 1 + 0.3 * np.sin(np.arange(60) / 10)
        return [(a * w, b * w) for (a, b), w in zip(steady(change_pct, scatter_pct=0.5), warm, strict=True)]

    assert judge(drifting(0), True).state is State.PASS
    assert judge(drifting(2), True).state is State.REGRESSED


def test_equal_values_pass():
    verdict = judge([(2.0, 2.0)] * 30, True)
    assert (verdict.state, verdict.slower_pct, verdict.low_pct, verdict.high_pct) == (State.PASS, 0.0, 0.0, 0.0)


def test_a_verdict_can_be_repeated():
    assert judge(in_turn(7, 3.0), True) == judge(in_turn(7, 3.0), True)


def test_neighbours_of_different_sides_are_pairs_whoever_comes_first():
    a, b = BASE, NEW
    assert pairs([(a, 1.0), (b, 2.0), (b, 3.0), (a, 4.0)]) == [(1.0, 2.0), (4.0, 3.0)]
    assert pairs([(a, 1.0), (a, 2.0), (b, 3.0), (b, 4.0), (a, 5.0)]) == [(2.0, 3.0), (5.0, 4.0)]  # some were void
    assert pairs([(a, 1.0)] * 9 + [(b, 2.0)] * 9) == [(1.0, 2.0)]
    assert pairs([]) == []


def test_sides_take_turns_and_neither_always_goes_first():
    sides = list(order(200, seed=3))
    assert all({sides[i], sides[i + 1]} == {BASE, NEW} for i in range(0, 400, 2))
    assert 70 < sum(side == BASE for side in sides[::2]) < 130
    assert sides == list(order(200, seed=3)) != list(order(200, seed=4))
