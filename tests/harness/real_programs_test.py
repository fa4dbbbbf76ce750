"""A virtual board against programs that nobody here wrote, as a user would start them: behind slirp as an ordinary user,
and by its own address in a network made for the test. Figures are in the summary at the end.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from places import PLACES, Board, Place, board_at, free_port, need, own_network, slirp_with_own_resolver, wait_until
from serve_test import BOARD, SECONDS, ask, next_that_starts, open_serial

pytestmark = pytest.mark.simulator  # its program comes with the compiled module

PATTERN = bytes(range(256))
Figure = Callable[[str], None]


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with PLACES[request.param]() as made:
        yield made


@pytest.fixture(scope="module")
def board(place: Place) -> Iterator[Board]:
    with board_at(place) as served:
        yield served


@pytest.fixture(params=PLACES)
def other_place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """For tests that serve a board of their own."""
    with PLACES[request.param]() as made:
        yield made


@pytest.fixture
def own_address(place: Place) -> None:
    if place.name == "slirp":
        pytest.skip("slirp gives the board no address that the host could reach")


def mbit_s(line: str) -> float:
    value, unit = re.findall(r"([\d.]+) ([KMG]?)bits/sec", line)[-1]
    return float(value) * {"": 1e-6, "K": 1e-3, "M": 1, "G": 1e3}[unit]


def pattern(size: int) -> bytes:
    return (PATTERN * (size // 256 + 1))[:size]


@pytest.mark.usefixtures("own_address")
def test_ping_with_1472_bytes_is_answered_and_with_1473_not(board: Board, figure: Figure) -> None:
    need("ping")
    place = board.place

    def ping(*options: str, code: int = 0) -> str:
        return place.run("ping", "-n", *options, place.board, code=code)

    ping("-c", "1", "-w", "5")  # resolves addresses
    for size in ("56", "1472"):
        said = ping("-c", "20", "-i", "0.01", "-s", size, "-M", "do")
        times = sorted(float(time) for time in re.findall(r"time=([\d.]+) ms", said))
        assert len(times) == 20
        figure(f"ping -s {size} -M do: 20 of 20 answered, median {times[10]} ms, least {times[0]} ms")
    said = ping("-c", "1", "-W", "0.5", "-s", "1473", "-M", "do", code=1)
    assert "0 received" in said  # the host does not even send it
    place.run("ip", "link", "set", "pc0", "mtu", "2000")
    try:
        said = ping("-c", "2", "-i", "0.1", "-W", "0.5", "-s", "1473", "-M", "do", code=1)  # now it does
    finally:
        place.run("ip", "link", "set", "pc0", "mtu", "1500")
    assert "2 packets transmitted, 0 received" in said
    figure("ping -s 1473 -M do: 0 of 2 answered")
    ping("-c", "1", "-w", "5")


def test_board_pings_the_host(board: Board, figure: Figure) -> None:
    for size in (32, 1472):
        answer = board.ask(f"ping-stats ip={board.place.host} count=5 size={size} interval_ms=20")
        assert (answer["received"], answer["bad"]) == ("5", "0")
        figure(f"ping-stats size={size}: 5 of 5 answered, {answer['rtt_avg_us']} us on average")


@pytest.mark.parametrize("option", ["", "-r", "-d", "-R", "-P2"])
def test_iperf_2_over_tcp(board: Board, figure: Figure, option: str) -> None:
    need("iperf")
    place = board.place
    client = ["iperf", "-c", place.board, "-p", place.port(5001), "-n", "1M", *option.split()]
    if option in ("-r", "-d"):
        client += ["-L", str(free_port())]
    with board.doing("tcp-server mode=iperf port=5001 s=60") as served:
        said = place.run(*client)
    rates = [mbit_s(line) for line in said.splitlines() if "bits/sec" in line and "[SUM]" not in line]
    assert all(rate > 0.5 for rate in rates) and len(rates) == (1 if option in ("", "-R") else 2), said
    assert int(served["bytes_in"]) >= (0 if option == "-R" else 1 << 20)
    assert int(served["bytes_out"]) >= (1 << 20 if option in ("-r", "-d", "-R") else 0)
    figure(f"iperf -n 1M {option}: " + ", ".join(f"{rate:.1f}" for rate in rates) + " Mbit/s")


def test_iperf_2_over_udp_gets_the_report_of_the_board(board: Board, figure: Figure) -> None:
    need("iperf")
    place = board.place
    with board.doing("udp-recv report=iperf port=5001 idle_ms=1000") as received:
        said = place.run("iperf", "-u", "-c", place.board, "-p", place.port(5001, "udp"), "-b", "4M", "-n", "400K")
    sent = re.search(r"Sent (\d+) datagrams", said)
    report = said.partition("Server Report")[2]
    counted = re.search(r"([\d.]+) ms +(\d+)/ *(\d+) \(", report)
    assert sent and counted, said
    lost, total = int(counted[2]), int(counted[3])
    assert total == int(sent[1]) - 2  # iperf counts the one that says it is over, and one more; its servers count the first
    assert (lost, total - lost) == (int(received["lost"]), int(received["count"]))
    assert received["finished"] == "1" and lost <= total / 4  # a busy machine makes the board late
    assert lost or received["bytes"] == str(400 << 10)
    assert 1 < mbit_s(report) < 5
    rate = mbit_s(report)
    figure(f"iperf -u -b 4M: {rate:.2f} Mbit/s, jitter {counted[1]} ms, {lost} of {total} lost, by the board's report")


def test_board_sends_udp_to_an_iperf_2_server_and_reads_its_report(board: Board, figure: Figure) -> None:
    need("iperf")
    place = board.place
    port = free_port()
    with place.running("iperf", "-s", "-u", "-p", str(port)):
        wait_until("iperf listens", lambda: f":{port} " in place.run("ss", "-Hnlu"))
        answer = board.ask(f"udp-send ip={place.host} port={port} count=300 kbit_s=4000 report=iperf")
    assert (answer["reported"], answer["count"]) == ("1", "300")
    assert int(answer["peer_bytes"]) + 1470 * int(answer["peer_lost"]) in (300 * 1470, 301 * 1470)
    assert int(answer["peer_lost"]) <= 75
    figure(f"udp-send to iperf -s -u: {answer['kbit_s']} kbit/s, {answer['peer_lost']} of 300 lost, by its report")


@pytest.mark.parametrize("option", ["", "-R", "-P2"])
def test_iperf3(board: Board, figure: Figure, option: str) -> None:
    need("iperf3")
    place = board.place
    with board.doing("tcp-server mode=iperf3 s=60") as served:
        said = place.run("iperf3", "-J", "-c", place.board, "-p", place.port(5201), "-t", "1", *option.split())
    end = json.loads(said)["end"]
    sent, received = end["sum_sent"], end["sum_received"]
    assert received["bits_per_second"] > 500_000
    assert 0 < received["bytes"] <= sent["bytes"]
    assert int(served["bytes_out" if option == "-R" else "bytes_in"]) >= received["bytes"]
    figure(f"iperf3 {option}: {received['bits_per_second'] / 1e6:.1f} Mbit/s")


def test_nc_gets_back_what_it_sends(board: Board) -> None:
    need("nc")
    text = "".join(f"line {number}\n" for number in range(2000))
    with board.doing("tcp-server mode=echo port=7 s=60") as served:
        assert board.place.run("nc", "-N", board.place.board, board.place.port(7), stdin=text) == text
    assert served["bytes_in"] == served["bytes_out"] == str(len(text))


def test_two_clients_at_once_each_get_their_own_bytes_back(board: Board) -> None:
    need("nc")
    place = board.place
    texts = [letter * 40 for letter in "ab"]
    with board.doing("tcp-server mode=echo port=7") as served:
        with ExitStack() as stack:
            nc = ["nc", "-N", place.board, place.port(7)]
            clients = [stack.enter_context(place.running(*nc, stdin=subprocess.PIPE)) for _ in texts]
            for _ in range(50):
                for client, text in zip(clients, texts, strict=True):
                    print(text, file=client.stdin, flush=True)
                for client, text in zip(clients, texts, strict=True):
                    assert client.stdout is not None
                    assert client.stdout.readline() == text + "\n"
            for client in clients:
                client.communicate(timeout=SECONDS)
                assert client.returncode == 0
    assert (served["conns"], served["ended"], served["bytes_in"]) == ("2", "2", str(2 * 50 * 41))


def test_nc_that_listens_takes_every_byte_of_the_board(board: Board, figure: Figure) -> None:
    need("nc", "ss")
    place, port = board.place, free_port()
    taken = place.folder / "taken"
    with taken.open("wb") as file, place.running("nc", "-n", "-d", "-l", "-p", str(port), stdout=file) as listener:
        wait_until("nc listens", lambda: f":{port} " in place.run("ss", "-Hnlt"))
        sent = board.ask(f"tcp-send ip={place.host} port={port} bytes=200000")
        assert listener.wait(SECONDS) == 0
    assert taken.read_bytes() == pattern(200_000)
    assert sent["closed"] == "ok"
    figure(f"tcp-send to nc: {sent['kbit_s']} kbit/s, {sent['retries']} retries")


def test_curl_fetches_pages_several_at_a_time(board: Board, figure: Figure) -> None:
    need("curl")
    place = board.place
    with board.doing("tcp-server mode=http s=60") as served:
        page = place.run("curl", "-fsS", "-w", "%{time_total}", place.url())
        page, _, seconds = page.rpartition("</html>")
        assert f"<h1>{BOARD}</h1>" in page
        assert place.run("curl", "-fsSI", place.url("/stats")).startswith("HTTP/1.1 200 OK\n")
        place.run("curl", "-fsS", place.url("/no-such-page"), code=22)
        # Three: of its four sockets one may still be in TIME_WAIT.
        four = place.run("curl", "-fsS", "--parallel", "--parallel-immediate", *[place.url("/stats")] * 4)
        start = time.monotonic()
        many = place.run("curl", "-fsS", "-H", "Connection: close", *[place.url("/stats")] * 20)
        took = time.monotonic() - start
    assert (four.count("uptime_us"), many.count("uptime_us")) == (4, 20)
    assert (served["conns"], served["ended"]) == ("27", "27")
    figure(f"curl: a page in {1000 * float(seconds):.1f} ms, 20 one after the other in {1000 * took:.0f} ms")


@pytest.mark.usefixtures("own_address")
def test_arping_finds_the_board_and_both_sides_see_a_conflict(board: Board, figure: Figure) -> None:
    need("arping")
    place, mac = board.place, board.served.board()["mac"].upper()
    said = place.run("arping", "-c", "2", "-I", "pc0", place.board)
    assert said.count(f"[{mac}]") == 2
    times = re.findall(r"([\d.]+)ms", said)
    figure(f"arping: 2 of 2 answered, {times[-1]} ms")
    said = place.run("arping", "-D", "-c", "2", "-I", "pc0", place.board, code=1)  # 1: somebody has it
    assert f"[{mac}]" in said
    assert int(board.ask("reg block=common offset=0x15")["data"], 16) & 0x80 == 0  # IR.CONFLICT
    place.run("ip", "addr", "add", f"{place.board}/32", "dev", "pc0")
    try:
        place.run("arping", "-U", "-c", "1", "-s", place.board, "-I", "pc0", place.board)
    finally:
        place.run("ip", "addr", "del", f"{place.board}/32", "dev", "pc0")
    assert int(board.ask("reg block=common offset=0x15")["data"], 16) & 0x80 == 0x80
    board.ask("reg block=common offset=0x15 data=80")


def test_dnsmasq_gives_addresses_and_names(figure: Figure) -> None:
    need("dnsmasq", "ss")
    # The board's time is faster: after a conflict it has to wait for 10 s (RFC 2131, 3.1.5).
    with own_network() as place, dnsmasq(place), board_at(place, "--speed", "10") as board:
        mac = board.served.board()["mac"]
        lease = board.ask("dhcp host=wizloop-board")
        assert (lease["ip"], lease["mask"], lease["lease_s"]) == ("192.168.1.100", "255.255.255.0", "3600")
        assert lease["gw"] == lease["dns"] == lease["server"] == place.host
        assert f"{mac} 192.168.1.100 wizloop-board" in (place.folder / "leases").read_text()
        name = board.ask("dns name=board.example")
        assert name["ip"] == "192.0.2.7"
        assert board.ask("dns name=two.example")["ip"] == "192.0.2.8"
        unknown = board.wait_for(board.send("dns name=no-such.invalid"))
        assert unknown.split()[1:3] in (["err", "no-such-name"], ["err", "server-failed"]), unknown
        # An address that somebody has already: the board finds out, declines it, and gets the next one.
        place.run("ip", "addr", "add", "192.168.1.100/32", "dev", "pc0")
        other = board.ask("dhcp host=wizloop-board")
        assert (other["ip"], other["conflicts"]) == ("192.168.1.101", "1")
    lease_ms, name_ms = (int(answer["us"]) / 1000 for answer in (lease, name))
    figure(f"dnsmasq: a lease in {lease_ms:.1f} ms, a name in {name_ms:.1f} ms of the board's time")


@contextmanager
def dnsmasq(place: Place, interface: str = "pc0") -> Iterator[None]:
    command = ["dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--no-ping"]
    command += [f"--interface={interface}", "--bind-interfaces"]
    command += [f"--pid-file={place.folder}/pid", f"--dhcp-leasefile={place.folder}/leases"]
    command += ["--dhcp-range=192.168.1.100,192.168.1.101,1h", "--dhcp-authoritative", "--dhcp-sequential-ip"]
    command += ["--address=/board.example/192.0.2.7", "--host-record=two.example,192.0.2.8"]
    with place.running(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        both = {":53 ", ":67 "}
        wait_until("dnsmasq listens", lambda: both <= set(re.findall(r":\d+ ", place.run("ss", "-Hnlu"))))
        yield


def test_slirp_gives_an_address_by_dhcp(board: Board) -> None:
    if board.place.name != "slirp":
        pytest.skip("of slirp alone")
    lease = board.ask("dhcp")
    assert (lease["ip"], lease["gw"], lease["dns"]) == ("10.0.2.15", "10.0.2.2", "10.0.2.3")


def test_slirp_asks_the_hosts_own_server_for_names(figure: Figure) -> None:
    need("dnsmasq", "ss", "mount")
    with slirp_with_own_resolver() as place, dnsmasq(place, "lo"), board_at(place) as board:
        assert board.ask("dhcp")["dns"] == "10.0.2.3"
        name = board.ask("dns name=board.example")
        assert (name["ip"], board.ask("dns name=two.example")["ip"]) == ("192.0.2.7", "192.0.2.8")
    figure(f"slirp: a name of the host's own server in {int(name['us']) / 1000:.1f} ms")


def test_a_tap_interface_carries_them_as_well(figure: Figure) -> None:
    need("ping", "curl", "iperf")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("no /dev/net/tun on this machine, as in most containers")
    with own_network("tap:pc0") as place, board_at(place) as board:
        place.run("ping", "-c", "3", "-i", "0.05", "-w", "5", "-s", "1472", "-M", "do", place.board)
        with board.doing("tcp-server mode=http port=80 s=60"):
            assert f"<h1>{BOARD}</h1>" in place.run("curl", "-fsS", place.url())
        with board.doing("tcp-server mode=iperf port=5001 s=60") as served:
            said = place.run("iperf", "-c", place.board, "-n", "1M")
        assert int(served["bytes_in"]) >= 1 << 20
    figure(f"tap: ping -s 1472, curl and iperf -n 1M, {mbit_s(said):.1f} Mbit/s")


def test_socat_and_pyserial_talk_to_the_pty(other_place: Place) -> None:
    need("socat")
    link = other_place.folder / "console"
    with other_place.serve("--serial", str(link)):
        for number in (1, 3):
            socat = ["socat", "-t0.1", "-", f"FILE:{link},raw,echo=0,b115200"]
            with other_place.running(*socat, stdin=subprocess.PIPE) as client:
                assert client.stdin is not None and client.stdout is not None
                print(f"\n#{number} hello", file=client.stdin, flush=True)
                assert next_that_starts(client.stdout.readline, f"#{number} ").startswith(f"#{number} ok agent=1")
            with open_serial(str(link)) as port:
                assert ask(port, "hello", number + 1).startswith(f"#{number + 1} ok agent=1")


# What Wireshark says of a small window that the peer fills, as it should: not of anything that went wrong.
EXPECTED = {
    "TCP window specified by the receiver is now completely full",
    "TCP Zero Window segment",
    "TCP window update",
}
CHECKSUMS = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]
WARNING = 0x600000  # of _ws.expert.severity; errors are above
SLIRP_MAC = "52:55:0a:00:02:02"
LATE_US = 100_000  # of a board: from here on its peers lose patience, and send again


def test_tshark_reads_the_live_capture_and_finds_no_anomaly(other_place: Place, figure: Figure) -> None:
    need("tshark", "curl", "nc", "iperf")
    for _ in range(3):
        frames, late_us = traffic_seen_by_tshark(other_place)
        wrong = sent_again(frames)
        if other_place.name == "slirp":
            wrong = [frame for frame in wrong if not libslirp_does(frame)]
        protocols = Counter(protocol for frame in frames for protocol in frame[0].split(":"))
        remarks = Counter(
            message
            for _, severities, messages, *_ in frames
            for severity, message in zip(severities.split(","), messages.split(","), strict=False)
            if severity and int(severity) >= WARNING
        )
        late = f"the board {late_us} us late at most"
        figure(f"tshark: {len(frames)} frames, {dict(remarks)}, {len(wrong)} sent again, {late}")
        assert all(protocols[name] > 0 for name in ("arp", "icmp", "udp", "tcp", "http")), protocols
        if late_us < LATE_US:
            break  # the machine had time for this
    assert not wrong
    assert set(remarks) <= EXPECTED


def test_tshark_sees_what_a_cable_loses(figure: Figure) -> None:
    need("tshark", "curl", "nc", "iperf")
    with own_network() as place:
        frames, _ = traffic_seen_by_tshark(place, "--set", "fault.link_loss=ppm=20000,sender=peer")
    again = sent_again(frames)
    assert again
    figure(f"tshark, where 2 % of the frames to the board are lost: {len(again)} of {len(frames)} frames sent again")


def sent_again(frames: list[list[str]]) -> list[list[str]]:
    return [frame for frame in frames if re.search("Retransmission|Dup ACK|Out-Of-Order", frame[3])]


def libslirp_does(frame: list[str]) -> bool:
    """When both close at once, it sends its FIN a second time to acknowledge the board's; the board acknowledges both."""
    _, _, _, info, source = frame
    if source == SLIRP_MAC:
        return "Retransmission" in info and "[FIN, ACK]" in info
    return "Dup ACK" in info


