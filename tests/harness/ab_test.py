"""`wizloop ab`: two sides measured in turn on boards that scatter, and on the model."""

import json
from types import SimpleNamespace

import pytest
from noisy_board import NoisyBoard
from wizloop import ab
from wizloop.ab import Plan, Side
from wizloop.compare import comparison, gate
from wizloop.compare.gate import BASE, NEW
from wizloop.compare.steps import Step
from wizloop.dut import controls, measure
from wizloop.dut.agent import NoAnswer
from wizloop.dut.measure import Taken
from wizloop.dut.recovery import BoardLost
from wizloop.errors import InfrastructureError, NothingMeasured, UsageError
from wizloop.results import reading
from wizloop.results.database import Database, location

MODEL_MBIT_S = 20.0


class Rack:
    """Stands with boards that say what this test wants, and what is done to them."""

    def __init__(self, monkeypatch):
        self.slower_pct = {}  # by board, path or firmware
        self.firmware = ""
        self.done = []
        self.count = lambda name: 1000  # of the peer
        self.lost = set()
        self.missing = ""
        self.fail = {}  # by number of the measurement
        self._noise = NoisyBoard(3, 120)
        self._taken = 0
        monkeypatch.setattr(measure, "take", self.take)
        monkeypatch.setattr(controls, "act", self.act)
        monkeypatch.setattr(ab.boards, "names", lambda: ["fast"])

    def lend(self, text):
        if text in self.lost:
            raise BoardLost(f"{text} is lost")
        virtual = text.startswith("model:")
        return SimpleNamespace(
            name=text,
            board="fast",
            virtual=virtual,
            paths=("byte", "dma"),
            suspect=False,
            why_not=lambda needs: self.missing,
            wait_for_link=lambda: None,
        )

    def leave(self, text):
        self.done.append(f"leave {text}")

    def give_back(self, text): ...

    def peer_of(self, device):
        return SimpleNamespace(close=lambda: None)

    def act(self, command, within_s):
        self.done.append(command)
        self.firmware = command

    def take(self, name, device, peer, path):
        if device.virtual:
            return Taken(MODEL_MBIT_S, 1, 1)
        self._taken += 1
        if self._taken in self.fail:
            raise self.fail[self._taken]
        slower = sum(self.slower_pct.get(of, 0) for of in (device.name, path, self.firmware))
        return Taken(36.0 / self._noise.seconds(2.0 * (1 + slower / 100)), 1000, self.count(name))


@pytest.fixture
def rack(monkeypatch):
    return Rack(monkeypatch)


@pytest.fixture
def database(memory):
    with Database(location(str(memory / "runs.db"))) as opened:
        yield opened


def compared(rack, database, a, b, noise_pct=2.0, **more):
    plan = Plan({BASE: a, NEW: b}, ("tcp_xmit",), **more)
    return ab.run(plan, database, rack, host_noise_pct=lambda: noise_pct)


def row_of(result):
    (row,) = result.comparison.rows
    return row


def test_a_slower_board_is_found_and_both_runs_are_stored(rack, database):
    rack.slower_pct["b2"] = 6
    result = compared(rack, database, Side("b1"), Side("b2"))
    row = row_of(result)
    assert (row.state, row.dut, row.path, row.pairs) == ("regressed", "b1 -> b2", "dma", 60)
    assert row.slower_low_pct < 6 < row.slower_high_pct and row.p_value < 0.01
    assert result.comparison.exit_code == 3
    first, second = reading.runs(database)
    assert (first.head.label, second.head.label) == ("ab A", "ab B")
    assert first.ended and second.ended
    samples = [figure.samples for figure in reading.figures(database, result.runs)]
    assert [len(of) for of in samples] == [60, 60]
    assert {stored.sample.host_noise_pct for of in samples for stored in of} == {2.0}


def test_a_board_beside_itself_passes(rack, database):
    assert compared(rack, database, Side("b1"), Side("b1")).comparison.exit_code == 0


