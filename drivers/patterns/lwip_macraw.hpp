// Firmware with a network stack of its own: lwIP on the board, over the chip's MACRAW mode and any of the raw drivers,
// as the Arduino core for the RP2040 does it (arduino-pico: W5500lwIP and W55RP20lwIP without an interrupt pin,
// WiFiClient, WiFiServer, WiFiUDP). The chip's sockets, ARP and ping have no part in it. README.md says what was read
// and where this departs from it.
//
//   patterns::PicoMacraw driver(bus, port);
//   auto library = patterns::LwipMacraw::create(driver, port, patterns::LwipMacraw::Core::arduino_pico, seed,
//                                               [&](uint16_t bytes) { charge_cpu(bytes); });
//   if (!library) return library.error();
//   library.value()->begin(config);
//
// The driver takes frames out of the chip in turns of its own. In the Arduino core a timer ticks every 20 ms, and takes
// frames only at a tick that no call of the sketch into lwIP has put off: each call puts it off to 20 ms later. So a
// stream that is read as it comes is served at every second tick. That and the window of 8 x 1460 bytes set its pace,
// more than SPI does.
//
// Unlike its neighbours this is for the host only: it needs C++20, the heap, and sim/lwip for its copy of lwIP.
#ifndef WIZLOOP_PATTERNS_LWIP_MACRAW_HPP
#define WIZLOOP_PATTERNS_LWIP_MACRAW_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "drivers/patterns/raw_driver.hpp"
#include "drivers/patterns/socket_library.hpp"
#include "drivers/w5500/port.hpp"
#include "sim/lwip/lwip_stack.hpp"

struct netif;
struct pbuf;
struct tcp_pcb;
struct udp_pcb;

namespace patterns {

class LwipMacraw final : public SocketLibrary, private wizloop::LwipStack::Clock, private RawDriver::Receiver {
 public:
  // What is around lwIP. The Arduino core's timer is put off by each call of the sketch, and it resets a connection
  // that the peer closes when all was read; a plain one does neither.
  enum class Core : std::uint8_t { arduino_pico, plain };

  // Called for each frame that passes through lwIP, in or out: the time that the processor spends on it.
  using Work = std::function<void(std::uint16_t frame_bytes)>;

  // The error is the machine's: there is no lwIP. Driver and port outlive the library; the seed gives lwIP its chance.
  static wizloop::Result<std::unique_ptr<LwipMacraw>> create(RawDriver& driver, w5500::Port& port, Core core,
                                                             std::uint64_t seed, Work work);
  LwipMacraw(const LwipMacraw&) = delete;
  LwipMacraw& operator=(const LwipMacraw&) = delete;
  ~LwipMacraw();

  // Ethernet.config() and begin(): the addresses are lwIP's, the chip learns only the MAC. buffer_kib has no meaning
  // here. Once for each library.
  bool begin(const NetConfig& config) override;

  // WiFiClient::connect. lwIP chooses the source port; gives up after 5 s.
  bool tcp_connect(const Endpoint& peer, std::uint16_t local_port) override;
  // WiFiServer::begin.
  bool tcp_listen(std::uint16_t local_port) override;
  // WiFiClient::connected. A listener: WiFiServer::accept.
  bool tcp_connected() override;
  // Waits up to 5 s for room in the send buffer; returns once lwIP has copied all.
  std::uint16_t tcp_write(const std::uint8_t* data, std::uint16_t count) override;
  std::uint16_t tcp_available() override;
  std::uint16_t tcp_read(std::uint8_t* data, std::uint16_t count) override;
  void tcp_stop() override;

  bool udp_open(std::uint16_t local_port) override;
  bool udp_send(const Endpoint& to, const std::uint8_t* data, std::uint16_t count) override;
  std::uint16_t udp_parse() override;
  std::uint16_t udp_read(std::uint8_t* data, std::uint16_t count) override;

  std::uint32_t run_background() override;

 private:
  LwipMacraw(RawDriver& driver, w5500::Port& port, Core core, Work work);

  std::uint32_t milliseconds() override;
  std::uint64_t now_us();
  // What a sketch sees as delay(): the timer goes on.
  void rest_us(std::uint32_t us);
  // Rests, a millisecond at a time, until `waiting` is false or the limit of 5 s is over.
  void rest_while(const bool& waiting);

  // A call of the sketch into lwIP. At its end frames are taken if that is due, and put off again.
  template <typename Function>
  auto locked(Function function);
  void wait_for_link();
  void serve();
  void poll();
  std::uint8_t* memory_for(std::uint16_t bytes) override;
  void accept() override;
  void drop() override;
  void deliver();
  std::int8_t transmit(const pbuf* frame);

  void adopt(tcp_pcb* connection);
  void let_go();
  bool writable() const;
  bool write_some(const std::uint8_t* data, std::uint16_t count, std::uint16_t& written);
  void consume(std::uint16_t bytes);
  std::int8_t on_stream(pbuf* data);
  void on_datagram(pbuf* data);
  void drop_datagram();

  RawDriver& driver_;
  w5500::Port& port_;
  Core core_;
  Work work_;
  std::uint64_t clock_us_ = 0;
  std::unique_ptr<wizloop::LwipStack> stack_;
  std::unique_ptr<netif> interface_;
  bool started_ = false;
  std::array<std::uint8_t, 1514> frame_{};  // on its way out, in one piece
  std::uint32_t period_us_ = 20'000;        // from one turn of the driver to the next, as it said last
  std::uint64_t tick_us_ = 0;               // the timer's next
  std::uint64_t due_us_ = 0;                // from when on frames are taken
  pbuf* arriving_ = nullptr;                // the driver fills it
  // Taken from the chip in the middle of a call into lwIP, which is to have ended first. One RX buffer holds no more.
  std::array<pbuf*, 256> arrived_{};
  std::size_t first_arrived_ = 0;
  std::size_t arrived_count_ = 0;

  tcp_pcb* listener_ = nullptr;
  tcp_pcb* connection_ = nullptr;
  bool taken_ = false;           // by the sketch; a listener's connection waits for that
  pbuf* stream_ = nullptr;       // received, not yet read
  std::uint16_t stream_at_ = 0;  // how much of its first piece was read
  bool connecting_ = false;
  bool wants_room_ = false;

  udp_pcb* udp_ = nullptr;
  // More than the core has memory for.
  std::array<pbuf*, 256> datagrams_{};
  std::size_t first_datagram_ = 0;
  std::size_t datagram_count_ = 0;
  pbuf* datagram_ = nullptr;  // that udp_parse() found
  std::uint16_t datagram_at_ = 0;
};

}  // namespace patterns

#endif