def traffic_seen_by_tshark(place: Place, *arguments: str) -> tuple[list[list[str]], int]:
    """Protocols, severities and texts of what it remarks, its own line and the sender, of each frame as it came; how late
    the board was at most.
    """
    capture = place.folder / "live.pcapng"
    os.mkfifo(capture)
    os.chown(capture, *place.folder.stat()[4:6])
    wanted = ("frame.protocols", "_ws.expert.severity", "_ws.expert.message", "_ws.col.Info", "eth.src")
    command = ["tshark", "-n", "-l", "-r", str(capture), *CHECKSUMS, "-Tfields", *[f"-e{name}" for name in wanted]]
    with (place.folder / "tshark.txt").open("w+") as heard, place.running(*command, stdout=heard) as reader:
        with board_at(place, "--pcap", str(capture), *arguments) as board:
            # Each server ends when its clients have: a cancel would cut short how they part.
            text = "0123456789" * 500
            with board.doing("tcp-server mode=echo port=7 conns=1"):
                assert place.run("nc", "-N", place.board, place.port(7), stdin=text) == text
            with board.doing("tcp-server mode=http conns=1"):
                place.run("curl", "-fsS", place.url())
            with board.doing("tcp-server mode=iperf conns=2"):
                for option in ("", "-R"):
                    place.run("iperf", "-c", place.board, "-p", place.port(5001), "-n", "300K", *option.split())
            with board.doing("udp-recv report=iperf port=5001 idle_ms=200"):
                place.run("iperf", "-u", "-c", place.board, "-p", place.port(5001, "udp"), "-b", "4M", "-n", "50K")
            assert board.ask(f"ping-stats ip={place.host} count=3 interval_ms=10 size=1000")["received"] == "3"
            late_us = int(board.ask("stats")["late_max_us"])
        reader.wait(SECONDS)  # its file has ended with the board
        heard.seek(0)
        frames = [line.rstrip("\n").split("\t") for line in heard]
    capture.unlink()
    return frames, late_us
