"""The least firmware that the cases need: one socket of the chip, by its registers."""

from __future__ import annotations

from wizloop.chip import COMMON, Connection, Testbed, receive_buffer, socket_registers, transmit_buffer

SN_MR, SN_CR, SN_IR, SN_SR, SN_PORT, SN_DIPR, SN_DPORT = 0x00, 0x01, 0x02, 0x03, 0x04, 0x0C, 0x10
SN_RXBUF_SIZE, SN_TX_WR, SN_RX_RSR, SN_RX_RD = 0x1E, 0x24, 0x26, 0x28
OPEN, CONNECT, SEND, RECV = 0x01, 0x04, 0x20, 0x40
TCP, UDP = 0x01, 0x02
ESTABLISHED = 0x17
SIMR = 0x18


class Stream:
    """Socket 0."""

    def __init__(self, testbed: Testbed, buffer_kib: int = 2) -> None:
        self.testbed = testbed
        self.sends = 0
        testbed.write(COMMON, 0x00, b"\x80")  # MR.RST
        while testbed.read(COMMON, 0x00, 1) != b"\x00":
            pass
        testbed.write(COMMON, 0x01, bytes([192, 168, 1, 10, 255, 255, 255, 0, 2, 0, 0, 0, 0, 32, 192, 168, 1, 20]))
        for socket in range(8 if buffer_kib > 2 else 0):
            testbed.write(socket_registers(socket), SN_RXBUF_SIZE, bytes([0 if socket else buffer_kib]))
        while not testbed.read(COMMON, 0x2E, 1)[0] & 1:  # PHYCFGR.LNK
            testbed.advance(0.1)

    def connect_to(self, peer: Connection) -> None:
        """Of port 7 of the PC."""
        self._write(SN_MR, TCP)
        self._write(SN_PORT, 0x10, 0x01)
        self._command(OPEN)
        self._write(SN_DIPR, 192, 168, 1, 10)
        self._write(SN_DPORT, 0, 7)
        self._command(CONNECT)
        while self._read(SN_SR, 1)[0] != ESTABLISHED:
            pass

    def open_udp(self, port: int, interrupts: bool) -> None:
        self._write(SN_MR, UDP)
        self._write(SN_PORT, *divmod(port, 256))
        self._command(OPEN)
        self.testbed.write(COMMON, SIMR, bytes([interrupts]))

    def send(self, data: bytes) -> int:
        """Once there is room; how long the data alone took on SPI, in ps."""
        while int.from_bytes(self._read(0x20, 2), "big") < len(data):  # Sn_TX_FSR
            pass
        at = int.from_bytes(self._read(SN_TX_WR, 2), "big")
        before = self.testbed.now_ps
        self.testbed.write(transmit_buffer(0), at, data)
        spent = self.testbed.now_ps - before
        self._write(SN_TX_WR, *divmod((at + len(data)) & 0xFFFF, 256))
        self._command(SEND)
        self.sends += 1
        while not self._read(SN_IR, 1)[0] & 0x10:  # SENDOK
            pass
        self._write(SN_IR, 0x10)
        return spent

    def received(self) -> int:
        return int.from_bytes(self._read(SN_RX_RSR, 2), "big")

    def read(self, count: int) -> bytes:
        """A look, which leaves it there."""
        return self.testbed.read(receive_buffer(0), int.from_bytes(self._read(SN_RX_RD, 2), "big"), count)

    def move_on(self, count: int) -> None:
        at = int.from_bytes(self._read(SN_RX_RD, 2), "big")
        self._write(SN_RX_RD, *divmod((at + count) & 0xFFFF, 256))
        self._command(RECV)

    def take(self, most: int) -> bytes:
        count = min(most, self.received())
        data = self.read(count) if count else b""
        if count:
            self.move_on(count)
        return data

    def echo_all(self) -> None:
        """Sends every datagram that is there back to where it came from."""
        while self.received():
            self._write(SN_IR, 0x1F)
            header = self.read(8)
            size = int.from_bytes(header[6:], "big")
            data = self.read(8 + size)[8:]
            self.move_on(8 + size)
            self._write(SN_DIPR, *header[:6])
            self.send(data)
        self._write(SN_IR, 0x1F)

    def _read(self, offset: int, count: int) -> bytes:
        return self.testbed.read(socket_registers(0), offset, count)

    def _write(self, offset: int, *data: int) -> None:
        self.testbed.write(socket_registers(0), offset, bytes(data))

    def _command(self, command: int) -> None:
        self._write(SN_CR, command)
        while self._read(SN_CR, 1)[0]:
            pass
