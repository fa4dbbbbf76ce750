#include "sim/testbed/spi_recorder.hpp"

#include <algorithm>

namespace wizloop::testbed {

void SpiRecorder::flush() {
  if (run_.mosi.empty()) return;
  writer_->bytes(run_.first, run_.last, run_.mosi, run_.miso);
  run_.mosi.clear();
  run_.miso.clear();
}

void SpiRecorder::select() {
  flush();
  writer_->select(queue_.now());
  target_.select();
}

void SpiRecorder::deselect() {
  flush();
  writer_->deselect(queue_.now());
  target_.deselect();
}

std::uint8_t SpiRecorder::exchange(std::uint8_t mosi) {
  constexpr std::size_t longest_line = 4096;
  const Instant now = queue_.now();
  const Duration step = now - run_.last;
  const bool goes_on =
      !run_.mosi.empty() && run_.mosi.size() < longest_line &&
      (run_.mosi.size() == 1 || (step >= run_.step - picoseconds(1) && step <= run_.step + picoseconds(1)));
  if (!goes_on) {
    flush();
    run_.first = now;
  } else if (run_.mosi.size() == 1) {
    run_.step = step;
  }
  run_.last = now;
  const std::uint8_t miso = target_.exchange(mosi);
  run_.mosi.push_back(mosi);
  run_.miso.push_back(miso);
  return miso;
}

void SpiRecorder::exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  flush();
  // No event falls among these bytes, so all may be taken to pass now.
  run_.first = run_.last = queue_.now();
  run_.mosi.assign(count, 0);
  run_.miso.assign(count, 0);
  if (mosi != nullptr) std::copy_n(mosi, count, run_.mosi.begin());
  target_.exchange_quiet(mosi, run_.miso.data(), count);
  if (miso != nullptr) std::copy(run_.miso.begin(), run_.miso.end(), miso);
  flush();
}

void SpiRecorder::announce(const wire::Frame& frame, Instant at) {
  flush();
  writer_->announced(queue_.now(), at, frame.data(), frame.fcs_good);
  under_way_.emplace_back(&frame, announced_++);
  chip_.announce(frame, at);
}

void SpiRecorder::accept(wire::FramePtr frame, Instant at) {
  flush();
  // Of equal addresses the later one: frames are used over and over, and a pulled cable loses those under way.
  const auto found =
      std::find_if(under_way_.rbegin(), under_way_.rend(), [&](const auto& one) { return one.first == frame.get(); });
  WIZ_ASSERT(found != under_way_.rend());
  writer_->arrived(at, found->second);
  under_way_.erase(under_way_.begin(), found.base());
  chip_.accept(std::move(frame), at);
}

void SpiRecorder::on_reset_pin(bool high) {
  flush();
  writer_->reset_pin(queue_.now(), high);
}

void SpiRecorder::on_supply(bool on) {
  flush();
  writer_->supply(queue_.now(), on);
}

void SpiRecorder::on_cable(bool in) {
  flush();
  writer_->cable(queue_.now(), in);
}

void SpiRecorder::on_select_let_go() {
  flush();
  writer_->deselect(queue_.now());
}

std::optional<Error> SpiRecorder::close() {
  flush();
  return writer_->close(queue_.now());
}

}  // namespace wizloop::testbed
