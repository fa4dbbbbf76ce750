import json
import shlex
import signal
import sys

import pytest
from wizloop import workers
from wizloop.errors import InfrastructureError
from wizloop.simulator import Request


def test_shows_figures_budget_findings_and_fingerprint(fake, wizloop):
    code, text, _ = wizloop("run", "tcp_recv", "--board", "fast", "--path", "burst", "--seed", "7")
    assert code == 0
    assert "tcp_recv on fast, burst path, ethernet2, seed 7" in text
    assert "Mbit/s" in text
    assert "spi_clock                 0.190 us" in text
    assert "    announced  the source ran it so (by the board file)" in text.splitlines()
    assert text.splitlines()[-1].startswith("fingerprint 0")


def test_an_unannounced_finding_shows_its_cure(fake, wizloop):
    (fake / "slow.toml").write_text((fake / "slow.toml").read_text().replace("12_571_429", "40_000_000"))
    _, text, _ = wizloop("run", "udp_pps", "--board", "slow")
    assert "    cure       slow down" in text.splitlines()


def test_a_finding_is_accepted_with_a_reason_on_the_command_line(fake, wizloop):
    (fake / "slow.toml").write_text((fake / "slow.toml").read_text().replace("12_571_429", "40_000_000"))
    code, text, _ = wizloop("run", "udp_pps", "--board", "slow", "--set", "finding.sclk-above-rating=tried here")
    assert code == 0
    assert "    announced  tried here (by --set)" in text.splitlines()
    code, _, error = wizloop("run", "udp_pps", "--board", "slow", "--set", "finding.sclk-over-rating=tried here")
    assert code == 2
    assert "did you mean finding.sclk-above-rating?" in error


def test_a_suppressed_finding_is_left_out_and_counted(fake, wizloop, tmp_path):
    (fake / "slow.toml").write_text((fake / "slow.toml").read_text().replace("12_571_429", "40_000_000"))
    out = tmp_path / "run.json"
    set_ = "suppress.sclk-above-rating=tried here"
    code, text, _ = wizloop("run", "udp_pps", "--board", "slow", "--set", set_, "--json", out)
    assert code == 0
    assert "findings: none; sclk-above-rating suppressed, 3 times" in text.splitlines()
    assert "  warning sclk-above-rating" not in text
    (finding,) = json.loads(out.read_text())["findings"]
    assert (finding["announced"], finding["announced_by"], finding["suppressed"]) == ("tried here", "command", True)


def test_a_finding_shows_all_that_finds_the_line_of_code_and_what_fails_comes_first(fake, wizloop, tmp_path):
    out = tmp_path / "run.json"
    _, text, _ = wizloop("run", "tcp_recv", "--board", "fast", "--set", "fail=stale", "--json", out)
    lines = text.splitlines()
    first = lines.index("findings: 1 error, 1 warning, 1 note")
    assert lines[first + 1 : first + 12] == [
        "  error write-beyond-free (W5500 datasheet 4.2)",
        "    rule       TX_WR went too far",
        "    seen       S0 Sn_TX_WR advanced by 40000; once, at 0.002000000 s",
        "    SPI bytes  00 01 0c 20",
        "    state      SOCK_ESTABLISHED",
        "    cause      TX_WR was kept from before CONNECT",
        "    cure       read Sn_TX_WR anew",
        "  warning sclk-above-rating (W5500 datasheet 6.3)",
        "    rule       SCLK is faster than rated",
        "    seen       SCLK 42000000 Hz, rated 33300000 Hz; 3 times, first at 0.000001500 s",
        "    announced  the source ran it so (by the board file)",
    ]
    assert lines[first + 12] == "  note not-modelled"
    found = {finding["rule"]: finding for finding in json.loads(out.read_text())["findings"]}
    assert found["write-beyond-free"]["spi"] == "00 01 0c 20"
    assert found["write-beyond-free"]["announced"] is None
    assert found["not-modelled"]["announced"] is None


