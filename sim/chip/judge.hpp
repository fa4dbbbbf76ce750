// Looks over the firmware's shoulder: the chip tells it what firmware does, before it takes effect, and the judge adds
// a finding where a rule of the datasheet is broken (sim/core/rules.hpp). It never changes what the chip does; without
// it the chip would behave the same. What only the host's end of the wires can tell (SCLK, MISO as sampled) is judged
// by sim/bus/bus_judge.hpp.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/chip/buffer_use.hpp"
#include "sim/chip/byte_map.hpp"
#include "sim/chip/context.hpp"
#include "sim/chip/socket.hpp"
#include "sim/chip/spi_front.hpp"
#include "sim/core/limits.hpp"
#include "sim/core/timer.hpp"
#include "sim/wire/link_mode.hpp"

namespace wizloop::chip {

class Judge {
 public:
  explicit Judge(Context& context) : context_{context}, watch_timer_{context.queue} {}
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  // What it looks at, told once: the frame on the pins, and each of the sockets.
  void watch(FrameLog& frame) { frame_log_ = &frame; }
  void watch(const Socket& socket) { watched_[static_cast<std::size_t>(socket.number)].socket = &socket; }

  // Pins. The host restarts without the chip: whatever it had open is nobody's now.
  void on_reset_pin(bool high);
  void on_host_restart();
  // All registers go back to their reset values.
  void on_reset();
  // SIR, and whether INTn is asked to be low; on each change of either, of a mask, and of a cause.
  void on_interrupts(std::uint8_t sir, bool asserted);
  // The host sleeps until INTn is low.
  void on_intn_awaited(std::uint8_t sir) {
    if (wants_interrupts_) return;
    wants_interrupts_ = true;
    watch_masked(sir);
  }

  // SPI. SCSn rises; `header_bytes` below 3 means that the frame was cut short. Of others it is told while it asks so,
  // as of the headers of register blocks: FrameLog::tells_each.
  void on_deselect(std::size_t header_bytes, std::size_t data_bytes);
  // Bytes went in while the chip was in reset.
  void on_ignored_bytes();
  // A header is in; its data are over, so many bytes from `offset` on, which was not folded into the ring yet.
  void on_data_begins(Block block, std::uint16_t offset, bool is_write) {
    const bool is_buffer = block.is_tx_buffer() || block.is_rx_buffer();
    if (frame_log_->tells_each || !is_buffer) [[unlikely]]
      return on_told_data(block, offset, is_write);
    on_buffer_data(block, offset, is_write);
  }
  void on_data_ends(std::size_t bytes) {
    if (access_.reads_rx) use_.rx_bytes_read += bytes;
    if (access_.judged && bytes != 0) on_buffer_data_end(bytes);
  }

  // Registers. A 16-bit register is two reads, high byte first. Most reads go on with a poll, of a register that
  // exists, and this is all they cost; all others are told by one of the two calls that follow it.
  bool on_poll(Block block, std::uint16_t offset, std::uint8_t value) {
    if (offset >= poll_offsets) return false;
    Poll& poll = polls_[block.bsb][offset];
    return poll.known == (static_cast<std::uint32_t>(poll_epoch_) | value) && --poll.reads_to_look != 0;
  }
  void on_register_read(Block block, std::uint16_t offset, std::uint8_t value);
  // A byte of a 16-bit register is made ready for MISO; `whole` is what the register holds then.
  void on_wide_fetch(std::uint16_t whole) { fetched_ = whole; }
  void on_reserved_read(Block block, std::uint16_t offset);
  void on_register_write(Block block, std::uint16_t offset, std::uint8_t value);

