"""Cable, power and reset, in the middle of things."""

import pytest
from bodies import pattern, poll
from wizloop.chip import SocketState
from wizloop.dut.agent import Restarted
from wizloop.dut.plugin import announces, needs


@needs("link_flap")
def test_a_pulled_cable_is_noticed_and_its_return_too(online):
    online.unplug()
    online.run(1)
    assert online.ask("link")["up"] == "0"
    online.replug()
    assert online.wait_for_link()["up"] == "1"


@needs("link_flap", "host", "full")
def test_a_transmission_goes_on_after_a_short_loss_of_the_cable(online, peer):
    sink = peer.sink()
    transmission = online.start("tcp-send", ip=peer.ip, port=sink.port, bytes=2_000_000, within=120)
    poll(online, lambda: sink.counts().bytes_in > 10_000)
    online.unplug()
    online.run(1)
    assert not transmission.done()
    online.replug()
    assert transmission.finish().number("bytes") == 2_000_000
    poll(online, lambda: sink.counts().bytes_in >= 2_000_000)
    assert (sink.counts().bytes_in, sink.counts().bad) == (2_000_000, 0)


@needs("link_flap", "host", "full")
def test_a_reception_goes_on_after_a_short_loss_of_the_cable(online, peer):
    source = peer.source(2_000_000)
    reception = online.start("tcp-recv", ip=peer.ip, port=source.port, within=120)
    online.run(0.1)
    online.unplug()
    online.run(1)
    online.replug()
    done = reception.finish()
    assert (done["bytes"], done["bad"]) == ("2000000", "0")


@needs("link_flap", "host", "full")
def test_a_cable_that_stays_out_ends_a_transmission(online, peer):
    online.ask("net", rtr_us=100_000, rcr=3)
    listening = peer.listen()
    transmission = online.start("tcp-send", ip=peer.ip, port=listening.port, bytes=10 << 20)
    poll(online, lambda: len(listening.stream.receive(1)) > 0)
    online.unplug()
    answer = transmission.outcome()
    online.replug()
    assert answer.code == "peer-timeout"
    assert answer.number("bytes") < 10 << 20


@needs("link_flap", "host", "full")
def test_a_connection_without_traffic_survives_a_pulled_cable(online, peer):
    listening = peer.listen()
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port, bytes=10)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    online.unplug()
    online.run(3)
    online.replug()
    online.run(4)  # negotiation
    listening.stream.send(pattern(10))
    assert reception.finish()["bytes"] == "10"
    listening.stream.close()


@needs("reset")
def test_the_reset_button_starts_the_firmware_anew(dut):
    before = dut.ask("net")["ip"]
    dut.ask("net", ip="192.168.1.99")
    assert dut.press_reset()["chip"] == "W5500"
    assert dut.ask("net")["ip"] == before
    assert dut.ask("stats").number("requests") < 10


@needs("reset", "host", "full")
@announces("header-cut-short", "firmware may end in the middle of a frame")
def test_a_reset_in_mid_transfer_leaves_a_board_that_works(online, peer):
    sink = peer.sink()
    transmission = online.start("tcp-send", ip=peer.ip, port=sink.port, bytes=100 << 20)
    poll(online, lambda: sink.counts().bytes_in > 10_000)
    online.press_reset()
    with pytest.raises(Restarted):
        transmission.finish()
    online.wait_for_link()
    before = sink.counts().bytes_in
    # From a port of its own: for the far end the old connection is still open, and the firmware counts its ports anew.
    sent = online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=3000, local=40_001)
    assert sent["closed"] == "ok"
    poll(online, lambda: sink.counts().bytes_in >= before + 3000)


@needs("power", "host", "full")
@announces("header-cut-short", "firmware may end in the middle of a frame")
def test_a_power_cycle_in_mid_transfer_leaves_a_board_that_works(online, peer):
    listening = peer.listen()
    reception = online.start("tcp-recv", ip=peer.ip, port=listening.port)
    poll(online, lambda: listening.stream.state == SocketState.CONNECTED)
    listening.stream.send(pattern(1000))
    hello = online.cycle_power(0.5)
    assert hello["chip"] == "W5500"
    with pytest.raises(Restarted):
        reception.finish()
    listening.stream.abort()
    online.wait_for_link()
    source = peer.source(3000)
    assert online.ask("tcp-recv", ip=peer.ip, port=source.port, local=40_001)["bytes"] == "3000"


@needs("host", "full")
def test_a_reset_of_the_chip_between_transfers_changes_nothing(online, peer):
    sink = peer.sink()
    for _ in range(3):
        assert online.ask("tcp-send", ip=peer.ip, port=sink.port, bytes=2000)["closed"] == "ok"
        online.ask("reset")
        online.wait_for_link()
    poll(online, lambda: sink.counts().bytes_in >= 6000)
    assert (sink.counts().bytes_in, sink.counts().bad) == (6000, 0)


def test_a_half_typed_line_does_no_harm(dut):
    dut.line.send(b"#5 tcp-se", dut.now() + 1)
    dut.run(0.05)
    assert dut.resync()["chip"] == "W5500"
    assert dut.agent.repeated == 0


def test_noise_on_the_line_does_no_harm(dut):
    dut.line.send(bytes(range(128, 256)), dut.now() + 1)
    dut.run(0.05)
    assert dut.ask("hello")["chip"] == "W5500"


def test_a_line_that_is_too_long_is_refused(dut):
    longest = dut.hello.number("line")
    dut.line.send(b"#5 hello " + b"x" * longest + b"\n", dut.now() + 1)
    dut.run(0.5)
    assert dut.ask("hello").number("line") == longest
