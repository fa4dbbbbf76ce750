// What the judge says of the TX and RX memories: whether firmware reads the counters whole, writes and reads where the
// pointers allow it, and takes what has come.
#include <fmt/format.h>

#include <algorithm>

#include "sim/chip/judge.hpp"

namespace wizloop::chip {
namespace {

// From a pointer to an offset, as the ring folds them.
std::size_t distance(std::uint16_t offset, std::uint16_t pointer, std::size_t ring_bytes) {
  return (offset - pointer) & (ring_bytes - 1);
}

}  // namespace

// Counters that tear -------------------------------------------------------------------------------------------------

void Judge::on_counter_read(Block block, std::uint16_t offset, std::uint8_t value) {
  const auto number = static_cast<std::size_t>(block.socket());
  Watched& of = watched_[number];
  if (offset % 2 == 0) {
    if (torn_.any() && of.torn_offset == offset) torn_.reset(number);  // read again
    of.counter_offset = value == fetched_ >> 8 ? offset : std::uint16_t{0};
    of.counter_then = fetched_;
    return;
  }
  const auto counter = static_cast<std::uint16_t>(offset - 1);
  if (of.counter_offset != counter) return;
  of.counter_offset = 0;
  const auto mix = static_cast<std::uint16_t>((of.counter_then & 0xFF00) | value);
  // What it was at either end of the reading is a right answer, however it came about.
  if (mix == of.counter_then || mix == fetched_ || value != (fetched_ & 0xFF)) return;
  torn_.set(number);
  frame_log_->tells_each = true;  // whether it goes on to use them
  of.torn_offset = counter;
  of.torn_value = mix;
}

// Firmware goes on with what it has read.
void Judge::add_torn_read(Watched& of) {
  const std::uint16_t counter = of.torn_offset;
  torn_.reset(static_cast<std::size_t>(of.socket->number));
  add(Rule::torn_read,
      fmt::format("S{} {} read as 0x{:04X}, which it never was", of.socket->number, socket_register_at(counter)->name,
                  of.torn_value),
      of.socket);
}

// Data ---------------------------------------------------------------------------------------------------------------

// While more than most frames have to say is wanted; and of a reserved block.
void Judge::on_told_data(Block block, std::uint16_t offset, bool is_write) {
  accessed_at_[block.row()] = context_.frame_began;
  if (block.is_common() || block.is_socket_registers()) return;
  if (block.is_reserved()) {
    access_.judged = access_.is_write = false;
    return add(Rule::reserved_block, fmt::format("BSB {}", block.bsb));
  }
  use_counters(static_cast<std::size_t>(block.socket()));
  on_buffer_data(block, offset, is_write);
}

void Judge::begin_access(const Socket& socket, std::uint16_t offset, bool is_write) {
  const std::size_t size = (is_write ? context_.tx_memory : context_.rx_memory).ring(socket.number).size();
  if (size == 0) return;
  const bool into_used =
      is_write && distance(offset, socket.tx_wr, size) >= size - std::min<std::size_t>(socket.tx_used(), size);
  access_ = {true, is_write, into_used, !is_write, static_cast<std::size_t>(socket.number), offset, 0};
}

void Judge::on_buffer_data_end(std::size_t bytes) {
  access_.judged = false;
  access_.bytes = bytes;
  Watched& of = watched_[access_.socket];
  if (access_.is_write) {
    finish_write(of, access_.start, bytes, access_.into_used);
  } else {
    finish_read(of, access_.start, bytes);
  }
}

void Judge::finish_read(Watched& of, std::uint16_t start, std::size_t bytes) {
  const Socket& socket = *of.socket;
  const std::size_t size = context_.rx_memory.ring(socket.number).size();
  if (distance(start, socket.rx_rd, size) + bytes > socket.received_size()) {
    add(Rule::read_beyond_received,
        fmt::format("S{} RX {} bytes read from 0x{:04X}, Sn_RX_RD = 0x{:04X}, Sn_RX_RSR = {}", socket.number, bytes,
                    start, socket.rx_rd, socket.received_size()),
        &socket);
  }
  of.data_read = true;
  if (of.ring_blocked) watch_receive(of);
  if (bytes > 1 && start == socket.rx_rd && socket.received_size() > 0) on_read_from_start(of);
}

// Data that is read from its start once more, after so long, was not put off but forgotten. A single byte is a peek,
// which may come as often as it likes.
void Judge::on_read_from_start(Watched& of) {
  const Instant now = context_.queue.now();
  if (of.first_read_at == Instant::max()) of.first_read_at = now;
  if (now - of.first_read_at < limits::receive_overdue) return;
  of.first_read_at = now;
  add(Rule::receive_forgotten,
      fmt::format("S{} RX read again from Sn_RX_RD = 0x{:04X}, no RECV for {} ms", of.socket->number, of.socket->rx_rd,
                  limits::receive_overdue / 1ms),
      of.socket);
}

void Judge::finish_write(Watched& of, std::uint16_t start, std::size_t bytes, bool into_used) {
  const Socket& socket = *of.socket;
  const std::size_t size = context_.tx_memory.ring(socket.number).size();
  const std::size_t used = std::min<std::size_t>(socket.tx_used(), size);
  const bool reaches_used = used > 0 && distance(start, socket.tx_wr, size) + bytes > size - used;
  if (into_used || reaches_used) {
    add(Rule::unsent_bytes_overwritten,
        fmt::format("S{} TX {} bytes written at 0x{:04X}, Sn_TX_WR = 0x{:04X}, Sn_TX_FSR = {}", socket.number, bytes,
                    start, socket.tx_wr, size - used),
        &socket);
  }
  // A transfer that failed and is done again from its start is no second write.
  const bool repeated = of.last_write_bytes != 0 && start == of.last_write_start && bytes >= of.last_write_bytes;
  if (of.written.mark(start, bytes) && !repeated) {
    add(Rule::bytes_written_twice,
        fmt::format("S{} TX {} bytes written at 0x{:04X}, some of them already there", socket.number, bytes, start),
        &socket);
  }
  of.last_write_start = start;
  of.last_write_bytes = bytes;
}

// From the network ---------------------------------------------------------------------------------------------------

void Judge::on_connected(const Socket& socket, std::uint16_t tx_wr_before) {
  Watched& of = watched(socket);
  of.connected_anew = true;
  of.connection_seen = false;
  of.tx_wr_before_connection = tx_wr_before;
  of.written.clear();
  of.last_write_bytes = 0;
}

void Judge::on_received(const Socket& socket) {
  const std::size_t size = context_.rx_memory.ring(socket.number).size();
  if (size - std::min<std::size_t>(socket.received_size(), size) < socket.largest_payload()) on_receive_blocked(socket);
}

void Judge::on_receive_blocked(const Socket& socket) {
  Watched& of = watched(socket);
  of.ring_blocked = true;
  if (of.data_read) watch_receive(of);
}

void Judge::watch_receive(Watched& of) {
  if (of.receive_due != Instant::max()) return;
  of.receive_due = context_.queue.now() + limits::receive_overdue;
  arm(of.receive_due);
}

}  // namespace wizloop::chip