def test_two_paths_of_a_board_are_two_sides(rack, database):
    rack.slower_pct["byte"] = 50
    row = row_of(compared(rack, database, Side("b1", "dma"), Side("b1", "byte"), rounds=20))
    assert (row.state, row.path, row.dut) == ("regressed", "dma -> byte", "b1")


def test_two_firmwares_take_turns_on_a_board_and_are_flashed_only_when_the_side_changes(rack, database):
    rack.slower_pct["flash new"] = 10
    result = compared(rack, database, Side("b1", flash="flash old"), Side("b1", flash="flash new"), rounds=20)
    assert row_of(result).state == "regressed"
    flashed = [what for what in rack.done if what.startswith("flash")]
    assert 20 < len(flashed) < 42
    assert all(before != after for before, after in zip(flashed, flashed[1:], strict=False))
    assert rack.done[::2] == ["leave b1"] * len(flashed)  # the command has the line for itself


def test_a_command_that_fails_is_infrastructure(rack, database, monkeypatch):
    def fails(command, within_s):
        raise InfrastructureError(f"'{command}' ended with 1")

    monkeypatch.setattr(controls, "act", fails)
    with pytest.raises(InfrastructureError, match="'flash' ended with 1"):
        compared(rack, database, Side("b1", flash="flash"), Side("b2"))


def test_counters_that_disagree_make_the_row_void(rack, database):
    rack.count = lambda name: 999
    result = compared(rack, database, Side("b1"), Side("b2"), rounds=20)
    assert (row_of(result).state, result.comparison.exit_code) == ("void", 4)
    assert "the firmware counts 1000, the peer 999" in row_of(result).why


def test_a_noisy_host_is_refused(rack, database):
    rack.slower_pct["b2"] = 10
    result = compared(rack, database, Side("b1"), Side("b2"), noise_pct=40.0)
    assert (row_of(result).state, result.comparison.exit_code) == ("noisy host", 5)


def test_too_few_rounds_confirm_nothing(rack, database):
    rack.slower_pct["b2"] = 20
    result = compared(rack, database, Side("b1"), Side("b2"), rounds=12)
    assert (row_of(result).state, result.comparison.exit_code) == ("unconfirmed", 4)


def test_an_effect_below_the_least_is_nobodys_concern(rack, database):
    rack.slower_pct["b2"] = 6
    limits = comparison.Limits(gate.Limits(effect_pct_min=15.0, resolution_pct_max=15.0))
    assert row_of(compared(rack, database, Side("b1"), Side("b2"), limits=limits)).state == "pass"


def test_an_intended_step_passes(rack, database):
    rack.slower_pct["flash new"] = 8
    step = Step("tcp_xmit", "*", "*", "b1", -12, -4, "", "it checks more")
    sides = Side("b1", flash="flash old"), Side("b1", flash="flash new")
    result = compared(rack, database, *sides, steps=[step])
    assert (row_of(result).state, result.comparison.exit_code) == ("intended", 0)


def test_what_the_board_could_not_give_once_is_void_and_the_rest_counts(rack, database):
    rack.fail = {7: NoAnswer("no answer in 5 s\nand more")}
    result = compared(rack, database, Side("b1"), Side("b1"))
    assert (row_of(result).state, row_of(result).pairs) == ("pass", 59)
    voids = [s.sample.void for figure in reading.figures(database, result.runs) for s in figure.samples]
    assert [void for void in voids if void] == ["no answer in 5 s"]


def test_a_lost_board_ends_it_and_what_was_measured_stays(rack, database):
    rack.fail = {9: NoAnswer("no answer")}
    rack.count = lambda name: rack.lost.add("b1") if rack._taken == 8 else 1000
    with pytest.raises(BoardLost):
        compared(rack, database, Side("b1"), Side("b1"))
    assert sum(len(figure.samples) for figure in reading.figures(database, [1, 2])) == 8


