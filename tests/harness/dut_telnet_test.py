"""The telnet of a console server, byte by byte."""

import pytest
from wizloop.dut.telnet import DO, DONT, IAC, SB, SE, WILL, WONT, Telnet

ECHO, COM_PORT, BINARY = 1, 44, 0


@pytest.mark.parametrize("cut", range(29))
def test_the_boards_bytes_are_told_from_the_servers_wherever_they_are_cut(cut):
    raw = bytes([IAC, SB, COM_PORT, 1, IAC, IAC, SE, IAC, SE]) + b"ab\r\0c\0" + bytes([IAC, IAC])
    raw += bytes([IAC, WILL, ECHO, IAC, DO, BINARY, IAC, DO, COM_PORT, IAC, WONT, ECHO])
    assert len(raw) == 29
    telnet = Telnet()
    data, answer = telnet.receive(raw[:cut])
    more, last = telnet.receive(raw[cut:])
    assert data + more == b"ab\rc\0\xff"  # CR NUL is a bare CR
    assert answer + last == bytes([IAC, DONT, ECHO, IAC, WONT, COM_PORT])


def test_what_is_sent_is_escaped_and_opens_a_binary_line():
    assert Telnet.escaped(b"a\xffb") == b"a\xff\xffb"
    assert Telnet.opening[:6] == bytes([IAC, WILL, BINARY, IAC, DO, BINARY])
