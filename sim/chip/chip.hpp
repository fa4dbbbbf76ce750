// The W5500: pins on one side (SpiTarget, INTn, RSTn), Ethernet frames on the other. It emits into a wire::FrameSink
// and never sees a cable.
//
//   Chip chip{queue, frames, trace, findings, random};
//   chip.connect(link.transmitter(End::board));
//   chip.plug_in_settled();
//   chip.spi().select(); ...
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/chip/chip_config.hpp"
#include "sim/chip/context.hpp"
#include "sim/chip/interrupt.hpp"
#include "sim/chip/judge.hpp"
#include "sim/chip/phy.hpp"
#include "sim/chip/receiver.hpp"
#include "sim/chip/socket_engine.hpp"
#include "sim/chip/spi_front.hpp"
#include "sim/chip/transmitter.hpp"

namespace wizloop::chip {

// Is told of what comes to the chip other than by SPI and in frames, just before it acts; and of what INTn does.
class PinWitness {
 public:
  virtual void on_reset_pin(bool high) = 0;
  virtual void on_supply(bool on) = 0;
  virtual void on_cable(bool in) = 0;
  virtual void on_select_let_go() = 0;
  virtual void on_intn(bool high) = 0;

 protected:
  ~PinWitness() = default;
};

class Chip final : public wire::FrameSink,
                   private BlockAccess,
                   private InterruptPin::Listener,
                   private InterruptListener,
                   private LinkListener {
 public:
  // Powered up with everything at reset values, no cable, no link. Chance comes from the streams "chip.isn",
  // "chip.group_reports", "chip.memory.tx" and "chip.memory.rx".
  Chip(EventQueue& queue, wire::FramePool& frames, Trace& trace, Findings& findings, const Random& random,
       const ChipConfig& config = {});
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  // Pins.
  SpiTarget& spi() { return *front_in_use_; }
  bool intn() const { return intn_.high(); }
  void connect_intn(InterruptPin::Listener& listener) { intn_listener_ = &listener; }
  void set_rstn(bool high);
  // Whoever writes down what a run did; it outlives the chip's use.
  void add_witness(PinWitness& witness) { witnesses_.push_back(&witness); }
  // The host starts anew and the chip does not notice: what was open stays open, and is judged so.
  void note_host_restart() { judge_.on_host_restart(); }
  // Whoever held SCSn low was reset or has lost its supply.
  void let_select_go();
  // The host sleeps until INTn is low, or has had itself called then.
  void note_intn_awaited() { judge_.on_intn_awaited(sir()); }
  void set_pmode_pins(std::uint8_t code) { phy_.set_pmode_pins(code); }

  // Faults of its own that a run plans; the faults outlive the chip.
  void inject(Faults& faults) { context_.faults = ChipFaults::of(faults); }
  // The supply. Without it the chip hears nothing and there is no link; when it comes back the chip starts anew, and
  // its PHY with it.
  void set_power(bool on);
  // The supply is down from now on for so long.
  void brown_out(Duration down);

  // Cable.
  void connect(wire::FrameSink& sink) { transmitter_.connect(sink); }
  void plug(bool in);
  // The far end of that cable: by default it negotiates and offers all that 10/100 Mbit/s knows. From the next
  // negotiation on.
  void set_link_partner(const wire::LinkAbilities& partner) { phy_.set_partner(partner); }
  // Told how both ends use the cable from now on, whenever the link has come up; and once at once if it is up.
  void on_link_up(std::function<void(const wire::LinkModes& modes)> listener);
  // A cable to a live partner, negotiated long ago.
  void plug_in_settled() { phy_.plug_in_settled(); }
  // A frame from the cable; its last bit has just come in.
  void accept(wire::FramePtr frame, Instant at) override;
  void announce(const wire::Frame& frame, Instant at) override;

  // The chip itself is what firmware would be waiting for: a frame in preparation, one in reception, SENDOK on its way.
  bool busy() const { return engine_.busy() || frames_in_reception_ > 0; }
  std::uint64_t records_dropped() const { return engine_.records_dropped(); }
  const BufferUse& buffer_use() const { return judge_.buffer_use(); }
  double supply_current_ma(bool transmitting) const { return phy_.supply_current_ma(transmitting); }

  // For another SPI front than its own, which takes its place before anything is exchanged, and outlives the chip's
  // use.
  struct BehindFront {
    BlockAccess& blocks;
    Quirks& quirks;
  };
  BehindFront behind_front() { return {*this, context_.quirks}; }
  void set_front(Front& front) {
    front_in_use_ = &front;
    judge_.watch(front.frame_log());
  }

  // One byte of any block, as the host would read it, without any time or side effect.
  std::uint8_t peek(Block block, std::uint16_t offset);

  // The switches and the latencies, and which of them this run has asked for so far.
  const Quirks& quirks() const { return context_.quirks; }
  const LatenciesInUse& latencies() const { return context_.latencies; }

 private:
  std::uint8_t fetch_register(Block block, std::uint16_t offset) override;
  void write_register(Block block, std::uint16_t offset, std::uint8_t value) override;
  std::uint8_t read_register(Block block, std::uint16_t offset, std::uint8_t value, std::uint16_t next) override;
  Ring& ring(Block block) override;
  void note_select() override {
    high_byte_of_.reset();
    context_.frame_began = context_.queue.now();
  }
  void note_data_begins(Block block, std::uint16_t offset, bool is_write) override {
    judge_.on_data_begins(block, offset, is_write);
  }
  void note_data_ends(std::size_t bytes) override { judge_.on_data_ends(bytes); }
  void note_deselect(std::size_t header_bytes, std::size_t data_bytes) override {
    judge_.on_deselect(header_bytes, data_bytes);
  }
  void note_ignored() override {
    if (rstn_ && !held_) context_.quirks.touch(Quirk::spi_before_pll);
    judge_.on_ignored_bytes();
  }
  void on_interrupts_changed() override;
  void on_intn(bool high) override;
  void on_link_changed() override;

  void look_for_overlap(Instant first_bit, Instant last_bit);
  std::uint8_t read_otherwise(Block block, std::uint16_t offset, std::uint8_t value, std::uint16_t next);
  std::uint8_t register_value(Block block, std::uint16_t offset);
  std::uint8_t reserved_value() const;
  std::uint8_t shown_status(const Socket& socket) const;
  std::uint8_t fetch_common(std::uint16_t offset) const;
  std::uint8_t fetch_socket(const Socket& socket, std::uint16_t offset);
  std::uint8_t fetch_wide(const Socket& socket, std::uint16_t offset, std::uint16_t first);
  std::uint16_t wide_value(const Socket& socket, std::uint16_t first);
  Ring& ring_of(Block block);
  void touch_questions_behind(Block block, std::uint16_t offset);
  void write_common(std::uint16_t offset, std::uint8_t value);
  void write_socket(Socket& socket, std::uint16_t offset, std::uint8_t value);
  std::uint8_t sir() const;
  void carve_memories();
  void reset_registers();
  void drive_reset(bool high);
  void hold_in_reset();
  void software_reset();
  std::uint8_t unseen(const LatestCauses& causes) const {
    return causes.unseen(context_.queue.now(), context_.frame_began);
  }
  bool resetting() const { return context_.queue.now() < reset_until_; }

  Context context_;
  Judge judge_{context_};
  Phy phy_;
  Transmitter transmitter_;
  SocketEngine engine_;
  Receiver receiver_;
  InterruptPin intn_;
  SpiFront front_;
  Front* front_in_use_ = &front_;
  Timer pll_timer_;
  bool held_ = false;  // RSTn is low, and the chip has noticed
  bool rstn_ = true;
  Instant fell_at_{};                          // RSTn
  Instant reset_until_ = Instant::min();       // MR.RST reads 1, registers 0, and writes are lost
  Instant version_valid_from_;                 // VERSIONR reads 0 before
  std::optional<std::uint16_t> high_byte_of_;  // the 16-bit register of which this frame has fetched the high byte
  bool halves_differ_ = false;                 // its low byte is another one by now: wide_read is the question
  std::uint16_t pending_causes_ = 0;           // IR & IMR, SIR & SIMR
  int frames_in_reception_ = 0;
  std::function<void(const wire::LinkModes&)> link_up_listener_;
  InterruptPin::Listener* intn_listener_ = nullptr;
  std::vector<PinWitness*> witnesses_;
};

}  // namespace wizloop::chip