def test_who_interrupts_it_is_told_what_is_stored(rack, database):
    said = []
    rack.fail = {9: KeyboardInterrupt()}
    plan = Plan({BASE: Side("b1"), NEW: Side("b1")}, ("tcp_xmit",))
    with pytest.raises(KeyboardInterrupt):
        ab.run(plan, database, rack, host_noise_pct=lambda: 2.0, say=said.append)
    assert said == ["interrupted; runs 1 and 2 are stored as not ended"]


def test_the_models_own_figure_tells_code_from_rack(rack, database):
    rack.slower_pct["b2"] = 8
    row = row_of(compared(rack, database, Side("b1"), Side("b2")))
    assert (row.prediction.base, row.prediction.new, row.prediction.moved) == (20.0, 20.0, "rack")
    assert "rack" in compared(rack, database, Side("b1"), Side("b2")).comparison.sentence


def test_models_of_two_commits_are_those_of_two_runs(rack, database, tmp_path):
    rack.slower_pct["flash new"] = 8
    figure = {"id": "tcp_xmit", "board": "fast", "path": "dma", "unit": "Mbit/s"}
    for name, value in (("old", 20.0), ("new", 18.5)):
        (tmp_path / name).write_text(json.dumps({"figures": [{**figure, "simulated": value}]}))
    sides = [Side("b1", flash=f"flash {name}", model=str(tmp_path / name)) for name in ("old", "new")]
    row = row_of(compared(rack, database, *sides))
    assert (row.prediction.base, row.prediction.new, row.prediction.moved) == (20.0, 18.5, "code")


def test_a_board_that_cannot_be_measured_says_why(rack, database):
    with pytest.raises(NothingMeasured, match="b1 has no burst path, it has byte, dma"):
        compared(rack, database, Side("b1", "burst"), Side("b1"))
    rack.missing = "host: it is not said by which address it reaches this machine"
    with pytest.raises(NothingMeasured, match="b1 has no host"):
        compared(rack, database, Side("b1"), Side("b1"))
    assert reading.runs(database) == []


# --- the command, on the model


@pytest.fixture
def command(simulator, wizloop, memory):
    return lambda *words: wizloop("ab", *words, "--database", memory / "runs.db")


@pytest.mark.simulator
def test_on_the_model_one_look_is_exact(command, wizloop, memory, tmp_path):
    words = ["model:w55rp20", "--figure", "udp_rtt", "--path-a", "dma"]
    code, text, _ = command(*words, "--path-b", "byte", "--json", tmp_path / "ab.json")
    assert code == 3
    assert "recorded: runs 1 (A) and 2 (B)" in text
    (figure,) = json.loads((tmp_path / "ab.json").read_text())["figures"]
    assert (figure["state"], figure["path"], figure["clock"]) == ("worse", "dma -> byte", "virtual")
    assert command(*words)[0] == 0
    again = ["--across", "--database", memory / "runs.db"]
    code, repeated, _ = wizloop("compare", "1", "2", *again)
    assert code == 3
    assert repeated.splitlines()[-1] == text.splitlines()[-1]


@pytest.mark.simulator
def test_across_wants_one_figure_of_each_name(command, wizloop, memory):
    from wizloop.compare.sides import across, find

    command("model:w55rp20", "--figure", "udp_rtt")
    with Database(location(str(memory / "runs.db"))) as opened:
        side = find("run:1", lambda: opened)
        (figure,) = side.figures.values()
        side.figures["model:other", "udp_rtt", "dma", "us"] = figure
        with pytest.raises(UsageError, match="has udp_rtt twice, dma on model:w55rp20 and"):
            across(side)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["b1", "--path-a", "fast"], "unknown path 'fast'"),
        (["b1", "--figure", "tcp_xmi"], "did you mean tcp_xmit or"),
        (["b1", "--flash-b", "x"], "give --flash-a and --flash-b"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(wizloop, memory, words, said):
    code, _, err = wizloop("ab", *words, "--database", memory / "runs.db")
    assert code == 2
    assert said in err
    assert list(memory.iterdir()) == []
