// The SPI front: two address bytes, a control byte, data (datasheet 2.2 to 2.4). It turns bytes on the pins into
// accesses of blocks, in variable (VDM) and fixed (FDM, 1, 2 or 4 bytes) data length mode.
//
// A MISO byte is fetched at the last edge of the byte before; a MOSI byte takes effect at its own last edge, and a byte
// cut short takes none. While the header goes in, MISO shows 01 02 03. Where nobody knows, Quirks decide.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/chip/buffer_memory.hpp"
#include "sim/chip/quirks.hpp"
#include "sim/chip/spi_target.hpp"

namespace wizloop::chip {

// The five block select bits (datasheet 2.2.2): 0 is the common block; socket n has its registers at 4n+1, its TX
// buffer at 4n+2, its RX buffer at 4n+3; the rest is reserved.
struct Block {
  std::uint8_t bsb = 0;

  bool is_common() const { return bsb == 0; }
  bool is_socket_registers() const { return (bsb & 3) == 1; }
  bool is_tx_buffer() const { return (bsb & 3) == 2; }
  bool is_rx_buffer() const { return (bsb & 3) == 3; }
  bool is_reserved() const { return (bsb & 3) == 0 && bsb != 0; }
  int socket() const { return bsb >> 2; }
  // Of register blocks, for tables: 0 is the common one, n + 1 socket n's.
  std::size_t row() const { return static_cast<std::size_t>(bsb + 3) >> 2; }
};

// Whether the datasheet has a register at this byte; a reserved block has none.
inline bool holds_register(Block block, std::uint16_t offset) {
  if (block.is_common()) return holds_common_register(offset);
  return block.is_socket_registers() && holds_socket_register(offset);
}

// The beginning of the frame that goes on, for whoever explains what happened in it. Of a buffer frame the header
// alone: its data are in the ring.
struct FrameLog {
  std::array<std::uint8_t, 3 + 8> mosi{};  // header and data
  std::size_t count = 0;                   // of the bytes kept; 0 while SCSn is high
  bool tells_each = false;                 // who explains asks for all frames: see BlockAccess::note_data_begins()

  bool writes_tx_buffer() const { return count == 3 && (mosi[2] & 0x1C) == 0x14; }  // BSB n*4+2, RWB
};

// What lies behind the front.
class BlockAccess {
 public:
  // Fetches one byte; without any side effect, because a fetch may run ahead of the last byte of a frame.
  virtual std::uint8_t fetch_register(Block block, std::uint16_t offset) = 0;
  virtual void write_register(Block block, std::uint16_t offset, std::uint8_t value) = 0;
  // The host really clocked out a register byte; fetches the one at `next`.
  virtual std::uint8_t read_register(Block block, std::uint16_t offset, std::uint8_t value, std::uint16_t next) = 0;
  // The ring behind a buffer block; may change whenever a register is written.
  virtual Ring& ring(Block block) = 0;
  // SCSn falls; a header is in; the data of a buffer block are over, so many bytes from the header's offset on; SCSn
  // rises, with fewer than three header bytes if the frame was cut short. With fixed lengths several frames may follow
  // one select. Where nothing is amiss most frames tell nothing, and are quicker for it: the header of a register
  // block, and the end of a frame that was not cut short, need to be told only while FrameLog::tells_each.
  virtual void note_select() = 0;
  virtual void note_data_begins(Block block, std::uint16_t offset, bool is_write) = 0;
  virtual void note_data_ends(std::size_t bytes) = 0;
  virtual void note_deselect(std::size_t header_bytes, std::size_t data_bytes) = 0;
  // As many bytes as the shortest frame has fell into a reset. Where SCSn is tied low no deselect tells of them.
  virtual void note_ignored() = 0;

 protected:
  ~BlockAccess() = default;
};

// What the byte is that goes in next.
enum class FramePhase : std::uint8_t { address_high, address_low, control, data, spent };

// What stands between the pins and the blocks: the class below, or RTL that does the same (sim/rtl).
class Front : public SpiTarget {
 public:
  // SCSn rises because whoever held it was reset or has lost its supply: what the frame lacks is nobody's mistake.
  virtual void let_select_go() = 0;
  // Held in reset: MISO stays 0 and nothing takes effect. Afterwards a frame begins, wherever SCSn is.
  virtual void set_held_in_reset(bool held) = 0;
  virtual FrameLog& frame_log() = 0;

