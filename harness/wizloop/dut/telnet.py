"""The telnet (RFC 854) that ser2net and other console servers speak in front of a serial port, for a client that wants bytes.

    telnet = Telnet()
    connection.sendall(telnet.opening)
    data, answer = telnet.receive(connection.recv(65536))
    connection.sendall(answer + telnet.escaped(b"#1 hello\\n"))

Both ways are asked to be binary (RFC 856) and without go-ahead (RFC 858). Whatever else the server offers is refused, its
port control (RFC 2217) included: the port has the settings of the server.
"""

from __future__ import annotations

IAC, DONT, DO, WONT, WILL, SB, SE = 255, 254, 253, 252, 251, 250, 240
BINARY, GO_AHEAD = 0, 3
WANTED = (BINARY, GO_AHEAD)
CR, NUL = 13, 0


class Telnet:
    opening = bytes(byte for option in WANTED for byte in (IAC, WILL, option, IAC, DO, option))

    def __init__(self) -> None:
        self._command = b""  # what there is of one, IAC included
        self._after_cr = False

    def receive(self, raw: bytes) -> tuple[bytes, bytes]:
        """What the port has said, and what is to be answered to the server."""
        if not self._command and IAC not in raw and NUL not in raw:
            self._after_cr = raw.endswith(b"\r") if raw else self._after_cr
            return raw, b""
        data, answer = bytearray(), bytearray()
        for byte in raw:
            if self._command:
                self._command += bytes([byte])
                self._take_command(data, answer)
            elif byte == IAC:
                self._command = bytes([IAC])
            else:
                if not (self._after_cr and byte == NUL):  # CR NUL is a bare CR where the line is not binary
                    data.append(byte)
                self._after_cr = byte == CR
        return bytes(data), bytes(answer)

    def _take_command(self, data: bytearray, answer: bytearray) -> None:
        """Forgets the command once it is whole."""
        kind = self._command[1]
        if kind == SB:  # its inside tells nothing
            end = self._command[2:][-2:]
            if end != bytes([IAC, SE]):
                self._command = self._command[:2] + (b"" if end == bytes([IAC, IAC]) else end[-1:])
                return
        elif kind in (WILL, WONT, DO, DONT):
            if len(self._command) < 3:
                return
            answer += self._answer(kind, self._command[2])
        elif kind == IAC:
            data.append(IAC)
        self._command = b""

    @staticmethod
    def _answer(kind: int, option: int) -> bytes:
        """Nothing to what `opening` has asked for, and to what is refused or ended."""
        if option in WANTED or kind in (WONT, DONT):
            return b""
        return bytes([IAC, DONT if kind == WILL else WONT, option])

    @staticmethod
    def escaped(data: bytes) -> bytes:
        return data.replace(bytes([IAC]), bytes([IAC, IAC]))