def test_kinds_of_one_rule_come_together_and_the_first_three_are_shown(fake, wizloop):
    _, text, _ = wizloop("run", "tcp_recv", "--board", "fast", "--set", "fail=often")
    lines = text.splitlines()
    assert "findings: 1 error, 1 warning" in lines
    assert [line for line in lines if line.startswith("    seen       S")] == [
        "    seen       S0 Sn_TX_WR advanced by 1; once, at 0.002000000 s",
        "    seen       S0 Sn_TX_WR advanced by 2; once, at 0.002000000 s",
        "    seen       S0 Sn_TX_WR advanced by 3; once, at 0.002000000 s",
        "    seen       SCLK 42000000 Hz, rated 33300000 Hz; 3 times, first at 0.000001500 s",
    ]
    assert "               and 2 more kinds, all in --json" in lines
    assert text.count("cure  ") == 1


def test_json_has_the_fields_of_the_design_and_budget_adds_up(fake, wizloop, tmp_path):
    out = tmp_path / "run.json"
    wizloop("run", "tcp_recv", "--board", "fast", "--json", out, "--set", "read_bytes=100")
    document = json.loads(out.read_text())
    fields = "scenario board path seed parameters figures budget_ns findings fingerprint virtual_s wall_s".split()
    assert set(fields) <= set(document)
    assert document["parameters"]["read_bytes"] == "100"
    assert sum(round(1000 * ns) for ns in document["budget_ns"].values()) == round(1000 * document["measured_ns"])
    assert document["findings"][0]["announced"] == "the source ran it so"


def test_the_last_line_of_a_failure_is_the_command_that_repeats_it(fake, wizloop, tmp_path):
    board = tmp_path / "it's mine.toml"
    board.write_text((fake / "fast.toml").read_text())
    pcap = tmp_path / "a b.pcapng"
    arguments = ["run", "tcp_recv", "--board", board, "--path", "burst", "--library", "wizloop", "--seed", "5"]
    arguments += ["--set", "fail=void", "--set", "read_bytes=a 'b'", "--pcap", pcap]
    code, text, _ = wizloop(*arguments)
    assert code == 1
    *_, reason, last = text.splitlines()
    assert reason == "failed: the receiver counts 3 bytes fewer"
    program, *words = shlex.split(last)
    assert program == "/somewhere/bin/wizloop"
    assert words == [str(word) for word in arguments]
    again, text_again, _ = wizloop(*words)
    assert (again, text_again) == (code, text)


def test_the_repeat_command_is_short_where_the_shell_finds_the_program(fake, wizloop, monkeypatch, tmp_path):
    program = tmp_path / "wizloop"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(program)])
    _, text, _ = wizloop("run", "tcp_recv", "--board", "fast", "--set", "fail=void")
    assert text.splitlines()[-1] == "wizloop run tcp_recv --board fast --path byte --seed 1 --set fail=void"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["tcp_rec", "--board", "fast"], 2, "unknown scenario 'tcp_rec' (did you mean tcp_recv?)"),
        (["tcp_recv", "--board", "fats"], 4, "did you mean fast?"),
        (["tcp_recv", "--board", "no/such.toml"], 2, "no board file no/such.toml"),
        (["tcp_recv", "--board", "fast", "--path", "brst"], 2, "did you mean burst?"),
        (["tcp_recv", "--board", "slow", "--path", "dma"], 2, "slow.toml gives no dma_gap_ns; it has byte"),
        (["tcp_recv", "--board", "fast", "--set", "read_byte=1"], 2, "did you mean read_bytes?"),
        (["tcp_recv", "--board", "fast", "--set", "read_bytes"], 2, "--set wants KEY=VALUE, got 'read_bytes'"),
        (["tcp_recv", "--board", "fast", "--set", "=5"], 2, "--set wants KEY=VALUE"),
        (["tcp_recv", "--board", "fast", "--set", "fail=1", "--set", "fail=2"], 2, "fail twice"),
        (["tcp_recv", "--board", "fast", "--set", "read_bytes=1\udcff"], 2, "'1\\udcff' is not text"),
        (["tcp_recv", "--board", "fast", "--set", "board.\udcff=1"], 2, "'board.\\udcff' is not text"),
        (["tcp_recv", "--board", "fast", "--set", "read_bytes=1\n"], 2, "'1\\n' is not text"),
        (["tcp_recv", "--board", "fast", "--library", "\udcff"], 2, "'\\udcff' is not text"),
        (["tcp_recv", "--board", ""], 2, "the board's name is empty, expected one of fast, slow"),
        (["tcp_recv"], 2, "--board"),
        (["tcp_recv", "--board", "fast", "--seed", "-1"], 2, "seed"),
    ],
)
def test_mistakes_are_named(fake, wizloop, arguments, exit_code, said):
    code, out, err = wizloop("run", *arguments)
    assert code == exit_code
    assert said in err
    assert out == ""


