#include "sim/testbed/replay.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/chip/register_map.hpp"
#include "sim/chip/spi_front.hpp"

namespace wizloop::testbed {
namespace {

using Kind = TranscriptEvent::Kind;

constexpr std::size_t header_bytes = 3;

// What the byte at `position` of a frame is about. Frames of fixed lengths follow each other without a select, so what
// is said of such a one is right for the first alone; the bytes are there beside it.
std::string place(const std::vector<std::uint8_t>& mosi, std::size_t position) {
  constexpr std::uint8_t rwb_write = 0x04;
  if (position < header_bytes) return fmt::format("header byte {}", position + 1);
  const auto offset = static_cast<std::uint16_t>(load16(mosi.data()) + position - header_bytes);
  const chip::Block block{static_cast<std::uint8_t>(mosi[2] >> 3)};
  const char* access = (mosi[2] & rwb_write) != 0 ? "write" : "read";
  const chip::RegisterSpec* spec = nullptr;
  if (block.is_common()) spec = chip::common_register_at(offset);
  if (block.is_socket_registers()) spec = chip::socket_register_at(offset);
  std::string what = spec != nullptr ? std::string{spec->name} : fmt::format("offset 0x{:04X}", offset);
  if (spec != nullptr && spec->width > 1)
    what += fmt::format(", byte {} of {}", offset - spec->offset + 1, spec->width);
  if (block.is_common()) return fmt::format("{} of {} in the common block", access, what);
  if (block.is_reserved()) return fmt::format("{} of {} in reserved block {}", access, what, block.bsb);
  const char* memory = block.is_tx_buffer() ? " in the TX buffer" : block.is_rx_buffer() ? " in the RX buffer" : "";
  return fmt::format("{} of {}{} of socket {}", access, what, memory, block.socket());
}

// The frame as an engineer would write it: header, then data; a long one by its header and its end.
std::string shown(const std::vector<std::uint8_t>& mosi) {
  constexpr std::size_t most = 11;
  std::string text;
  for (std::size_t i = 0; i < mosi.size(); ++i) {
    if (mosi.size() > most && i == header_bytes) {
      i = mosi.size() - (most - header_bytes);
      text += " ...";
    }
    text += fmt::format("{}{:02X}", text.empty() ? "" : " ", mosi[i]);
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<ModelReplay>> ModelReplay::create(
    const TranscriptHead& head, const std::vector<std::pair<std::string, std::string>>& settings) {
  std::unique_ptr<ModelReplay> replay{new ModelReplay};
  // What a transfer costs is in the transcript, so that no board is needed.
  TestbedSetup setup{.board = {}, .seed = head.seed, .station = &replay->nobody_};
  for (const auto* given : {&head.settings, &settings}) {
    for (const auto& [name, value] : *given) {
      if (!is_chip_setting(name)) {
        return Error{fmt::format(
            "{} is no setting of the chip; a replay takes chip.OPTION, fault.chip_NAME and link.partner", name)};
      }
      if (const auto applied = apply_setting(setup, name, value); !applied) return applied.error();
    }
  }
  auto bed = Testbed::create(std::move(setup));
  if (!bed) return bed.error();
  replay->bed_ = std::move(bed).value();
  return replay;
}

std::optional<Error> ModelReplay::play(const TranscriptEvent& event, std::vector<std::uint8_t>& miso) {
  EventQueue& queue = bed_->queue();
  chip::Chip& chip = bed_->chip();
  queue.advance_to(event.at);
  switch (event.kind) {
    case Kind::select:
      chip.spi().select();
      break;
    case Kind::bytes: {
      const auto steps = static_cast<std::int64_t>(event.mosi.size()) - 1;
      const Duration span = event.last - event.at;
      for (std::int64_t i = 0; i <= steps; ++i) {
        if (i > 0) queue.advance_to(event.at + Duration{static_cast<std::int64_t>(int128{span.count()} * i / steps)});
        miso.push_back(chip.spi().exchange(event.mosi[static_cast<std::size_t>(i)]));
      }
      break;
    }
    case Kind::deselect:
      chip.spi().deselect();
      break;
    case Kind::announced: {
      wire::FramePtr frame = bed_->frames().copy(event.mosi);
      frame->fcs_good = event.good;
      chip.announce(*frame, event.last);
      announced_.emplace_back(std::move(frame), event.last);
      break;
    }
    case Kind::arrived:
      if (event.frame >= announced_.size() || announced_[event.frame].first == nullptr ||
          event.at < announced_[event.frame].second) {
        return Error{fmt::format("frame {} of the transcript arrives before its first bit", event.frame)};
      }
      chip.accept(std::move(announced_[event.frame].first), event.at);
      break;
    case Kind::cable:
      chip.plug(event.good);
      break;
    case Kind::reset_pin:
      chip.set_rstn(event.good);
      break;
    case Kind::supply:
      chip.set_power(event.good);
      break;
    case Kind::end:
      break;
  }
  return std::nullopt;
}

Result<Replay> replay(TranscriptReader& transcript, ReplayTarget& target) {
  Replay outcome;
  std::vector<std::uint8_t> frame;  // MOSI since SCSn fell
  std::vector<std::uint8_t> miso;
  for (;;) {
    const auto read = transcript.next();
    if (!read) return read.error();
    const TranscriptEvent& event = read.value();
    miso.clear();
    if (const auto error = target.play(event, miso)) return *error;
    if (event.kind == Kind::end) break;
    if (event.kind == Kind::select) frame.clear();
    if (event.kind == Kind::deselect) ++outcome.frames;
    if (event.kind != Kind::bytes) continue;
    WIZ_ASSERT(miso.size() == event.miso.size());
    const auto [recorded, replayed] = std::ranges::mismatch(event.miso, miso);
    const auto equal = static_cast<std::size_t>(recorded - event.miso.begin());
    outcome.bytes += equal;
    if (equal == event.miso.size()) {
      frame.insert(frame.end(), event.mosi.begin(), event.mosi.end());
      continue;
    }
    frame.insert(frame.end(), event.mosi.begin(), event.mosi.begin() + static_cast<std::ptrdiff_t>(equal) + 1);
    outcome.difference = Difference{.at = event.at,
                                    .byte = outcome.bytes,
                                    .frame = outcome.frames,
                                    .recorded = *recorded,
                                    .replayed = *replayed,
                                    .where = place(frame, frame.size() - 1),
                                    .mosi = shown(frame)};
    return outcome;
  }
  outcome.whole = transcript.whole();
  return outcome;
}

}  // namespace wizloop::testbed
