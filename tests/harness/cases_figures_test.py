"""The public cases of kind c, throughput and latency, by their ids; tests/cases/README.md lists them all."""

import re
import struct
from collections import Counter

import pytest
from cases_firmware import Stream
from wizloop import boards, latency
from wizloop.chip import Testbed
from wizloop.cli.run import report, spi_efficiency_pct, to_json
from wizloop.simulator import Request, load_board, run_here

pytestmark = pytest.mark.simulator

HEADERS = 54  # Ethernet, IPv4 and TCP
MHZ = 1_000_000
RECV = 0x40


def segments(capture, to_board):
    """(payload bytes, window) of the TCP segments of one direction, in a pcapng file."""
    data, found, at = capture.read_bytes(), [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # an enhanced packet
            (size,) = struct.unpack_from("<I", data, at + 20)
            frame = data[at + 28 : at + 28 + size]
            if frame[12:14] == b"\x08\x00" and frame[23] == 6 and (frame[26:30] == b"\xc0\xa8\x01\x0a") == to_board:
                (total,), header = struct.unpack_from(">H", frame, 16), 4 * (frame[46] >> 4)
                (window,) = struct.unpack_from(">H", frame, 48)
                found.append((total - 20 - header, window))
        at += length
    return found


@pytest.mark.parametrize(("pieces", "sends", "bound_mbit_s"), [(1000, 1000, 2.0), (1, 1, 7.98)])
def test_B59_one_byte_per_packet(simulator, tmp_path, pieces, sends, bound_mbit_s):
    size = 1000 // pieces
    with Testbed(pcap=tmp_path / "run.pcapng") as testbed:
        testbed.spi_clock(8 * MHZ)
        firmware = Stream(testbed)
        firmware.connect_to(testbed.pc.listen(7))
        spent_ps = 0
        for _ in range(pieces):
            spent_ps += firmware.send(bytes(size))
        testbed.advance(0.1)
        assert (testbed.counter("sends"), testbed.counter("send_bytes")) == (sends, 1000)
    carrying = [payload for payload, _ in segments(tmp_path / "run.pcapng", to_board=False) if payload]
    assert (firmware.sends, len(carrying), sum(carrying)) == (sends, sends, 1000)
    assert len(carrying) * HEADERS == 54 * sends
    assert 0.98 * bound_mbit_s < 8 * 1000 / (spent_ps / 1e6) < 1.001 * bound_mbit_s


def test_B59_a_run_says_how_large_its_sends_are_and_how_much_of_its_spi_is_payload(simulator):
    board = load_board(boards.find("w55rp20"))
    shares = []
    for write_bytes, sends in (("1", "1000 SENDs"), ("1000", "1 SEND")):
        parameters = {"total_bytes": "1000", "write_bytes": write_bytes}
        run = run_here(Request("tcp_xmit", board.file, parameters=parameters))
        shares.append(spi_efficiency_pct(run))
        said = list(map(str, report(run, board.sclk_hz)))
        assert f"{shares[-1]:.1f} % of them payload" in "\n".join(said)
        assert f"{'bytes per SEND':<18} {write_bytes:>14}, {sends}" in said
        assert to_json(run, board.sclk_hz)["bytes_per_send"] == int(write_bytes)
    assert shares[0] < 6 and shares[1] > 40


def test_B60_skipping_data_by_reading_it(simulator):
    spent, unused = {}, {}
    for how in ("pointer", "reading"):
        with Testbed() as testbed:
            testbed.spi_clock(8 * MHZ)
            firmware, sent = Stream(testbed, buffer_kib=16), 0
            peer = testbed.pc.listen(7)
            firmware.connect_to(peer)
            queued = bytes(n & 0xFF for n in range(8192))
            while firmware.received() < len(queued):
                sent += peer.send(queued[sent:])
                testbed.advance(0.01)
            before, bytes_before = testbed.now_ps, testbed.counter("spi_bytes")
            if how == "reading":
                firmware.read(8000)
            firmware.move_on(8000)
            spent[how] = (testbed.now_ps - before) / 1e9, testbed.counter("spi_bytes") - bytes_before
            assert firmware.received() == 192
            assert firmware.read(192) == bytes(n & 0xFF for n in range(8000, 8192))
            unused[how] = testbed.counter("rx_bytes_read") - 192
    assert unused == {"pointer": 0, "reading": 8000}
    (moved_ms, moved_bytes), (read_ms, read_bytes) = spent["pointer"], spent["reading"]
    assert read_bytes - moved_bytes == 8000 + 3 + 5  # used by nobody, with the headers of the frame and of its pointer
    assert read_ms - moved_ms == pytest.approx(8.0, rel=0.01)
    assert moved_ms < 0.03


@pytest.mark.parametrize(
    ("scenario", "parameters", "unused"),
    [
        ("tcp_recv", {"total_bytes": "20000"}, 0),
        ("udp_recv", {"datagrams": "20", "payload_bytes": "1000", "offered_bps": "1000000"}, 20 * 8),
    ],
)
def test_B60_a_run_says_how_many_bytes_were_read_for_nothing(simulator, scenario, parameters, unused):
    """Of datagrams the chip's header of each, which the library keeps to itself."""
    board = load_board(boards.find("w55rp20"))
    run = run_here(Request(scenario, board.file, parameters=parameters))
    told = to_json(run, board.sclk_hz)
    assert (told["rx_bytes_read"], told["rx_bytes_unused"]) == (20_000 + unused, unused)
    said = f"{'RX bytes read':<18} {20_000 + unused:>14}, {unused} of them not handed to the program"
    assert said in list(map(str, report(run, board.sclk_hz)))


@pytest.mark.parametrize(("wired", "named"), [(True, None), (False, 1000.0)])
def test_B61_ping_saw_tooth_of_a_fallback(simulator, wired, named):
    """Firmware that sleeps until INTn, or until its fallback of one second, and answers a datagram each 200 ms."""
    round_trips = []
    with Testbed() as testbed:
        firmware = Stream(testbed)
        firmware.open_udp(7, interrupts=wired)
        port = testbed.pc.open_udp()
        next_ping, next_poll, waiting = 0.2, 1.0, []
        port.send_to("192.168.1.20", 7, b"for ARP")
        testbed.advance(0.1)
        firmware.echo_all()
        start = testbed.now
        while len(round_trips) < 20:
            until = min(next_ping, next_poll)
            woken = testbed.wait_intn(max(0.0, start + until - testbed.now))
            now = testbed.now - start
            if not woken and now >= next_ping - 1e-6:
                port.send_to("192.168.1.20", 7, b"ping")
                waiting.append(now)
                next_ping += 0.2
            if woken or now >= next_poll - 1e-6:
                next_poll = now + 1.0
                firmware.echo_all()
                done = testbed.now - start
                round_trips += [1000 * (done - at) for at in waiting]
                waiting.clear()
    assert latency.fallback_ms(round_trips, interval_ms=200) == named
    if wired:
        assert max(round_trips) < 3
    else:
        assert latency.said(round_trips, interval_ms=200) == "1 s poll fallback: an interrupt is lost or not wired"


def test_B61_other_courses_of_round_trips_are_no_saw_tooth():
    assert latency.fallback_ms([493, 291, 89, 894, 695, 493, 291], 200) == 1000  # as it was reported
    assert latency.fallback_ms([1.1, 1.2, 1.0, 1.3, 1.1, 1.0], 200) is None
    assert latency.fallback_ms([493, 291], 200) is None  # too few to tell
    assert latency.fallback_ms([800, 30, 410, 999, 120, 640, 77], 200) is None
    assert latency.said([1.0] * 8, 200) == ""


def test_B62_message_larger_than_the_receive_buffer(simulator, tmp_path):
    message = bytes(n * 7 & 0xFF for n in range(40_960))
    with Testbed(pcap=tmp_path / "run.pcapng") as testbed:
        firmware = Stream(testbed, buffer_kib=2)
        peer = testbed.pc.listen(7)
        firmware.connect_to(peer)
        got, sent = b"", 0
        while len(got) < len(message):
            sent += peer.send(message[sent:])
            testbed.advance(0.01)  # a slow reader
            got += firmware.take(700)
    assert got == message
    windows = [window for _, window in segments(tmp_path / "run.pcapng", to_board=False)]
    assert max(windows) == 2048 and min(windows) < 700
    assert any(before < 700 <= after for before, after in zip(windows, windows[1:], strict=False))  # it opened again


@pytest.mark.parametrize(("read_bytes", "receives", "small_windows"), [(1, 198, 197), (512, 99, 99)])
def test_B63_window_full_over_and_over(simulator, tmp_path, read_bytes, receives, small_windows):
    """The library of the case: it orders RECV after 250 bytes, or when nothing is left."""
    files = {"pcap_file": tmp_path / "run.pcapng", "trace_file": tmp_path / "run.trace"}
    parameters = {"total_bytes": "48128", "read_bytes": str(read_bytes)}
    board = load_board(boards.find("w55rp20"))
    run = run_here(Request("tcp_recv", board.file, library="pjrc_ethernet", parameters=parameters, **files))
    assert run.failure == ""  # every byte was checked
    commands = Counter(re.findall(r"chip\.s0 command Sn_CR=0x(\w\w)", (tmp_path / "run.trace").read_text()))
    windows = [window for _, window in segments(tmp_path / "run.pcapng", to_board=False)]
    waits = sum(window < 1460 for window in windows)  # no full segment fits
    assert (commands[f"{RECV:02x}"], waits, windows.count(0)) == (receives, small_windows, 0)


@pytest.mark.parametrize("mhz", [8, 20, 33.3])
def test_B64_speed_claims_without_a_basis(simulator, mhz):
    board = load_board(boards.find("w55rp20"))
    for chunk in (256, 1024, 1460):
        for direction, size in (("xmit", "write_bytes"), ("recv", "read_bytes")):
            parameters = {"total_bytes": "32768", size: str(chunk), "board.sclk_hz": str(round(mhz * MHZ))}
            run = run_here(Request(f"tcp_{direction}", board.file, "dma", "wizloop", parameters=parameters))
            assert run.figure_in("Mbit/s").value <= chunk / (chunk + 3) * mhz
            said = "\n".join(map(str, report(run, round(mhz * MHZ))))
            assert f"tcp_{direction} on w55rp20, dma path" in said
            assert re.search(rf"SCLK +{mhz:g} MHz", said)
            assert f"{size}={chunk}" in said and "buffer_kib=2" in said
