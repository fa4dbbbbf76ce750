#include "sim/testbed/spi_transcript.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "sim/core/hex.hpp"
#include "sim/core/output_file.hpp"
#include "sim/wire/frame.hpp"

namespace wizloop::testbed {
namespace {

constexpr std::string_view magic = "wizloop-spi 1";
constexpr std::size_t most_zeros = 1 << 24;  // in one line

bool all_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The words of a line; at most as many as any line has.
struct Words {
  explicit Words(std::string_view line) {
    while (!line.empty() && count < words.size()) {
      const std::size_t space = std::min(line.find(' '), line.size());
      words[count++] = line.substr(0, space);
      line.remove_prefix(std::min(space + 1, line.size()));
    }
    too_many = !line.empty();
  }
  std::array<std::string_view, 5> words{};
  std::size_t count = 0;
  bool too_many = false;
};

std::int64_t ps(Instant at) { return at.time_since_epoch().count(); }

}  // namespace

Result<std::unique_ptr<TranscriptWriter>> TranscriptWriter::open(const std::filesystem::path& path,
                                                                 const TranscriptHead& head) {
  const Result<std::FILE*> file = output::open_stream(path);
  if (!file) return file.error();
  std::unique_ptr<TranscriptWriter> writer{new TranscriptWriter{path, file.value()}};
  writer->put(fmt::format("{}\nboard {}\nseed {}\n", magic, head.board, head.seed));
  for (const auto& [name, value] : head.settings) writer->put(fmt::format("set {}={}\n", name, value));
  writer->put(fmt::format("note {}\n", head.note));
  return writer;
}

TranscriptWriter::~TranscriptWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

void TranscriptWriter::put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() && error_number_ == 0) error_number_ = errno;
}

// Whoever stops firmware that is ahead of the other boards does so at an instant before its last byte's.
void TranscriptWriter::line(Instant at, std::string_view rest) {
  latest_ = std::max(at, latest_);
  put(fmt::format("{} {}\n", ps(latest_), rest));
}

void TranscriptWriter::bytes(Instant first, Instant last, Bytes mosi, Bytes miso) {
  const bool nothing_sent = all_zero(mosi);
  const bool nothing_read = all_zero(miso);
  last = std::max(last, latest_);
  if (nothing_sent && nothing_read) {
    line(first, fmt::format("X {} .{}", ps(last), mosi.size()));
  } else {
    line(first, fmt::format("X {} {} {}", ps(last), nothing_sent ? "." : hex(mosi), nothing_read ? "." : hex(miso)));
  }
  latest_ = last;
}

void TranscriptWriter::announced(Instant at, Instant first_bit, Bytes frame, bool good) {
  line(at, fmt::format("A {} {}{}", ps(first_bit), good ? "" : "!", hex(frame)));
}

void TranscriptWriter::arrived(Instant at, std::uint64_t frame) { line(at, fmt::format("F {}", frame)); }

std::optional<Error> TranscriptWriter::close(Instant at) {
  line(at, "E");
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_number_ == 0) error_number_ = errno;
  if (error_number_ == 0) return std::nullopt;
  return Error{
      fmt::format("{}: the transcript could not be written whole: {}", path_.string(), std::strerror(error_number_)),
      ErrorKind::machine};
}

Result<std::unique_ptr<TranscriptReader>> TranscriptReader::open(const std::filesystem::path& path) {
  std::ifstream file{path};
  if (!file) {
    const int error_number = errno;
    return Error{fmt::format("{}: cannot be read: {}", path.string(), std::strerror(error_number)),
                 kind_of(error_number)};
  }
  std::unique_ptr<TranscriptReader> reader{new TranscriptReader{path, std::move(file)}};
  if (const auto error = reader->read_head()) return *error;
  return reader;
}

Error TranscriptReader::wrong(std::string_view what) const {
  return Error{fmt::format("{}:{}: {}", path_.string(), line_, what)};
}

std::optional<std::string> TranscriptReader::next_line() {
  if (!held_.empty()) return std::exchange(held_, {});
  std::string line;
  if (!std::getline(file_, line)) return std::nullopt;
  ++line_;
  return line;
}

std::optional<Error> TranscriptReader::read_head() {
  if (next_line() != magic) return wrong(fmt::format("this is no SPI transcript, expected \"{}\"", magic));
  while (auto line = next_line()) {
    const std::size_t space = std::min(line->find(' '), line->size());
    const std::string key = line->substr(0, space);
    const std::string value = line->substr(std::min(space + 1, line->size()));
    if (key == "board") {
      head_.board = value;
    } else if (key == "seed") {
      const auto seed = number_of<std::uint64_t>(value);
      if (!seed) return wrong(fmt::format("seed is \"{}\", expected a whole number", value));
      head_.seed = *seed;
    } else if (key == "set") {
      const std::size_t equals = value.find('=');
      if (equals == std::string::npos) return wrong(fmt::format("set is \"{}\", expected NAME=VALUE", value));
      head_.settings.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    } else if (key == "note") {
      head_.note = value;
    } else {
      held_ = std::move(*line);
      break;
    }
  }
  if (head_.board.empty()) return wrong("the head names no board, expected a line \"board NAME\"");
  return std::nullopt;
}

