"""Inventory files, right and wrong, and what they say about a board's surroundings."""

import socket
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from wizloop.dut import controls, inventory
from wizloop.dut.address import SerialAddress, TcpAddress
from wizloop.dut.controls import ServedBoard, SwitchedPower
from wizloop.errors import InfrastructureError, NothingMeasured, UsageError

WHOLE = """
[[board]]
name = "b1"
address = "serial:usb:A5069RR4@1000000"
profile = "w55rp20"
dtr = false
slowness = 2
power = { off = "switch off 3", on = "switch on 3" }
cable = { unplug = "http://relay/off?3", replug = "http://relay/on?3" }
host_ip = "192.168.1.10"
reachable = true

[[board]]
name = "b2"
address = "tcp:127.0.0.1:7001"
control = "127.0.0.1:7000"
forwards = ["tcp:5001=127.0.0.1:15001", "udp:5001=127.0.0.1:15002"]
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "boards.toml"


def test_a_whole_file_is_read(file):
    file.write_text(WHOLE)
    b1, b2 = inventory.load(file).boards
    assert b1.address == SerialAddress("usb:A5069RR4", 1000000)
    assert (b1.profile, b1.slowness, b1.serial.dtr, b1.serial.rts) == ("w55rp20", 2.0, False, True)
    assert b1.surroundings.power == SwitchedPower(off="switch off 3", on="switch on 3")
    assert b1.surroundings.button is None
    assert b1.surroundings.reachable
    assert b2.address == TcpAddress("127.0.0.1", 7001)
    served = ServedBoard("127.0.0.1", 7000, "b2")
    assert (b2.surroundings.power, b2.surroundings.button, b2.surroundings.cable) == (served, served, served)
    assert b2.surroundings.forwards == {("tcp", 5001): ("127.0.0.1", 15001), ("udp", 5001): ("127.0.0.1", 15002)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[board]\n", "boards.toml: .*line 1"),
        ("[[boards]]\nname = 'b'", "boards is not expected"),
        ("[[board]]\naddress = 'tcp:h:1'", "board 1: name = None, expected letters"),
        ("[[board]]\nname = 'b 1'\naddress = 'tcp:h:1'", "name = 'b 1', expected letters"),
        ("[[board]]\nname = 'b'", "board b: address = None, expected serial:PORT"),
        ("[[board]]\nname = 'b'\naddress = 'usb0'", "board b: address: 'usb0' is no address"),
        ("[[board]]\nname = 'b'\naddress = 'labgrid:any'", "labgrid:any stands for several boards, expected labgrid:P"),
        (
            "[[board]]\nname = 'b'\naddress = 'tcp:h:1'\npower = 'labgrid'",
            "power: labgrid switches what belongs to a place, and tcp:h:1 is none",
        ),
        (
            "[[board]]\nname = 'b'\naddress = 'tcp:h:1'\nadress = 1",
            "unknown key adress.*did you mean.*address|unknown key adress",
        ),
        (
            "[[board]]\nname = 'b'\naddress = 'tcp:h:1'\nprofile = 'w55rp2'",
            "boards.toml: board b: profile: unknown board 'w55rp2' .did you mean w55rp20.*the boards are .*, w55rp20",
        ),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\ndtr = true", "levels of a serial port"),
        ("[[board]]\nname = 'b'\naddress = 'serial:p'\ndtr = 1", "dtr = 1, expected true or false"),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\nslowness = 0", "slowness = 0, expected a number"),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\npower = 'x'", "power = 'x', expected a table"),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\npower = { on = 'x' }", "power = .*expected a table"),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\nreset = { press = '' }", "reset = .*expected a table"),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\ncontrol = '7000'", "control = '7000', expected HOST:PORT"),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\nhost_ip = 'host'", "host_ip = 'host', expected the IPv4"),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\nforwards = ['tcp:1']", "forwards = .*expected a list"),
        ("[[board]]\nname = 'b'\naddress = 'tcp:h:1'\n[[board]]\nname = 'b'\naddress = 'tcp:h:2'", "two boards b"),
        (
            "[[board]]\nname = 'b'\naddress = 'serial:p'\n[[board]]\nname = 'c'\naddress = 'serial:p@9600'",
            "boards.toml: boards b and c are one, for both are at serial:p$",
        ),
        ("[board]\nname = 'b'", r"boards.toml: \[board\] is not expected, each board is a table \[\[board\]\]"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(file, text, said):
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        inventory.load(file)


def test_what_is_no_text_is_a_mistake_of_the_user(file):
    file.write_bytes(b"\xff\xfe[board]")
    with pytest.raises(UsageError, match="boards.toml: not a TOML file, for it is not UTF-8: "):
        inventory.load(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(UsageError, match="cannot read .*boards.toml: Is a directory$"):
        inventory.load(file)


def test_a_board_that_is_not_there_is_told_with_those_that_are(file, monkeypatch):
    file.write_text(WHOLE)
    with pytest.raises(NothingMeasured, match="no board 'b3'.*it has b1, b2"):
        inventory.load(file).find("b3")
    assert inventory.load(file).of_address(TcpAddress("127.0.0.1", 7001)).name == "b2"
    assert inventory.load(file).of_address(TcpAddress("127.0.0.1", 7002)) is None
    monkeypatch.setenv(inventory.VARIABLE, str(file))
    assert len(inventory.load().boards) == 2


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp:127.0.0.1:7001", "'tcp:127.0.0.1:7001' is an address, expected the name of a board: that one is b2$"),
        ("labgrid:b1", "expected the name of a board: .*boards.toml has b1, b2, none of them at that address; `wizloop test"),
        ("pigeon:b1", "'pigeon:b1': unknown kind 'pigeon', expected .* or the name of a board of the inventory$"),
    ],
)
def test_an_address_in_place_of_a_name_is_told_what_works(file, address, said):
    file.write_text(WHOLE)
    with pytest.raises(UsageError, match=said):
        inventory.load(file).find(address)


def test_only_the_users_own_file_may_be_missing(file, tmp_path, monkeypatch):
    monkeypatch.delenv(inventory.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    assert inventory.load().boards == ()
    with pytest.raises(UsageError, match="there is no inventory"):
        inventory.load(file)
    monkeypatch.setenv(inventory.VARIABLE, str(file))
    with pytest.raises(UsageError, match="there is no inventory"):
        inventory.load()


def test_power_is_switched_by_a_shell(tmp_path):
    log = tmp_path / "log"
    paused = []
    SwitchedPower(off=f"echo off >> {log}", on=f"echo on >> {log}").cycle(2.5, paused.append)
    assert log.read_text() == "off\non\n"
    assert paused == [2.5]


def test_power_comes_back_even_if_the_pause_fails(tmp_path):
    log = tmp_path / "log"

    def fail(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SwitchedPower(off=f"echo off >> {log}", on=f"echo on >> {log}").cycle(1, fail)
    assert log.read_text() == "off\non\n"


def test_commands_that_fail_or_do_not_end_are_told():
    with pytest.raises(InfrastructureError, match="ended with 3: no such relay"):
        controls.act("echo no such relay; exit 3")
    before = time.monotonic()
    with pytest.raises(InfrastructureError, match="was not done within 0.05 s"):
        controls.act("sleep 30 & sleep 30", within_s=0.05)
    assert time.monotonic() - before < 10


def test_a_relay_board_is_asked_over_http():
    asked = []

    class Relay(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404 if "bad" in self.path else 200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Relay) as server:
        serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            controls.act(f"{url}/on?3")
            with pytest.raises(InfrastructureError, match="HTTP Error 404"):
                controls.act(f"{url}/bad")
        finally:
            server.shutdown()
            serving.join()
    assert asked == ["/on?3", "/bad"]
    with pytest.raises(InfrastructureError, match="refused"):
        controls.act(f"{url}/on?3")


def test_a_served_board_is_switched_by_its_control_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heard = []

        def answer_three():
            for said in (b"ok\n", b"ok\n", b"err no-board b1\n"):
                connection, _ = listener.accept()
                with connection:
                    heard.append(connection.recv(100).decode())
                    connection.sendall(said)

        answering = Thread(target=answer_three)
        answering.start()
        board = ServedBoard("127.0.0.1", listener.getsockname()[1], "b1")
        board.cycle(0.5, lambda _: None)
        with pytest.raises(InfrastructureError, match="unplug b1: err no-board"):
            board.plug(False)
        answering.join()
    assert heard == ["off b1\n", "on b1\n", "unplug b1\n"]