  // Commands; all of them pass on_register_write first.
  void on_illegal_command(const Socket& socket, std::uint8_t code);
  // SEND takes over Sn_TX_WR: `length` bytes, where Sn_TX_FSR was `free`.
  void on_send(const Socket& socket, std::uint16_t length, std::uint16_t free);
  void on_send_while_sending(const Socket& socket);
  // PPPoE, by each of its ways in: MR while a socket is opened or an IP frame leaves, Sn_MR at OPEN, a command.
  void on_pppoe_framing();
  // Frames went both ways at once though an end is half duplex.
  void on_collision(const wire::LinkModes& modes);
  // The link is up in a forced mode, and its other end has the other duplex.
  void on_duplex_mismatch(const wire::LinkModes& modes, std::uint8_t phycfgr);

  const BufferUse& buffer_use() const { return use_; }

  // From the network: a connection is up and has set the TX pointers anew; data went into the RX ring, or found no
  // room in it; a datagram was received.
  void on_connected(const Socket& socket, std::uint16_t tx_wr_before);
  void on_received(const Socket& socket);
  void on_receive_blocked(const Socket& socket);
  void on_datagram(const Socket& socket, Bytes payload);

 private:
  // Reads of one register byte; a first one, or one that brings news, begins a poll. One comparison tells a read that
  // goes on with a poll from all others.
  static constexpr std::uint16_t poll_offsets = 64;
  static constexpr std::uint32_t poll_of_counter = 0x100, poll_epoch_step = 0x200;  // above the value
  struct Poll {
    // The value, and above it the epoch, as far as there is room; marked where a byte of a counter was read, which
    // wants more than this comparison.
    std::uint32_t known = poll_of_counter;
    std::uint32_t reads_to_look = 0;  // so many more, and it is time to look at the clock

    std::uint8_t value() const { return static_cast<std::uint8_t>(known); }
  };
  struct PollBegin {
    Instant at{};
    std::uint64_t epoch = 0;
  };

  struct Watched {
    const Socket* socket = nullptr;
    ByteMap written;  // TX bytes that the next SEND may take
    std::uint16_t last_write_start = 0;
    std::size_t last_write_bytes = 0;  // 0: nothing since the last SEND
    bool result_due = false;           // of a SEND: firmware has seen neither SENDOK nor TIMEOUT
    bool connected_anew = false;       // no SEND since the connection came up
    bool connection_seen = false;      // CON was read in Sn_IR since then
    // Sn_SR as the host read it last, and as it had at its last command; none if a command of its own has moved it
    // since.
    std::optional<std::uint8_t> seen_status;
    std::optional<std::uint8_t> status_at_command;
    std::uint16_t tx_wr_before_connection = 0;
    bool leaked = false;                    // opened by an earlier life of the host
    bool data_read = false;                 // and no RECV since
    bool ring_blocked = false;              // no room for what comes, and no RECV since
    std::uint8_t masked_causes = 0;         // in Sn_IR, let through by Sn_IMR and kept from INTn by SIMR
    Instant masked_since = Instant::max();  // the youngest of them, if nobody has come
    Instant receive_due = Instant::max();
    Instant first_read_at = Instant::max();  // from the start of what is there; no RECV since
    // A 16-bit counter under way: the host has its high byte.
    std::uint16_t counter_offset = 0;
    std::uint16_t counter_then = 0;  // its value when that byte was fetched
    std::uint16_t torn_offset = 0;   // while `torn_`
    std::uint16_t torn_value = 0;
  };

  // The buffer access that goes on.
  struct BufferAccess {
    bool judged = false;
    bool is_write = false;
    bool into_used = false;  // its first byte went where bytes still had to be sent
    bool reads_rx = false;
    std::size_t socket = 0;
    std::uint16_t start = 0;
    std::size_t bytes = 0;  // once they are over
  };

  Watched& watched(const Socket& socket) { return watched_[static_cast<std::size_t>(socket.number)]; }
  Evidence evidence(const Socket* socket) const;
  void add(Rule rule, std::string_view seen, const Socket* socket = nullptr);