Result<TranscriptEvent> TranscriptReader::next() {
  const auto line = whole_ ? std::nullopt : next_line();
  if (!line) return TranscriptEvent{.kind = TranscriptEvent::Kind::end, .at = latest_};
  auto event = parse(*line);
  if (!event) return event;
  if (event.value().at < latest_) return wrong("this instant is before the one of the line above");
  latest_ = event.value().kind == TranscriptEvent::Kind::bytes ? event.value().last : event.value().at;
  whole_ = event.value().kind == TranscriptEvent::Kind::end;
  return event;
}

Result<TranscriptEvent> TranscriptReader::parse(std::string_view line) const {
  using Kind = TranscriptEvent::Kind;
  const Words words{line};
  const auto is = [&](std::string_view kind, std::size_t count) {
    return words.words[1] == kind && words.count == count && !words.too_many;
  };
  const auto at = number_of<std::int64_t>(words.words[0]);
  if (!at) return wrong("expected an instant in picoseconds and an event");
  TranscriptEvent event{.at = Instant{picoseconds(*at)}};
  if (is("S", 2) || is("D", 2) || is("E", 2)) {
    event.kind = words.words[1] == "S" ? Kind::select : words.words[1] == "D" ? Kind::deselect : Kind::end;
    return event;
  }
  if (is("X", 4) || is("X", 5)) {
    const auto last = number_of<std::int64_t>(words.words[2]);
    if (!last || *last < *at) return wrong("the last byte's instant is none, or before the first byte's");
    event.kind = Kind::bytes;
    event.last = Instant{picoseconds(*last)};
    if (words.count == 4) {
      const auto zeros =
          words.words[3].starts_with('.') ? number_of<std::size_t>(words.words[3].substr(1)) : std::nullopt;
      if (!zeros || *zeros == 0 || *zeros > most_zeros) return wrong("expected bytes on MOSI and MISO, or \".COUNT\"");
      event.mosi.resize(*zeros);
      event.miso.resize(*zeros);
      return event;
    }
    auto mosi = unhex(words.words[3]);
    auto miso = unhex(words.words[4]);
    if (words.words[3] == "." && miso) mosi.emplace(miso->size());
    if (words.words[4] == "." && mosi) miso.emplace(mosi->size());
    if (!mosi || !miso || mosi->empty() || mosi->size() != miso->size()) {
      return wrong("expected as many bytes on MISO as on MOSI, in upper-case hexadecimal");
    }
    event.mosi = std::move(*mosi);
    event.miso = std::move(*miso);
    return event;
  }
  if (is("A", 4)) {
    const auto first_bit = number_of<std::int64_t>(words.words[2]);
    event.kind = Kind::announced;
    event.good = !words.words[3].starts_with('!');
    auto frame = unhex(words.words[3].substr(event.good ? 0 : 1));
    if (!first_bit || *first_bit < *at || !frame || frame->empty() ||
        frame->size() > std::tuple_size_v<decltype(wire::Frame::bytes)>) {
      return wrong("expected the instant of a frame's first bit and its bytes");
    }
    event.last = Instant{picoseconds(*first_bit)};
    event.mosi = std::move(*frame);
    return event;
  }
  if (is("F", 3)) {
    const auto frame = number_of<std::uint64_t>(words.words[2]);
    if (!frame) return wrong("expected the number of a frame");
    event.kind = Kind::arrived;
    event.frame = *frame;
    return event;
  }
  if (is("C", 3) && (words.words[2] == "in" || words.words[2] == "out")) {
    event.kind = Kind::cable;
    event.good = words.words[2] == "in";
    return event;
  }
  if (is("R", 3) && (words.words[2] == "high" || words.words[2] == "low")) {
    event.kind = Kind::reset_pin;
    event.good = words.words[2] == "high";
    return event;
  }
  if (is("P", 3) && (words.words[2] == "on" || words.words[2] == "off")) {
    event.kind = Kind::supply;
    event.good = words.words[2] == "on";
    return event;
  }
  return wrong(fmt::format("unknown event \"{}\", expected S, X, D, A, F, C, R, P or E with what belongs to it",
                           words.words[1]));
}

}  // namespace wizloop::testbed