def test_a_simulator_that_dies_is_an_infrastructure_error_with_the_command(fake, wizloop):
    code, _, err = wizloop("run", "tcp_recv", "--board", "fast", "--set", "fail=die")
    assert code == 5
    assert "SIGKILL" in err
    assert "run tcp_recv --board fast --path byte --seed 1 --set fail=die" in err


def test_a_simulator_that_hangs_is_ended_after_the_deadline(fake, monkeypatch):
    monkeypatch.setattr(sys.modules["wizloop._sim"], "run", lambda **_: signal.pause())
    with pytest.raises(InfrastructureError, match=r"no result within 0\.05 s of: .* run tcp_recv"):
        workers.run_all([Request("tcp_recv", fake / "fast.toml")], deadline_s=0.05)


def test_a_missing_module_says_what_builds_it(wizloop, monkeypatch):
    monkeypatch.setitem(sys.modules, "wizloop._sim", None)
    code, _, err = wizloop("bench")
    assert code == 5
    assert "ci/setup builds it" in err


def test_the_assumptions_that_the_figures_touched_are_named_with_their_trust(fake, wizloop, tmp_path):
    out = tmp_path / "run.json"
    arguments = ["--board", "slow", "--set", "chip.quirk.tx_wr_readback=plain", "--json", out]
    code, text, _ = wizloop("run", "udp_pps", *arguments)
    assert code == 0
    lines = text.splitlines()
    first = lines.index("assumptions: 1 observed, 3 unverified")
    assert lines[first + 1].split() == ["chip.quirk.tx_wr_readback=plain", "observed"]
    assert lines[first + 2].split() == ["chip.quirk.write_miso=zero", "unverified"]
    assert json.loads(out.read_text())["assumptions"][1] == {
        "name": "chip.quirk.tx_wr_readback",
        "choice": "plain",
        "trust": "observed",
    }


def test_latencies_share_a_line_but_for_those_that_the_run_was_given(fake, wizloop):
    _, text, _ = wizloop("run", "udp_pps", "--board", "slow")
    shared = "  chip.latency.*_ns, unverified: segment_to_ack=5000, event_to_intn=26.667"
    assert shared in text.splitlines()
    _, text, _ = wizloop("run", "udp_pps", "--board", "slow", "--set", "chip.latency.segment_to_ack_ns=7")
    lines = text.splitlines()
    alone = next(line for line in lines if line.startswith("  chip.latency.segment_to_ack_ns"))
    assert alone.split() == ["chip.latency.segment_to_ack_ns=7", "unverified"]
    assert lines[lines.index(alone) + 1] == "  chip.latency.*_ns, unverified: event_to_intn=26.667"


def test_chip_options_are_checked_by_name(fake, wizloop):
    code, _, err = wizloop("run", "udp_pps", "--board", "slow", "--set", "chip.quirk.write_mis=echo")
    assert code == 2
    assert "did you mean chip.quirk.write_miso?" in err
    code, _, _ = wizloop("run", "udp_pps", "--board", "slow", "--set", "chip.preset=strict")
    assert code == 0


def test_faults_say_how_often_they_struck(fake, wizloop, tmp_path):
    out = tmp_path / "run.json"
    arguments = ["--set", "fault.spi_flip=nth=3", "--set", "fault.link_unplug=from=9s", "--json", out]
    code, text, _ = wizloop("run", "udp_pps", "--board", "slow", *arguments)
    assert code == 0
    assert "  spi_flip nth=3: struck 1 time" in text.splitlines()
    assert "  link_unplug from=9s: never struck, so this run says nothing about it" in text.splitlines()
    assert json.loads(out.read_text())["faults"][0] == {"name": "spi_flip", "struck": 1}


def test_an_unknown_fault_brings_the_nearest(fake, wizloop):
    code, _, err = wizloop("run", "udp_pps", "--board", "slow", "--set", "fault.spi_flp=nth=3")
    assert code == 2
    assert "did you mean fault.spi_flip?" in err


def test_the_help_says_what_becomes_of_files_when_a_run_is_interrupted(wizloop):
    code, out, err = wizloop("run", "--help")
    assert (code, err) == (0, "")
    assert "interrupted leaves behind what it has written to --pcap, --trace, --spi and --vcd" in " ".join(out.split())
