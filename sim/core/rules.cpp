#include "sim/core/rules.hpp"

#include <algorithm>
#include <array>

namespace wizloop {
namespace {

using enum Severity;

constexpr std::array<RuleText, rule_count> texts = {{
    {Rule::sclk_above_rating, "sclk-above-rating", warning, "5.5.4",
     "SCLK is faster than the 33.3 MHz that the datasheet guarantees",
     "an SPI divider chosen for the controller's limit and not for the chip's; good boards run at 42 to 50 MHz, others "
     "lose bits",
     "lower the SPI clock, or announce the finding where the board is known to work"},
    {Rule::sclk_above_limit, "sclk-above-limit", error, "5.5.4",
     "SCLK is faster than 80 MHz, which the chip cannot follow even in theory",
     "a wrong SPI divider, or a profile whose sclk_hz is not in hertz", "lower the SPI clock to 33.3 MHz or less"},
    {Rule::select_high_too_short, "select-high-too-short", error, "5.5.4",
     "SCSn was high for less than 30 ns between two frames, so the chip may miss that one ended",
     "a controller that drives SCSn by itself, with its idle time between frames set to the least",
     "raise the controller's idle time, or drive SCSn by a pin of your own"},
    {Rule::select_setup_too_short, "select-setup-too-short", error, "5.5.4",
     "the first SCLK edge came less than 5 ns after SCSn fell, so the first address bit may be lost",
     "a controller that drives SCSn by itself, with its lead time set to the least",
     "raise the controller's delay between SCSn and SCLK"},
    {Rule::select_hold_too_short, "select-hold-too-short", error, "5.5.4",
     "SCSn rose less than 5 ns after the last SCLK edge, so the last data bit may be lost",
     "SCSn raised when the FIFO is empty but the shift register is not, or no lag time in the controller",
     "wait until the controller is idle (not only its FIFO empty) before SCSn goes high"},
    {Rule::reset_too_short, "reset-too-short", error, "5.5.1", "RSTn was low for less than 500 us",
     "a reset pulse taken over from a W5200 (2 us), or a delay in microseconds that counts loops",
     "hold RSTn low for 500 us at least, then wait 1 ms for the PLL"},
    {Rule::access_before_pll_lock, "access-before-pll-lock", error, "5.5.1",
     "an SPI frame before the PLL has locked, up to 1 ms after RSTn rose: reads give 0 and writes are lost",
     "no wait after the reset pulse", "wait 1 ms after RSTn rises, then poll VERSIONR until it reads 0x04"},
    {Rule::never_reset, "never-reset", note, "5.5.1, 4.1",
     "the first socket was opened in a chip that had not been reset since power-up, neither by RSTn nor by MR.RST",
     "firmware that takes the chip as power-up leaves it: a supply that rises slowly, or a restart of the host alone, "
     "leaves it otherwise",
     "at start hold RSTn low for 500 us and wait 1 ms, or set MR.RST and poll it until it reads 0; announce the note "
     "where the board itself resets the chip"},
    {Rule::spi_mode_unsupported, "spi-mode-unsupported", error, "2.1",
     "SPI mode 1 or 2: the chip samples MOSI on rising SCLK edges and changes MISO on falling ones, as modes 0 and 3 "
     "do",
     "CPOL and CPHA set apart from each other; a master in RTL that moves MOSI with the rising edge",
     "use mode 0 or 3, which move MOSI at the falling edge"},
    {Rule::sclk_pulse_too_short, "sclk-pulse-too-short", error, "5.5.4",
     "SCLK was high or low for less than 6 ns, so the chip may miss an edge although the period is long enough",
     "a clock divider with an uneven duty cycle: one clock high and the rest low",
     "let SCLK be high for as long as low, or divide a slower clock"},
    {Rule::mosi_unsteady, "mosi-unsteady", error, "5.5.4",
     "MOSI moved less than 3 ns before or after a rising edge of SCLK, so the chip may take the bit before or after",
     "a master of mode 1 or 2, whose MOSI moves around the rising edge, or a delay between the two outputs",
     "move MOSI at the falling edge, as modes 0 and 3 do"},
    {Rule::header_cut_short, "header-cut-short", error, "2.2",
     "a frame ended within its three header bytes and had no effect",
     "an SPI transfer that failed or was aborted, or a header sent in a transaction of its own that raises SCSn",
     "keep SCSn low from the first address byte to the last data byte"},
    {Rule::clocks_without_select, "clocks-without-select", warning, "2.2",
     "bytes were clocked while no chip on the bus was selected", "the wrong SCSn pin, or SCSn raised too early",
     "check the pin of SCSn, and that nothing raises it inside a frame"},
    {Rule::two_selects_low, "two-selects-low", error, "2.1",
     "the W5500 and another device of the bus were selected at the same time and both drive MISO",
     "an SD card or display on the same bus, used from an interrupt, or its select pin left floating",
     "give each device its own select with a pull-up, and lock the bus around each frame"},
    {Rule::frame_of_two_threads, "frame-of-two-threads", error, "2.2",
     "one thread selected the chip and another clocked bytes or raised SCSn in the same frame",
     "the bus lock is missing, or is held for a byte instead of a frame",
     "hold one lock from the falling to the rising edge of SCSn, in the interrupt task too"},

    {Rule::reserved_block, "reserved-block", warning, "2.2.2",
     "the control byte selects a reserved block (BSB 4, 8, ... 28)",
     "a probe for another WIZnet chip, or a block number made for one",
     "BSB is 0 for common registers, 4n+1, 4n+2 and 4n+3 for socket n"},
    {Rule::reserved_register, "reserved-register", warning, "3.1, 3.2", "an access to an offset without a register",
     "an offset of another WIZnet chip, or a burst that is longer than the registers",
     "check the offset against the register map"},
    {Rule::write_to_read_only, "write-to-read-only", warning, "4.1, 4.2",
     "a write to a read-only register has no effect",
     "a wrong offset, or the belief that SIR or a counter is cleared by writing",
     "check the offset; SIR is cleared through Sn_IR, counters by SEND and RECV"},
    {Rule::wrong_version, "wrong-version", error, "4.1",
     "VERSIONR did not read 0x04, the first thing that goes wrong when SPI does",
     "told by the value: see what was seen",
     "check power, RSTn, SCSn, MISO and the SPI mode; read 00 39 00 xx, which must give 01 02 03 04"},
    {Rule::reserved_bits_written, "reserved-bits-written", warning, "4.1, 4.2",
     "firmware set bits, or chose a code, that the datasheet reserves",
     "a constant of another chip or mode, or one shifted by a place", "write 0 to reserved bits"},
    {Rule::reserved_bits_read, "reserved-bits-read", error, "4.1, 4.2",
     "the host saw bits set that the chip never sets: SPI sampling, not silicon",
     "MISO sampled one bit early or late (SPI mode, long wires, fast SCLK), or nobody drives it",
     "check CPOL and CPHA, lower SCLK, look at MISO with an analyser"},
    {Rule::illegal_buffer_size, "illegal-buffer-size", error, "4.2",
     "a buffer size other than 0, 1, 2, 4, 8 or 16 KiB gives wrong data",
     "a size code (log2) or a number of bytes in place of KiB", "write the size in KiB"},
    {Rule::buffers_over_committed, "buffers-over-committed", warning, "3.3",
     "a socket was opened while the buffers of all sockets came to more than 16 KiB, so that they overlap",
     "socket 0 enlarged while the others keep their 2 KiB",
     "set the other sockets to 0 KiB before one is enlarged, and all before OPEN"},
    {Rule::buffer_resized_while_open, "buffer-resized-while-open", error, "4.2",
     "a buffer size changed under an open socket: the size of one socket moves the buffers of all that follow it",
     "buffers set per socket right before its OPEN", "set all sizes once, after reset, while all sockets are closed"},

    {Rule::open_on_open_socket, "open-on-open-socket", error, "4.2", "OPEN was given to a socket that is not closed",
     "a socket opened anew for each datagram, or one that was never closed",
     "OPEN once per life of a socket; CLOSE and wait for SOCK_CLOSED before the next"},
    {Rule::illegal_command, "illegal-command", error, "4.2",
     "Sn_CR was given a command that the socket's state or mode does not know",
     "a state that was not looked at before the command; one that the network has changed since is no finding",
     "wait for the state in Sn_SR that the command needs"},
    {Rule::command_while_busy, "command-while-busy", error, "4.2",
     "a command was written while Sn_CR still held the last one", "Sn_CR not polled after a command",
     "poll Sn_CR until it reads 0 after each command, with a deadline"},
    {Rule::send_while_sending, "send-while-sending", error, "4.2",
     "SEND was given before the last SEND had raised SENDOK or TIMEOUT",
     "a send that does not wait, or that takes an old SENDOK for its own",
     "wait for SENDOK or TIMEOUT in Sn_IR before the next SEND"},
    {Rule::send_result_not_cleared, "send-result-not-cleared", warning, "4.2",
     "SEND or CONNECT was given while Sn_IR still showed SENDOK or TIMEOUT of an earlier one, so that nobody can tell "
     "when this one is over",
     "Sn_IR read and not cleared", "write SENDOK and TIMEOUT back to Sn_IR as soon as they are seen"},
    {Rule::close_without_disconnect, "close-without-disconnect", warning, "4.2",
     "CLOSE of an established connection: nothing is sent, the peer keeps half a connection",
     "CLOSE taken for a polite end", "give DISCON and wait for SOCK_CLOSED, with a deadline; CLOSE only after it"},
    {Rule::connection_readdressed, "connection-readdressed", error, "4.2",
     "Sn_DIPR, Sn_DPORT, Sn_DHAR or Sn_PORT was changed while the socket holds a connection: its segments go "
     "elsewhere, "
     "and those of its peer find no socket and draw RST",
     "a socket prepared for its next peer before it was closed, or a write meant for another socket",
     "end the connection (DISCON or CLOSE) and wait for SOCK_CLOSED before writing the next address"},
    {Rule::multicast_without_group, "multicast-without-group", warning, "4.2",
     "a multicast socket was opened without its group in Sn_DIPR and the group's MAC in Sn_DHAR",
     "the group set after OPEN, or on another socket",
     "before OPEN write Sn_DHAR = 01:00:5E + low 23 bits of the group, Sn_DIPR = group, Sn_DPORT = port"},
    {Rule::duplex_mismatch, "duplex-mismatch", warning, "4.1",
     "the PHY is forced to one duplex and the other end of the cable uses the other: the half-duplex end gives up on "
     "frames that meet one of the full-duplex end's, which sees fragments with a bad FCS; a ping passes, load does not",
     "a mode without negotiation, by OPMDC or the pins PMODE2..0, against a partner that negotiates: it finds the "
     "speed by itself and falls back to half duplex",
     "leave negotiation on (OPMDC 111), or force both ends to the same speed and duplex"},
    {Rule::own_mac_missing, "own-mac-missing", warning, "4.1", "a socket is used while SHAR is still 0",
     "SHAR never written (the chip has no MAC of its own), lost by a reset, or SPI writes do not arrive",
     "write SHAR after each reset"},
    {Rule::own_ip_missing, "own-ip-missing", warning, "4.1",
     "a connection or a datagram to one host while SIPR is still 0.0.0.0: no answer can come back",
     "SIPR never written, or lost by a reset", "write SIPR, or wait for DHCP, before talking to a host"},
    {Rule::destination_missing, "destination-missing", warning, "4.2",
     "CONNECT or SEND while Sn_DIPR is 0.0.0.0 or Sn_DPORT is 0", "a destination set on another socket, or after SEND",
     "write Sn_DIPR and Sn_DPORT before CONNECT, and before SEND on a UDP socket"},

    {Rule::unsent_bytes_overwritten, "unsent-bytes-overwritten", error, "4.2",
     "TX data was written over bytes between Sn_TX_RD and Sn_TX_WR that the chip still has to send, or to send again",
     "Sn_TX_FSR not looked at, or the next datagram prepared before SENDOK",
     "write no more than Sn_TX_FSR bytes from Sn_TX_WR on"},
    {Rule::write_beyond_free, "write-beyond-free", error, "4.2", "Sn_TX_WR was advanced by more than Sn_TX_FSR allowed",
     "a length clipped for the data but not for the pointer, or a pointer from before the connection",
     "read Sn_TX_FSR first and write no more than that; read Sn_TX_WR anew after a connection is made"},
    {Rule::uninitialised_bytes_sent, "uninitialised-bytes-sent", error, "4.2",
     "SEND took bytes that firmware had not written since they were last sent",
     "data written at offset 0 in place of Sn_TX_WR, or Sn_TX_WR advanced by more than was written",
     "write the data at the offset that Sn_TX_WR gives, then advance Sn_TX_WR by just as much"},
    {Rule::bytes_written_twice, "bytes-written-twice", warning, "3.3",
     "TX bytes were written a second time before SEND had taken them",
     "a buffer split at the ring's end by hand although the chip folds the offset, or parts of a message written at "
     "the "
     "same Sn_TX_WR",
     "write across the ring's end in one go; keep the offset of the next part yourself until SEND"},
    {Rule::stale_write_pointer, "stale-write-pointer", error, "4.2",
     "Sn_TX_WR was advanced from its value before the connection; the chip sets it anew when the connection comes up",
     "Sn_TX_WR cached from OPEN or taken as 0", "read Sn_TX_WR after SOCK_ESTABLISHED"},
    {Rule::read_beyond_received, "read-beyond-received", error, "4.2",
     "RX data was read outside of what the chip had received: stale bytes",
     "the length asked for taken in place of Sn_RX_RSR, or a wrong offset",
     "read no more than Sn_RX_RSR bytes from Sn_RX_RD on"},
    {Rule::read_pointer_outside, "read-pointer-outside", error, "4.2",
     "RECV with Sn_RX_RD outside of what was received: Sn_RX_RSR becomes nonsense",
     "Sn_RX_RD computed from Sn_TX_WR, folded by hand, or advanced by a length of the wire that was not checked",
     "advance Sn_RX_RD by what was read, at most Sn_RX_RSR, and never fold it"},
    {Rule::receive_forgotten, "receive-forgotten", warning, "4.2",
     "data was read and no RECV has freed it, until the buffer was full and the peer had to wait or lost datagrams, or "
     "until the same data was read again",
     "RECV left out, or put off until more data comes", "write Sn_RX_RD and give RECV after each read"},
    {Rule::torn_read, "torn-read", warning, "4.2",
     "a 16-bit counter changed between its two bytes, and firmware used the mix without reading again",
     "Sn_TX_FSR or Sn_RX_RSR read once", "read it until two reads agree"},

    {Rule::interrupt_masked, "interrupt-masked", warning, "4.1",
     "a socket has an interrupt pending that SIMR keeps from INTn, and firmware that uses interrupts does not come for "
     "it",
     "a mask built with AND, or of one socket only", "set the bit of each open socket in SIMR"},
    {Rule::interrupt_ignored, "interrupt-ignored", warning, "4.1",
     "INTn has been low for long and nobody came: no SPI access",
     "INTn not wired, or an edge-triggered interrupt that missed its edge",
     "wire INTn and use a level trigger, or loop until INTn is high, or poll as well"},
    {Rule::endless_poll, "endless-poll", warning, "4.2",
     "the same register was polled for long and nothing changed: a loop without an exit",
     "a wait that trusts the chip or the network: link down, SENDOK that never comes, SPI dead",
     "give each wait a deadline and a way to recover (CLOSE, or reset)"},
    {Rule::socket_leaked, "socket-leaked", warning, "4.1",
     "a socket that was opened before the host restarted is still open while firmware opens others",
     "a restart of the host leaves the chip powered and running",
     "reset the chip at start, by RSTn or MR.RST, or CLOSE all sockets"},
    {Rule::lease_not_applied, "lease-not-applied", warning, "4.1",
     "a DHCP server granted an address and SIPR does not hold it", "the lease kept in the host alone",
     "write SIPR, SUBR and GAR after DHCPACK"},

    {Rule::not_modelled, "not-modelled", warning, "-", "the chip would react, this model does not yet",
     "a feature that the model leaves out", "do not rest a verdict on this run"},
}};

}  // namespace

const RuleText& text_of(Rule rule) { return texts[static_cast<std::size_t>(rule)]; }

std::optional<Rule> rule_of(std::string_view id) {
  const auto found = std::ranges::find(texts, id, &RuleText::id);
  if (found == texts.end()) return std::nullopt;
  return found->rule;
}

std::string_view name_of(Severity severity) {
  constexpr std::string_view names[] = {"note", "warning", "error"};
  return names[static_cast<std::size_t>(severity)];
}

}  // namespace wizloop
