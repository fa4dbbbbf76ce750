"""A board's console on a TCP port, played by a socket of the test."""

import selectors
import socket

import pytest
from wizloop.dut import protocol
from wizloop.dut.address import TcpAddress
from wizloop.dut.agent import Agent
from wizloop.dut.host import Host
from wizloop.dut.line import LineLost
from wizloop.dut.tcp_line import TcpLine
from wizloop.errors import InfrastructureError


@pytest.fixture
def host():
    made = Host()
    yield made
    made.close()


@pytest.fixture
def console(host):
    """Accepts by itself, and answers hello; a closed connection may be followed by another."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections = []

    def on_connection(_):
        connection, _address = listener.accept()
        connections.append(connection)

        def on_input(_):
            for line in connection.recv(4096).decode().split("\n"):
                if " hello" in line:
                    answer = protocol.with_crc(line.split(" ")[0] + " ok board=fake")
                    connection.sendall(answer.encode() + b"\r\n")

        host.watch(connection, selectors.EVENT_READ, on_input)

    host.watch(listener, selectors.EVENT_READ, on_connection)
    yield TcpAddress(*listener.getsockname()), connections
    host.unwatch(listener)
    for each in (listener, *connections):
        each.close()


def test_a_board_is_asked_over_tcp(host, console):
    with TcpLine(console[0], host) as line:
        assert Agent(line).resync()["board"] == "fake"


def test_a_connection_that_ends_is_made_anew_once(host, console):
    address, connections = console
    with TcpLine(address, host) as line:
        agent = Agent(line)
        assert agent.ask("hello")["board"] == "fake"
        host.unwatch(connections[0])
        connections[0].close()
        with pytest.raises(LineLost, match="the far end has closed it.*takes connections again"):
            agent.ask("reset", within=1)
        assert agent.ask("hello")["board"] == "fake"


def test_a_console_that_is_not_there(host):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(InfrastructureError, match=f"cannot connect to tcp:127.0.0.1:{port}: Connection refused"):
        TcpLine(TcpAddress("127.0.0.1", port), host)
