"""The Python side and the compiled module together."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from wizloop import boards
from wizloop.errors import UsageError
from wizloop.simulator import Request, catalogue, load_board, run_here

pytestmark = pytest.mark.simulator


def test_every_board_file_loads_and_fits_at_most_two_constants(simulator):
    assert len(boards.names()) >= 5
    for board in boards.load(None):
        fitted = [constant for constant in board.constants.values() if constant.basis == "fit"]
        assert len(fitted) <= 2
        assert "byte" in board.paths
        assert all(figure.scenario in catalogue() for figure in board.figures)


def test_parameters_name_their_meaning(simulator):
    for scenario in catalogue().values():
        assert scenario.what and scenario.figure and scenario.unit
        for parameter in scenario.parameters:
            assert parameter.meaning


def test_the_accounts_of_a_run_add_up_to_the_measured_time_exactly(simulator):
    request = Request("ping_rtt", boards.find("teensy40-w5500"))
    run = run_here(request)
    assert run.failure == ""
    assert sum(run.budget_ps.values()) == run.measured_ps
    assert 0 < run.measured_ps <= run.virtual_ps
    assert len(run.fingerprint) == 16


def test_a_users_mistake_is_raised_with_the_message_of_the_simulator(simulator, tmp_path):
    file = boards.find("w55rp20")
    with pytest.raises(UsageError, match="no_such"):
        run_here(Request("no_such", file))
    with pytest.raises(UsageError, match="byte_gap"):
        run_here(Request("ping_rtt", file, parameters={"board.byte_gap": "1"}))
    broken = tmp_path / "broken.toml"
    broken.write_text(file.read_text().replace("spi_mode = { value = 0", "spi_mode = { value = 1"))
    with pytest.raises(UsageError, match=r"broken\.toml:\d+: spi_mode is 1"):
        load_board(broken)


def test_the_same_seed_gives_the_same_run_and_a_capture_beside_it(simulator, wizloop, tmp_path):
    documents = []
    for name in ("one", "two"):
        arguments = ["run", "udp_rtt", "--board", "teensy40-w5500", "--path", "burst", "--seed", "9"]
        arguments += ["--json", tmp_path / f"{name}.json", "--pcap", tmp_path / f"{name}.pcapng"]
        code, _, _ = wizloop(*arguments)
        assert code == 0
        document = json.loads((tmp_path / f"{name}.json").read_text())
        document.pop("wall_s")
        documents.append(document)
    assert documents[0] == documents[1]
    assert (tmp_path / "one.pcapng").read_bytes() == (tmp_path / "two.pcapng").read_bytes()


# What a clean link must not show, by another implementation: damage, and TCP that had to be repaired. A full or closed
# window and its update are how a small buffer works.
ANOMALIES = (
    "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0"
    " || icmp.checksum.status == 0 || tcp.analysis.retransmission || tcp.analysis.fast_retransmission"
    " || tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order || tcp.analysis.lost_segment"
    " || tcp.analysis.ack_lost_segment || tcp.analysis.duplicate_ack || tcp.analysis.keep_alive"
    " || tcp.flags.reset == 1"
)
CHECKED = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]


@pytest.mark.parametrize("scenario", ["tcp_xmit", "tcp_recv", "udp_xmit", "udp_recv", "udp_rtt", "ping_rtt"])
@pytest.mark.parametrize("board", ["teensy40-w5500", "w55rp20"])
def test_tshark_finds_nothing_wrong_in_a_capture(simulator, wizloop, tmp_path, scenario, board):
    if shutil.which("tshark") is None:
        assert not os.environ.get("CI"), "tshark is not installed: in CI it must be"
        pytest.skip("tshark is not installed: ci/setup installs it")
    capture = tmp_path / "run.pcapng"
    brief = ["--set", "total_bytes=65536"] if scenario.startswith("tcp") else []
    code, _, _ = wizloop("run", scenario, "--board", board, *brief, "--pcap", capture)
    assert code == 0

    def frames(display_filter: str) -> list[str]:
        command = ["tshark", "-r", str(capture), *CHECKED, "-Y", display_filter]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()

    assert len(frames("ip")) > 20
    assert frames(ANOMALIES) == []


# What a process has ever had begins with what its parent has when it forks, so that a small one stands between.
LARGEST_OF_ITS_PROCESSES = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_bench_run_stays_below_100_mib(simulator):
    """The largest of its processes, as /usr/bin/time -v reports it."""
    bench = [sys.executable, "-m", "wizloop", "bench"]
    measured = subprocess.run(
        [sys.executable, "-c", LARGEST_OF_ITS_PROCESSES, *bench], capture_output=True, text=True, timeout=120
    )
    code, largest_kib = measured.stdout.split()
    assert code == "0"
    assert int(largest_kib) < 100 * 1024


def test_fit_repeats_the_calibration_of_a_board(simulator, wizloop, tmp_path):
    out = tmp_path / "fit.json"
    code, _, _ = wizloop("fit", "--board", "stm32f405-arduino", "--json", out)
    assert code == 0
    rows = json.loads(out.read_text())["constants"]
    assert {row["constant"] for row in rows} == {"byte_gap_ns", "burst_gap_ns"}
    for row in rows:
        assert row["met"]
        assert abs(row["error_exact_pct"]) <= 0.01
        assert row["exact"] == pytest.approx(row["in_file"], rel=0.1)


def test_the_bug_of_the_readme_earns_its_finding(simulator, wizloop):
    arguments = ["--board", "w55rp20", "--path", "burst", "--set", "board.sclk_hz=62500000"]
    code, text, _ = wizloop("run", "tcp_recv", *arguments, "--set", "total_bytes=65536")
    assert code == 1
    assert "  warning sclk-above-rating (W5500 datasheet 5.5.4)" in text.splitlines()
    assert "SCLK 62500000 Hz, guaranteed 33300000 Hz" in text


def test_the_fault_of_the_readme_hangs_a_library_without_deadline_and_not_ours(simulator, wizloop):
    arguments = ["--board", "w55rp20", "--set", "fault.chip_sendok_lost=nth=10", "--set", "total_bytes=65536"]
    code, text, _ = wizloop("run", "tcp_xmit", *arguments)
    assert code == 1
    assert "  chip_sendok_lost nth=10: struck 1 time" in text.splitlines()
    assert "hangs" in text
    _, text, _ = wizloop("run", "tcp_xmit", *arguments, "--library", "wizloop")
    assert "  chip_sendok_lost nth=10: struck 1 time" in text.splitlines()
    assert "hangs" not in text


def test_the_answer_given_to_an_open_question_is_among_the_assumptions_of_a_run(simulator, wizloop, tmp_path):
    out = tmp_path / "run.json"
    arguments = ["--board", "w55rp20", "--set", "chip.quirk.psh=last_segment", "--set", "total_bytes=65536"]
    wizloop("run", "tcp_xmit", *arguments, "--json", out)
    touched = {entry["name"]: entry for entry in json.loads(out.read_text())["assumptions"]}
    assert touched["chip.quirk.psh"]["choice"] == "last_segment"
    assert touched["chip.quirk.psh"]["trust"] == "observed"


@pytest.mark.parametrize("option", ["--pcap", "--trace"])
def test_a_full_disk_is_the_machines_fault_and_a_path_that_cannot_be_the_users(simulator, wizloop, option):
    arguments = ["run", "tcp_xmit", "--board", "teensy40-w5500", "--set", "total_bytes=4096", option]
    code, out, err = wizloop(*arguments, "/dev/full")
    assert (code, out) == (5, "")
    assert err.startswith("wizloop: /dev/full: ") and "No space left on device" in err
    code, _, err = wizloop(*arguments, "/no/such/folder/x")
    assert code == 2
    assert "/no/such/folder/x" in err


def run_program(board, **variables):
    """`wizloop run ping_rtt` as a process of its own: exit code and stderr."""
    command = [sys.executable, "-m", "wizloop", "run", "ping_rtt", "--board", board]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_a_broken_lwip_is_the_machines_fault(simulator, tmp_path):
    (tmp_path / "liblwip.so.0").touch()
    code, err = run_program("teensy40-w5500", LD_LIBRARY_PATH=str(tmp_path))
    assert code == 5
    assert err.startswith("wizloop: liblwip.so.0: ")
    assert "liblwip0" in err


def test_a_message_about_a_path_that_is_not_utf_8_comes_through(simulator, tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.toml")
    path.write_text("title = 1\n")
    code, err = run_program(path)
    assert code == 2
    assert "?.toml:1: title is 1, expected one line of text" in err
