// Writes frames to a pcapng capture file, with virtual timestamps in nanoseconds (IETF draft-ietf-opsawg-pcapng).
//
// A timestamp is the instant at which the frame started on the wire, and counts from the start of the run. Short frames
// are written padded to 60 bytes, as they travel; the FCS is not written.
//
//   Result<std::unique_ptr<PcapngWriter>> capture = PcapngWriter::open("run.pcapng", "cable", "tcp_xmit seed=1");
//   capture.value()->write(start, frame);
//   if (std::optional<Error> error = capture.value()->close()) ...
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/wire/frame.hpp"

namespace wizloop::wire {

class PcapngWriter {
 public:
  // `comment` names the run in the section header.
  static Result<std::unique_ptr<PcapngWriter>> open(const std::filesystem::path& path, std::string_view interface_name,
                                                    std::string_view comment);
  PcapngWriter(const PcapngWriter&) = delete;
  PcapngWriter& operator=(const PcapngWriter&) = delete;
  ~PcapngWriter();

  // Each frame reaches the file at once, so that a capture outlives a process that dies. Off: in pieces of 64 KiB.
  void write_through(bool on) { write_through_ = on; }

  // A pipe whose reader stalls holds nobody up: up to 1 MiB waits for it here, and frames beyond that are dropped and
  // counted. Otherwise write() waits for the reader.
  void never_wait();
  std::uint64_t dropped() const { return dropped_; }

  // Frames come in the order of their instants. After a failed write to the file the rest of the capture is dropped.
  void write(Instant start, const Frame& frame);

  // Why the capture ends before its time; null as long as it does not.
  const Error* error() const { return error_ ? &*error_ : nullptr; }

  // Writes out what is still buffered; the error, if any write of this capture has failed.
  std::optional<Error> close();

 private:
  PcapngWriter(std::filesystem::path path, int file);

  void put16(std::uint16_t value);
  void put32(std::uint32_t value);
  void put_padded(Bytes bytes);
  void put_option(std::uint16_t code, Bytes value);
  std::size_t begin_block(std::uint32_t type);
  void end_block(std::size_t begin);
  void flush();
  void flush_to_pipe();
  bool write_out(const std::vector<std::uint8_t>& bytes, std::size_t& done);
  void fail(int error_number);

  std::filesystem::path path_;
  int file_;
  std::uint64_t written_ = 0;         // bytes in the file, of a regular one always whole blocks
  std::vector<std::uint8_t> buffer_;  // whole blocks on their way to the file
  bool write_through_ = false;
  bool never_waits_ = false;
  std::vector<std::uint8_t> waiting_;  // for the reader of a pipe, from taken_ on; with never_waits_ only
  std::size_t taken_ = 0;
  std::uint64_t dropped_ = 0;
  std::optional<Error> error_;
};

}  // namespace wizloop::wire
