#include "sim/wire/pcapng.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/core/descriptor.hpp"
#include "sim/core/output_file.hpp"

namespace wizloop::wire {
namespace {

constexpr std::uint32_t section_header_block = 0x0A0D0D0A;
constexpr std::uint32_t interface_description_block = 1;
constexpr std::uint32_t enhanced_packet_block = 6;
constexpr std::uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr std::uint16_t link_type_ethernet = 1;

constexpr std::uint16_t option_end = 0;
constexpr std::uint16_t option_comment = 1;
constexpr std::uint16_t option_if_name = 2;
constexpr std::uint16_t option_shb_userappl = 4;
constexpr std::uint16_t option_if_tsresol = 9;

constexpr std::uint8_t decimals_of_a_second = 9;
constexpr std::size_t longest_option = 0xFFFF;
constexpr std::size_t buffer_bytes = 64 * 1024;
constexpr std::size_t largest_block = max_frame_bytes + 64;
constexpr std::size_t most_waiting_bytes = 1024 * 1024;
constexpr std::size_t worth_moving_bytes = 32 * 1024;  // half of what a pipe holds
constexpr int last_wait_ms = 100;                      // for a reader that stalls, at the end

Bytes bytes_of(std::string_view text) {
  return Bytes{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}.first(
      std::min(text.size(), longest_option));
}

}  // namespace

Result<std::unique_ptr<PcapngWriter>> PcapngWriter::open(const std::filesystem::path& path,
                                                         std::string_view interface_name, std::string_view comment) {
  const Result<int> file = output::open(path);
  if (!file) return file.error();
  std::unique_ptr<PcapngWriter> writer{new PcapngWriter{path, file.value()}};

  const std::size_t section = writer->begin_block(section_header_block);
  writer->put32(byte_order_magic);
  writer->put16(1);           // major version
  writer->put16(0);           // minor version
  writer->put32(0xFFFFFFFF);  // section length: not given
  writer->put32(0xFFFFFFFF);
  writer->put_option(option_comment, bytes_of(comment));
  writer->put_option(option_shb_userappl, bytes_of("wizloop"));
  writer->put_option(option_end, {});
  writer->end_block(section);

  const std::size_t interface = writer->begin_block(interface_description_block);
  writer->put16(link_type_ethernet);
  writer->put16(0);
  writer->put32(0);  // no limit on the captured length
  writer->put_option(option_if_name, bytes_of(interface_name));
  writer->put_option(option_if_tsresol, Bytes{&decimals_of_a_second, 1});
  writer->put_option(option_end, {});
  writer->end_block(interface);

  writer->flush();
  if (writer->error_) return *writer->error_;
  return writer;
}

PcapngWriter::PcapngWriter(std::filesystem::path path, int file) : path_{std::move(path)}, file_{file} {
  buffer_.reserve(buffer_bytes + largest_block);
}

PcapngWriter::~PcapngWriter() { close(); }

void PcapngWriter::never_wait() {
  struct stat what {};
  if (file_ < 0 || ::fstat(file_, &what) != 0 || !S_ISFIFO(what.st_mode)) return;
  if (::fcntl(file_, F_SETFL, O_NONBLOCK) != 0) return;
  waiting_.reserve(most_waiting_bytes);
  never_waits_ = true;
}

void PcapngWriter::write(Instant start, const Frame& frame) {
  if (error_) return;
  if (never_waits_ && waiting_.size() + largest_block > most_waiting_bytes) {
    flush_to_pipe();
    if (waiting_.size() + largest_block > most_waiting_bytes) {
      ++dropped_;
      return;
    }
  }
  const auto stamp =
      static_cast<std::uint64_t>(std::chrono::floor<std::chrono::nanoseconds>(start.time_since_epoch()).count());
  const std::size_t padded = std::max(frame.size, min_frame_bytes);

  const std::size_t packet = begin_block(enhanced_packet_block);
  put32(0);  // the only interface
  put32(static_cast<std::uint32_t>(stamp >> 32));
  put32(static_cast<std::uint32_t>(stamp));
  put32(static_cast<std::uint32_t>(padded));  // captured length
  put32(static_cast<std::uint32_t>(padded));  // length on the wire
  buffer_.insert(buffer_.end(), frame.bytes.begin(), frame.bytes.begin() + static_cast<std::ptrdiff_t>(frame.size));
  buffer_.resize(buffer_.size() + padded - frame.size);
  put_padded({});
  end_block(packet);

  if (write_through_ || buffer_.size() >= buffer_bytes) flush();
}

std::optional<Error> PcapngWriter::close() {
  if (file_ >= 0) {
    flush();
    pollfd room{file_, POLLOUT, 0};
    while (!waiting_.empty() && ::poll(&room, 1, last_wait_ms) > 0) flush_to_pipe();
    if (!waiting_.empty()) fail(EAGAIN);
    if (descriptor::close(std::exchange(file_, -1)) != 0) fail(errno);
  }
  return error_;
}

// The file is little-endian whatever the host is; the byte order magic says so.
void PcapngWriter::put16(std::uint16_t value) {
  buffer_.push_back(static_cast<std::uint8_t>(value));
  buffer_.push_back(static_cast<std::uint8_t>(value >> 8));
}

void PcapngWriter::put32(std::uint32_t value) {
  put16(static_cast<std::uint16_t>(value));
  put16(static_cast<std::uint16_t>(value >> 16));
}

void PcapngWriter::put_padded(Bytes bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  buffer_.resize((buffer_.size() + 3) / 4 * 4);  // the buffer starts with a block, so this aligns within the file
}

void PcapngWriter::put_option(std::uint16_t code, Bytes value) {
  put16(code);
  put16(static_cast<std::uint16_t>(value.size()));
  put_padded(value);
}

// Every block carries its length at both ends; end_block() fills in both.
std::size_t PcapngWriter::begin_block(std::uint32_t type) {
  const std::size_t begin = buffer_.size();
  put32(type);
  put32(0);
  return begin;
}

void PcapngWriter::end_block(std::size_t begin) {
  const auto length = static_cast<std::uint32_t>(buffer_.size() + 4 - begin);
  put32(length);
  std::copy_n(buffer_.end() - 4, 4, buffer_.begin() + static_cast<std::ptrdiff_t>(begin) + 4);
}

void PcapngWriter::flush() {
  if (never_waits_) return flush_to_pipe();
  std::size_t done = 0;
  write_out(buffer_, done);
  if (!error_) written_ += done;
  buffer_.clear();
}

void PcapngWriter::flush_to_pipe() {
  waiting_.insert(waiting_.end(), buffer_.begin(), buffer_.end());
  buffer_.clear();
  const std::size_t before = taken_;
  const bool all = write_out(waiting_, taken_);
  written_ += taken_ - before;
  if (all || error_) {
    waiting_.clear();
    taken_ = 0;
  } else if (taken_ >= worth_moving_bytes) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
}

// From `done` on; false if there is no room for the rest.
bool PcapngWriter::write_out(const std::vector<std::uint8_t>& bytes, std::size_t& done) {
  while (!error_ && done < bytes.size()) {
    const ssize_t count = descriptor::write(file_, bytes.data() + done, bytes.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  return true;
}

void PcapngWriter::fail(int error_number) {
  if (error_) return;
  error_ = Error{fmt::format("{}: cannot write: {}; the capture ends after {} bytes", path_.native(),
                             std::strerror(error_number), written_),
                 ErrorKind::machine};
  // Takes back the part of a block that may have reached the file. Where there is nothing to take back (a pipe, a
  // device) this fails, and nothing is lost.
  if (file_ >= 0 && ::ftruncate(file_, static_cast<off_t>(written_)) != 0) return;
}

}  // namespace wizloop::wire