 protected:
  ~Front() = default;
};

class SpiFront final : public Front {
 public:
  SpiFront(BlockAccess& access, Quirks& quirks);

  void select() override;
  void deselect() override;
  void let_select_go() override;
  bool is_chip() const override { return true; }
  std::uint8_t exchange(std::uint8_t mosi) override;
  std::uint8_t next_miso() const override { return selected_ && !held_in_reset_ ? next_miso_ : std::uint8_t{0}; }
  std::size_t quiet_bytes() const override;
  void exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) override;

  FrameLog& frame_log() override { return log_; }
  void set_held_in_reset(bool held) override {
    held_in_reset_ = held;
    ignored_bytes_ = 0;
    pending_.reset();
    select_toggles_ = false;
    start_frame();
  }

  // Where it is in its frame, for comparison with another front. Block, direction and address are those of the data.
  FramePhase phase() const { return phase_; }
  Block block() const { return block_; }
  bool is_write() const { return is_write_; }
  std::uint16_t address() const { return address_; }

 private:
  void forget_frame();

  // A byte that waits for ByteCommit::next_byte; `ring` is null for a register.
  struct Pending {
    Ring* ring;
    std::uint16_t address;
    std::uint8_t value;
  };

  void note_ignored(std::size_t count) {
    constexpr std::size_t shortest_frame = 4;
    if (!selected_ || !held_in_reset_) return;
    if (ignored_bytes_ < shortest_frame && ignored_bytes_ + count >= shortest_frame) access_.note_ignored();
    ignored_bytes_ += count;
  }
  bool ignoring() const { return !selected_ || held_in_reset_ || phase_ == FramePhase::spent; }
  // Nothing but buffer memory moves, at once: no header, no register, no length to count down, no address that wraps.
  void note_streaming() {
    streaming_ = !ignoring() && phase_ == FramePhase::data && is_buffer_ && fixed_left_ == 0 && address_ != 0xFFFF &&
                 !(is_write_ && commits_late_);
  }
  void start_frame();
  std::uint8_t stream(std::uint8_t mosi);
  std::uint8_t step(std::uint8_t mosi);
  void begin_data(std::uint8_t control);
  std::size_t fixed_length(std::uint8_t om);
  void write_register(std::uint8_t value);
  void write_buffer(const std::uint8_t* mosi, std::size_t count);
  void commit_pending() {
    if (pending_) [[unlikely]]
      commit();
  }
  void commit();
  void advance_address(std::size_t count) {
    const std::size_t next = address_ + count;
    address_ = static_cast<std::uint16_t>(next);  // from 0xFFFF to 0 in the same block
    if (next > 0xFFFF) note_wrap();
  }
  void note_wrap();
  void finish_data() {
    if (is_buffer_) access_.note_data_ends(data_bytes_ - bytes_before_);
  }
  std::uint8_t fetch() { return is_buffer_ ? ring_->read(address_) : access_.fetch_register(block_, address_); }
  void finish_fixed_bytes(std::size_t count);
  void log(std::uint8_t mosi) {
    if (log_.count < log_.mosi.size()) log_.mosi[log_.count++] = mosi;
  }
  void show_while_written(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count);

  BlockAccess& access_;
  Quirks& quirks_;
  std::array<std::uint8_t, 3> header_miso_;
  bool streaming_ = false;
  bool selected_ = false;
  bool select_toggles_ = false;  // SCSn has risen since reset: it is not tied low
  bool held_in_reset_ = false;
  std::size_t ignored_bytes_ = 0;  // since it is held in reset
  FramePhase phase_ = FramePhase::address_high;
  bool is_write_ = false;
  bool is_buffer_ = false;
  Block block_;
  std::uint16_t address_ = 0;
  std::size_t fixed_left_ = 0;  // 0 in variable data length mode
  Ring* ring_ = nullptr;
  std::uint8_t next_miso_ = 0;
  bool commits_late_ = false;      // byte_commit
  bool writes_show_mosi_ = false;  // write_data_miso
  std::uint8_t writes_show_ = 0;   // without that
  std::uint8_t write_miso_ = 0;    // while data is written: 0x00, 0xFF, or the MOSI byte before
  std::optional<Pending> pending_;
  std::size_t data_bytes_ = 0;    // of this select, for whoever watches
  std::size_t bytes_before_ = 0;  // how many of them belong to frames that are over
  FrameLog log_;
};

}  // namespace wizloop::chip
