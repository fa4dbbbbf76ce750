#include "tests/interop/avr/avr_board.hpp"

#include <avr_ioport.h>
#include <avr_spi.h>
#include <avr_uart.h>
#include <sim_avr.h>
#include <sim_elf.h>
#include <sim_io.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace wizloop::test {
namespace {

constexpr std::uint32_t cpu_hz = 16'000'000;
constexpr Duration cycle_time = Frequency{cpu_hz}.periods(1);
constexpr avr_cycle_count_t spi_byte_cycles = 16;  // SPI2X, as the port sets it
constexpr avr_cycle_count_t uart_byte_cycles = cpu_hz * 10 / 1'000'000;
constexpr avr_cycle_count_t slice_cycles = 1600;  // 100 us: then the PC has its turn

template <typename Io>
Io* find_io(avr_t* avr, std::string_view kind) {
  for (avr_io_t* io = avr->io_port; io != nullptr; io = io->next) {
    if (io->kind == kind) return reinterpret_cast<Io*>(io);  // each begins with its avr_io_t
  }
  throw std::runtime_error{"simavr knows no such part of this AVR"};
}

}  // namespace

AvrBoard::AvrBoard(const AvrPart& part, const std::filesystem::path& image, board::BoardSetup setup, Chip chip)
    : part_{part}, has_chip_{chip == Chip::there} {
  // The instructions take the time that a board file would state.
  bus::BoardProfile& board = setup.testbed.board;
  board.sclk = Frequency{cpu_hz / 2};
  board.byte.gap = cycle_time;  // at least, until SCSn rises
  board.burst.reset();
  board.dma.reset();
  board.select = board.deselect = board.call = board.interrupt_latency = Duration{};
  auto created = testbed::Testbed::create(std::move(setup.testbed));
  if (!created) throw std::runtime_error{created.error().message};
  testbed_ = std::move(created).value();

  avr_global_logger_set([](avr_t*, int, const char*, va_list) {});
  avr_ = avr_make_mcu_by_name(part.name);
  if (avr_ == nullptr) throw std::runtime_error{std::string{"simavr has no "} + part.name};
  avr_init(avr_);
  load(image);
  connect();
}

AvrBoard::~AvrBoard() {
  avr_terminate(avr_);
  std::free(avr_);
}

void AvrBoard::load(const std::filesystem::path& image) {
  elf_firmware_t firmware{};
  if (elf_read_firmware(image.c_str(), &firmware) != 0) throw std::runtime_error{"no image at " + image.string()};
  firmware.frequency = cpu_hz;
  avr_load_firmware(avr_, &firmware);
  static_ram_bytes_ = static_cast<std::uint16_t>(firmware.datasize + firmware.bsssize);
}

void AvrBoard::connect() {
  avr_->sleep = [](avr_t*, avr_cycle_count_t) {};  // it would sleep in real time
  avr_->run_cycle_limit = 1;                       // so that each instruction's SP is seen
  std::uint32_t uart_flags = 0;                    // nor copy the console to standard output
  avr_ioctl(avr_, AVR_IOCTL_UART_SET_FLAGS('0'), &uart_flags);
  receives_ = avr_io_getirq(avr_, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
  avr_irq_register_notify(
      avr_io_getirq(avr_, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT),
      [](avr_irq_t*, std::uint32_t value, void* self) {
        const auto byte = static_cast<std::uint8_t>(value);
        static_cast<AvrBoard*>(self)->on_output({&byte, 1});
      },
      this);
  if (!has_chip_) return;

  avr_irq_register_notify(
      avr_io_getirq(avr_, AVR_IOCTL_IOPORT_GETIRQ('B'), part_.scsn_pin),
      [](avr_irq_t*, std::uint32_t level, void* self) { static_cast<AvrBoard*>(self)->select(level == 0); }, this);
  intn_ = avr_io_getirq(avr_, AVR_IOCTL_IOPORT_GETIRQ(part_.intn_port), part_.intn_pin);
  avr_raise_irq(intn_, 1);
  spi_ = find_io<avr_spi_t>(avr_, "spi");
  auto& data_register = avr_->io[AVR_DATA_TO_IO(spi_->r_spdr)].w;
  data_register.c = [](avr_t*, avr_io_addr_t, std::uint8_t mosi, void* self) {
    static_cast<AvrBoard*>(self)->exchange(mosi);
  };
  data_register.param = this;
}

void AvrBoard::select(bool selected) {
  if (selected == selected_) return;
  selected_ = selected;
  catch_up();
  if (selected) {
    testbed_->bus().select();
  } else {
    testbed_->bus().deselect();
  }
}

void AvrBoard::exchange(std::uint8_t mosi) {
  avr_regbit_clear(avr_, spi_->spi.raised);
  if (avr_regbit_get(avr_, spi_->spe) == 0 || avr_regbit_get(avr_, spi_->mstr) == 0) return;
  catch_up();
  miso_ = testbed_->bus().exchange(mosi);
  avr_cycle_timer_register(
      avr_, spi_byte_cycles,
      [](avr_t* avr, avr_cycle_count_t, void* self) -> avr_cycle_count_t {
        auto& board = *static_cast<AvrBoard*>(self);
        board.spi_->input_data_register = board.miso_;
        avr_raise_interrupt(avr, &board.spi_->spi);
        return 0;
      },
      this);
}

void AvrBoard::type(std::string_view text) {
  typed_.insert(typed_.end(), text.begin(), text.end());
  if (typing_) return;
  typing_ = true;
  avr_cycle_timer_register(
      avr_, uart_byte_cycles,
      [](avr_t*, avr_cycle_count_t when, void* self) { return static_cast<AvrBoard*>(self)->on_typed(when); }, this);
}

std::uint64_t AvrBoard::on_typed(std::uint64_t at) {
  avr_raise_irq(receives_, typed_.front());
  typed_.pop_front();
  typing_ = !typed_.empty();
  return typing_ ? at + uart_byte_cycles : 0;
}

void AvrBoard::run_once(Duration at_most) {
  const auto cycles =
      std::clamp<avr_cycle_count_t>(static_cast<avr_cycle_count_t>(at_most / cycle_time), 1, slice_cycles);
  const avr_cycle_count_t end = avr_->cycle + cycles;
  while (avr_->cycle < end) {
    const int state = avr_run(avr_);
    if (state == cpu_Done || state == cpu_Crashed) throw std::runtime_error{"the AVR has crashed"};
    lowest_sp_ = std::min(lowest_sp_, stack_pointer());
  }
  catch_up();
}

// What the PC and the wire have done by now.
void AvrBoard::catch_up() {
  const Instant now = Instant{static_cast<std::int64_t>(avr_->cycle) * cycle_time};
  if (testbed_->now() < now) queue().advance_to(now);
  if (!has_chip_ || testbed_->intn_low() == intn_low_) return;
  intn_low_ = !intn_low_;
  avr_raise_irq(intn_, intn_low_ ? 0 : 1);
}

std::uint16_t AvrBoard::stack_pointer() const {
  return static_cast<std::uint16_t>(avr_->data[R_SPL] | avr_->data[R_SPH] << 8);
}

std::uint16_t AvrBoard::deepest_stack_bytes() const {
  return static_cast<std::uint16_t>(part_.ram_start + part_.ram_bytes - 1 - lowest_sp_);
}

}  // namespace wizloop::test