  void add_early_access();
  void on_told_data(Block block, std::uint16_t offset, bool is_write);
  void on_buffer_data(Block block, std::uint16_t offset, bool is_write) {
    access_.judged = access_.is_write = false;
    access_.reads_rx = block.is_rx_buffer() && !is_write;
    note_progress();
    // The host may read its TX data and use what is not in use as plain memory.
    if (block.is_tx_buffer() != is_write) return;
    const Socket& socket = *watched_[static_cast<std::size_t>(block.socket())].socket;
    if (socket.status() != sn_sr::CLOSED) begin_access(socket, offset, is_write);
  }
  void begin_access(const Socket& socket, std::uint16_t offset, bool is_write);
  void on_buffer_data_end(std::size_t bytes);
  void finish_read(Watched& of, std::uint16_t start, std::size_t bytes);
  void on_read_from_start(Watched& of);
  void finish_write(Watched& of, std::uint16_t start, std::size_t bytes, bool into_used);

  void note_progress() { poll_epoch_ += poll_epoch_step; }
  bool is_awaited(Block block, std::uint16_t offset, std::uint8_t value) const;
  void note_look(Watched& of, std::uint16_t offset, std::uint8_t value);
  void check_poll(Block block, std::uint16_t offset);
  // Both bytes of Sn_TX_FSR and of Sn_RX_RSR.
  static bool is_counter(std::uint16_t offset) {
    return offset / 2 == socket::Sn_TX_FSR / 2 || offset / 2 == socket::Sn_RX_RSR / 2;
  }
  void on_counter_read(Block block, std::uint16_t offset, std::uint8_t value);
  void use_counters(std::size_t socket) {
    if (torn_[socket]) [[unlikely]]
      add_torn_read(watched_[socket]);
  }
  void add_torn_read(Watched& of);

  void on_common_write(std::uint16_t offset, std::uint8_t value);
  void on_socket_write(const Socket& socket, std::uint16_t offset, std::uint8_t value);
  void on_size_write(const Socket& socket, std::uint16_t offset, std::uint8_t value);
  static bool came_after_the_look(const Watched& of);
  void on_command(const Socket& socket, std::uint8_t code);
  void on_open(const Socket& socket);
  void on_pppoe_command(const Socket& socket, std::uint8_t code);
  void check_addresses(const Socket& socket, std::uint8_t code);

  void watch_receive(Watched& of);
  void watch_masked(std::uint8_t sir);
  bool watches_masked() const;
  void judge_masked();
  void arm(Instant at);
  void on_watch_timer();
  bool is_unserved(Instant& since);
  std::string lease_seen() const;

  Context& context_;
  FrameLog* frame_log_ = nullptr;
  std::array<Watched, socket_count> watched_;
  std::uint16_t fetched_ = 0;
  std::bitset<socket_count> torn_;  // a mix was read of it, and not yet read again
  // By Block::row(): in a frame that began then. Kept only while an interrupt is masked, which is what it is for.
  std::array<Instant, 1 + socket_count> accessed_at_{};
  BufferAccess access_;
  BufferUse use_;

  std::array<std::array<Poll, poll_offsets>, 32> polls_{};                     // by BSB and offset
  std::array<std::array<PollBegin, poll_offsets>, 1 + socket_count> began_{};  // by Block::row() and offset
  std::uint64_t poll_epoch_ = poll_epoch_step;                                 // moves with each sign of progress

  bool was_reset_ = false;  // since power-up; or that it was not has been told
  bool rstn_low_ = false;
  Instant rstn_changed_at_{};
  Instant no_access_before_ = Instant::min();
  std::string early_access_;
  bool early_access_told_ = false;  // of the frame that goes on

  // Firmware that never shows that it wants interrupts polls, however rarely: a mask that is set, or a wait for INTn.
  bool wants_interrupts_ = false;
  Instant intn_low_since_ = Instant::max();
  wire::Ipv4Address leased_ = 0;
  Instant lease_due_ = Instant::max();
  Timer watch_timer_;  // the earliest of the conditions above that want a look; armed only while one holds
};

}  // namespace wizloop::chip
