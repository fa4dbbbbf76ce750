// The SPI transcript of a run: all that reached the chip at its pins and from its cable, what it answered on MISO, and
// when. A text file, one event per line, which replay.hpp holds against a model or a real chip.
//
//   wizloop-spi 1
//   board w55rp20
//   seed 1
//   set chip.quirk.psh=last_segment
//   note tcp_recv by its byte path
//   1000000 S                        SCSn falls; instants are picoseconds of virtual time
//   1400000 X 2600000 003900 010203  bytes on MOSI and MISO; the eighth edges of the first and of the last, the others
//                                    evenly in between. A side that is all zeros is "."; both: ".16", how many
//   3000000 D                        SCSn rises
//   3100000 A 3200000 FFFFFFFF...    a frame comes from the cable, its first bit at the second instant; "!" before its
//                                    bytes: damaged
//   9000000 F 0                      the last bit of the first such frame is in
//   9000000 C out                    the cable is pulled; "in"
//   9100000 R low                    RSTn falls; "high"
//   9200000 P off                    the supply goes away; "on"
//   9500000 E                        the run is over; a transcript without it was cut short
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/bytes.hpp"
#include "sim/core/result.hpp"
#include "sim/core/time.hpp"

namespace wizloop::testbed {

struct TranscriptHead {
  std::string board;
  std::uint64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> settings;  // of the chip: chip.OPTION, fault.chip_NAME, link.partner
  std::string note;
};

struct TranscriptEvent {
  enum class Kind : std::uint8_t { select, bytes, deselect, announced, arrived, cable, reset_pin, supply, end };

  Kind kind = Kind::end;
  Instant at{};
  Instant last{};                    // bytes: the last one's eighth edge; announced: the first bit
  std::vector<std::uint8_t> mosi{};  // announced: the frame
  std::vector<std::uint8_t> miso{};
  std::uint64_t frame = 0;  // arrived: which of those announced
  bool good = true;         // announced: undamaged; cable: in; reset_pin: high; supply: on
};

class TranscriptWriter {
 public:
  // The error says which file could not be opened, and why.
  static Result<std::unique_ptr<TranscriptWriter>> open(const std::filesystem::path& path, const TranscriptHead& head);
  TranscriptWriter(const TranscriptWriter&) = delete;
  TranscriptWriter& operator=(const TranscriptWriter&) = delete;
  ~TranscriptWriter();

  void select(Instant at) { line(at, "S"); }
  void bytes(Instant first, Instant last, Bytes mosi, Bytes miso);
  void deselect(Instant at) { line(at, "D"); }
  void announced(Instant at, Instant first_bit, Bytes frame, bool good);
  void arrived(Instant at, std::uint64_t frame);
  void cable(Instant at, bool in) { line(at, in ? "C in" : "C out"); }
  void reset_pin(Instant at, bool high) { line(at, high ? "R high" : "R low"); }
  void supply(Instant at, bool on) { line(at, on ? "P on" : "P off"); }

  // Once, at the end of the run. The first thing that went wrong, if anything did.
  std::optional<Error> close(Instant at);

 private:
  TranscriptWriter(std::filesystem::path path, std::FILE* file) : path_{std::move(path)}, file_{file} {}
  void line(Instant at, std::string_view rest);
  void put(std::string_view text);

  std::filesystem::path path_;
  std::FILE* file_;
  int error_number_ = 0;
  Instant latest_ = Instant::min();
};

class TranscriptReader {
 public:
  // Reads the head. The error says file, line and what was expected.
  static Result<std::unique_ptr<TranscriptReader>> open(const std::filesystem::path& path);

  const TranscriptHead& head() const { return head_; }
  // The next event; `end` once the file is over, after which whole() says whether the run was, too.
  Result<TranscriptEvent> next();
  bool whole() const { return whole_; }

 private:
  TranscriptReader(std::filesystem::path path, std::ifstream file) : path_{std::move(path)}, file_{std::move(file)} {}
  std::optional<Error> read_head();
  std::optional<std::string> next_line();
  Result<TranscriptEvent> parse(std::string_view line) const;
  Error wrong(std::string_view what) const;

  std::filesystem::path path_;
  std::ifstream file_;
  TranscriptHead head_;
  std::string held_;  // the first event's line, met while the head was read
  std::uint64_t line_ = 0;
  Instant latest_{};
  bool whole_ = false;
};

}  // namespace wizloop::testbed
