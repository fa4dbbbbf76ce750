#include "drivers/patterns/lwip_macraw.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "drivers/w5500/deadline.hpp"
#include "sim/core/bytes.hpp"
#include "sim/core/random.hpp"
#include "sim/lwip/lwip_library.hpp"

#undef tcp_listen  // a macro of lwIP's

namespace patterns {

using wizloop::lwip_address;
using wizloop::LwipStack;

namespace {

constexpr std::uint16_t mtu = 1500;
constexpr std::uint16_t tcp_buffer_bytes = 8 * 1460;  // TCP_WND and TCP_SND_BUF of the core
constexpr std::uint16_t heap_bytes = 16'384;          // MEM_SIZE of the core: no frame is larger
constexpr std::uint32_t link_patience_us = 10'000'000;
constexpr std::uint32_t client_patience_us = 5'000'000;
constexpr std::uint32_t flush_patience_us = 300'000;
constexpr int largest_scale = 4;  // a write that lwIP has no memory for is halved so many times

ip_addr_t address_of(const std::uint8_t (&ip)[4]) { return lwip_address(wizloop::load32(ip)); }

}  // namespace

wizloop::Result<std::unique_ptr<LwipMacraw>> LwipMacraw::create(RawDriver& driver, w5500::Port& port, Core core,
                                                                std::uint64_t seed, Work work) {
  std::unique_ptr<LwipMacraw> library{new LwipMacraw{driver, port, core, std::move(work)}};
  auto stack = LwipStack::create(*library, wizloop::Random{seed}.stream("board.lwip"), tcp_buffer_bytes);
  if (!stack) return stack.error();
  library->stack_ = std::move(stack).value();
  return library;
}

LwipMacraw::LwipMacraw(RawDriver& driver, w5500::Port& port, Core core, Work work)
    : driver_{driver}, port_{port}, core_{core}, work_{std::move(work)}, interface_{std::make_unique<netif>()} {}

LwipMacraw::~LwipMacraw() = default;

// ---- time

std::uint64_t LwipMacraw::now_us() {
  clock_us_ += static_cast<std::uint32_t>(port_.now_us() - static_cast<std::uint32_t>(clock_us_));
  return clock_us_;
}

std::uint32_t LwipMacraw::milliseconds() { return static_cast<std::uint32_t>(now_us() / 1000); }

void LwipMacraw::rest_us(std::uint32_t us) {
  const std::uint64_t end = now_us() + us;
  for (;;) {
    const std::uint32_t due_us = run_background();
    const std::uint64_t now = now_us();
    if (now >= end) return;
    port_.delay_us(static_cast<std::uint32_t>(std::min<std::uint64_t>(end - now, due_us)));
  }
}

void LwipMacraw::rest_while(const bool& waiting) {
  const w5500::Deadline deadline(port_, client_patience_us);
  while (waiting && !deadline.passed()) rest_us(1000);
}

// Not a scope guard: serving moves frames, and a transfer may be left by an exception.
template <typename Function>
auto LwipMacraw::locked(Function function) {
  const auto result = [&] {
    LwipStack::Call lwip{*stack_};
    return function(lwip);
  }();
  if (core_ == Core::arduino_pico) serve();
  return result;
}

// What happens at a tick; in the Arduino core also whenever its lock is released.
void LwipMacraw::serve() {
  if (now_us() >= due_us_) poll();
  due_us_ = now_us() + period_us_;
}

std::uint32_t LwipMacraw::run_background() {
  if (!started_) return never_us;
  if (now_us() >= tick_us_) {
    serve();
    tick_us_ = due_us_;
  }
  return static_cast<std::uint32_t>(tick_us_ - clock_us_);
}

// ---- frames

bool LwipMacraw::begin(const NetConfig& config) {
  if (started_) return false;
  {
    LwipStack::Call lwip{*stack_};
    lwip->lwip_init();
    const ip_addr_t ip = address_of(config.ip);
    const ip_addr_t mask = address_of(config.subnet);
    const ip_addr_t gateway = address_of(config.gateway);
    std::copy(std::begin(config.mac), std::end(config.mac), interface_->hwaddr);
    interface_->hwaddr_len = sizeof config.mac;
    const auto initialise = [](netif* interface) -> err_t {
      interface->name[0] = 'e';
      interface->name[1] = '0';
      interface->mtu = mtu;
      interface->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
      interface->output = static_cast<LwipMacraw*>(interface->state)->stack_->library().etharp_output;
      interface->linkoutput = [](netif* from, pbuf* frame) -> err_t {
        return static_cast<LwipMacraw*>(from->state)->transmit(frame);
      };
      return ERR_OK;
    };
    lwip->netif_add(interface_.get(), &ip.u_addr.ip4, &mask.u_addr.ip4, &gateway.u_addr.ip4, this, initialise,
                    stack_->library().ethernet_input);
    lwip->netif_set_default(interface_.get());
  }
  if (!driver_.begin(config.mac)) return false;
  started_ = true;
  tick_us_ = due_us_ = now_us() + period_us_;
  if (!driver_.link_up()) wait_for_link();
  locked([&](auto& lwip) { return lwip->netif_set_up(interface_.get()), true; });  // announces the address
  return true;
}

void LwipMacraw::wait_for_link() {
  const w5500::Deadline deadline(port_, link_patience_us);
  while (!driver_.link_up() && !deadline.passed()) rest_us(1000);
}

void LwipMacraw::poll() {
  deliver();
  period_us_ = driver_.run(*this);
  LwipStack::Call lwip{*stack_};
  lwip->sys_check_timeouts();
}

std::uint8_t* LwipMacraw::memory_for(std::uint16_t bytes) {
  LwipStack::Call lwip{*stack_};
  const bool room = bytes < heap_bytes && arrived_count_ < arrived_.size();
  arriving_ = room ? lwip->pbuf_alloc(PBUF_RAW, bytes, PBUF_RAM) : nullptr;
  return arriving_ == nullptr ? nullptr : static_cast<std::uint8_t*>(arriving_->payload);
}

void LwipMacraw::accept() {
  arrived_[(first_arrived_ + arrived_count_++) % arrived_.size()] = arriving_;
  LwipStack::Call lwip{*stack_};
  if (lwip.outermost()) deliver();
}

void LwipMacraw::drop() {
  LwipStack::Call lwip{*stack_};
  lwip->pbuf_free(arriving_);
}

void LwipMacraw::deliver() {
  LwipStack::Call lwip{*stack_};
  while (arrived_count_ > 0) {
    pbuf* frame = arrived_[first_arrived_];
    first_arrived_ = (first_arrived_ + 1) % arrived_.size();
    --arrived_count_;
    work_(frame->tot_len);
    if (interface_->input(frame, interface_.get()) != ERR_OK) lwip->pbuf_free(frame);
  }
}

std::int8_t LwipMacraw::transmit(const pbuf* frame) {
  if (frame->tot_len > frame_.size()) return ERR_IF;
  stack_->library().pbuf_copy_partial(frame, frame_.data(), frame->tot_len, 0);
  work_(frame->tot_len);
  return driver_.send_frame(frame_.data(), frame->tot_len) ? ERR_OK : ERR_MEM;
}

// ---- a TCP connection

void LwipMacraw::adopt(tcp_pcb* connection) {
  LwipStack::Call lwip{*stack_};
  connection_ = connection;
  lwip->tcp_arg(connection, this);
  lwip->tcp_recv(connection, [](void* self, tcp_pcb*, pbuf* data, err_t) -> err_t {
    return static_cast<LwipMacraw*>(self)->on_stream(data);
  });
  lwip->tcp_sent(connection, [](void* self, tcp_pcb*, u16_t) -> err_t {
    static_cast<LwipMacraw*>(self)->wants_room_ = false;
    return ERR_OK;
  });
  lwip->tcp_err(connection, [](void* self, err_t) {
    auto* library = static_cast<LwipMacraw*>(self);
    library->connection_ = nullptr;
    library->connecting_ = library->wants_room_ = false;
  });
  lwip->tcp_poll(
      connection,
      [](void* self, tcp_pcb*) -> err_t {
        static_cast<LwipMacraw*>(self)->wants_room_ = false;
        return ERR_OK;
      },
      1);
}

void LwipMacraw::let_go() {
  LwipStack::Call lwip{*stack_};
  lwip->tcp_arg(connection_, nullptr);
  lwip->tcp_recv(connection_, nullptr);
  lwip->tcp_sent(connection_, nullptr);
  lwip->tcp_err(connection_, nullptr);
  lwip->tcp_poll(connection_, nullptr, 0);
  connection_ = nullptr;
  connecting_ = wants_room_ = false;
}

// Null is the end of the stream. If nothing is left to read then, the Arduino core resets the connection.
std::int8_t LwipMacraw::on_stream(pbuf* data) {
  LwipStack::Call lwip{*stack_};
  if (data == nullptr) {
    wants_room_ = false;
    if (stream_ != nullptr || core_ == Core::plain) return ERR_OK;
    tcp_pcb* connection = connection_;
    let_go();
    lwip->tcp_abort(connection);
    return ERR_ABRT;
  }
  if (stream_ != nullptr) {
    lwip->pbuf_cat(stream_, data);
  } else {
    stream_ = data;
    stream_at_ = 0;
  }
  return ERR_OK;
}

bool LwipMacraw::tcp_connect(const Endpoint& peer, std::uint16_t /*local_port*/) {
  run_background();
  if (!started_ || connection_ != nullptr) return false;
  tcp_pcb* connection = locked([](auto& lwip) { return lwip->tcp_new(); });
  if (connection == nullptr) return false;
  adopt(connection);
  taken_ = connecting_ = true;
  const err_t error = locked([&](auto& lwip) {
    const ip_addr_t address = address_of(peer.ip);
    return lwip->tcp_connect(connection_, &address, peer.port, [](void* self, tcp_pcb*, err_t) -> err_t {
      static_cast<LwipMacraw*>(self)->connecting_ = false;
      return ERR_OK;
    });
  });
  if (error == ERR_OK) rest_while(connecting_);
  if (connection_ != nullptr && connection_->state == ESTABLISHED) return true;
  if (connection_ != nullptr) {
    tcp_pcb* given_up = connection_;
    let_go();
    locked([&](auto& lwip) { return lwip->tcp_abort(given_up), true; });
  }
  return false;
}

bool LwipMacraw::tcp_listen(std::uint16_t local_port) {
  run_background();
  if (!started_ || listener_ != nullptr) return false;
  return locked([&](auto& lwip) {
    tcp_pcb* bound = lwip->tcp_new();
    if (bound == nullptr) return false;
    const ip_addr_t any = lwip_address(0);
    if (lwip->tcp_bind(bound, &any, local_port) == ERR_OK) listener_ = lwip->tcp_listen_with_backlog(bound, 5);
    if (listener_ == nullptr) {
      lwip->tcp_close(bound);
      return false;
    }
    lwip->tcp_arg(listener_, this);
    lwip->tcp_accept(listener_, [](void* self, tcp_pcb* accepted, err_t error) -> err_t {
      auto* library = static_cast<LwipMacraw*>(self);
      const bool busy = library->connection_ != nullptr || library->stream_ != nullptr;
      if (error != ERR_OK || busy) return ERR_VAL;
      library->adopt(accepted);
      library->taken_ = false;
      return ERR_OK;
    });
    return true;
  });
}

bool LwipMacraw::tcp_connected() {
  run_background();
  if (!taken_) {
    taken_ = connection_ != nullptr || stream_ != nullptr;
    return taken_;
  }
  return writable() && (connection_->state == ESTABLISHED || stream_ != nullptr);
}

bool LwipMacraw::writable() const {
  return connection_ != nullptr && connection_->state != CLOSE_WAIT && connection_->state != CLOSING;
}

std::uint16_t LwipMacraw::tcp_write(const std::uint8_t* data, std::uint16_t count) {
  run_background();
  std::uint16_t written = 0;
  if (connection_ == nullptr) return 0;
  std::uint64_t progress_us = now_us();
  for (;;) {
    if (write_some(data, count, written)) progress_us = now_us();
    if (written == count || !writable() || now_us() - progress_us > client_patience_us) return written;
    wants_room_ = true;
    rest_while(wants_room_);
    wants_room_ = false;
  }
}

// As much as lwIP takes now; whether that was anything. Each step is a call of its own into lwIP, and the timer may run
// in between and lose the connection.
bool LwipMacraw::write_some(const std::uint8_t* data, std::uint16_t count, std::uint16_t& written) {
  bool any = false;
  int scale = 0;
  while (written < count && writable()) {
    const std::uint16_t left = static_cast<std::uint16_t>(count - written);
    std::uint16_t piece =
        locked([&](auto&) { return static_cast<std::uint16_t>(std::min<u32_t>(connection_->snd_buf, left)); });
    if (piece > (1 << scale)) piece = static_cast<std::uint16_t>(piece >> scale);
    if (piece == 0 || connection_ == nullptr) break;
    const u8_t more = piece < left ? TCP_WRITE_FLAG_MORE : 0;
    const err_t error = locked([&](auto& lwip) {
      return lwip->tcp_write(connection_, data + written, piece, static_cast<u8_t>(TCP_WRITE_FLAG_COPY | more));
    });
    if (error == ERR_OK) {
      written = static_cast<std::uint16_t>(written + piece);
      any = true;
    } else if (error != ERR_MEM || scale++ == largest_scale) {
      break;
    }
  }
  if (any && connection_ != nullptr) locked([&](auto& lwip) { return lwip->tcp_output(connection_); });
  return any;
}

std::uint16_t LwipMacraw::tcp_available() {
  run_background();
  return stream_ == nullptr ? std::uint16_t{0} : static_cast<std::uint16_t>(stream_->tot_len - stream_at_);
}

std::uint16_t LwipMacraw::tcp_read(std::uint8_t* data, std::uint16_t count) {
  run_background();
  std::uint16_t got = 0;
  if (stream_ == nullptr) return 0;
  const std::uint16_t wanted = std::min(count, static_cast<std::uint16_t>(stream_->tot_len - stream_at_));
  while (got < wanted) {
    const auto piece = static_cast<std::uint16_t>(std::min(wanted - got, stream_->len - stream_at_));
    std::memcpy(data + got, static_cast<const std::uint8_t*>(stream_->payload) + stream_at_, piece);
    consume(piece);
    got = static_cast<std::uint16_t>(got + piece);
  }
  return got;
}

// Bytes of the first piece; the window opens by as much.
void LwipMacraw::consume(std::uint16_t bytes) {
  locked([&](auto& lwip) {
    stream_at_ = static_cast<std::uint16_t>(stream_at_ + bytes);
    if (stream_at_ == stream_->len) {
      pbuf* done = stream_;
      stream_ = stream_->next;
      stream_at_ = 0;
      if (stream_ != nullptr) lwip->pbuf_ref(stream_);
      lwip->pbuf_free(done);
    }
    if (connection_ != nullptr) lwip->tcp_recved(connection_, bytes);
    return true;
  });
}

// stop() first waits for the peer to acknowledge all. It calls into lwIP all the while, which puts the timer off, so
// that no acknowledgement can come: with data under way it takes its 300 ms.
void LwipMacraw::tcp_stop() {
  run_background();
  if (connection_ != nullptr) locked([&](auto& lwip) { return lwip->tcp_output(connection_); });
  const bool flushes = core_ == Core::arduino_pico && connection_ != nullptr && connection_->state == ESTABLISHED;
  if (flushes && connection_->snd_buf < tcp_buffer_bytes) {
    port_.delay_us(flush_patience_us);
  }
  if (connection_ != nullptr) {
    tcp_pcb* connection = connection_;
    let_go();
    if (stream_ == nullptr) connection->rcv_wnd = TCP_WND_MAX(connection);
    locked([&](auto& lwip) {
      if (lwip->tcp_close(connection) != ERR_OK) lwip->tcp_abort(connection);
      return true;
    });
  }
  if (stream_ != nullptr) locked([&](auto& lwip) { return lwip->pbuf_free(std::exchange(stream_, nullptr)); });
  stream_at_ = 0;
  taken_ = false;
}

// ---- a UDP port

bool LwipMacraw::udp_open(std::uint16_t local_port) {
  run_background();
  if (!started_ || udp_ != nullptr) return false;
  return locked([&](auto& lwip) {
    udp_ = lwip->udp_new();
    if (udp_ == nullptr) return false;
    const ip_addr_t any = lwip_address(0);
    if (lwip->udp_bind(udp_, &any, local_port) != ERR_OK) {
      lwip->udp_remove(std::exchange(udp_, nullptr));
      return false;
    }
    lwip->udp_recv(
        udp_,
        [](void* self, udp_pcb*, pbuf* data, const ip_addr_t*, u16_t) {
          static_cast<LwipMacraw*>(self)->on_datagram(data);
        },
        this);
    return true;
  });
}

void LwipMacraw::on_datagram(pbuf* data) {
  if (datagram_count_ == datagrams_.size()) {
    LwipStack::Call lwip{*stack_};
    lwip->pbuf_free(data);
    return;
  }
  datagrams_[(first_datagram_ + datagram_count_++) % datagrams_.size()] = data;
}

bool LwipMacraw::udp_send(const Endpoint& to, const std::uint8_t* data, std::uint16_t count) {
  run_background();
  if (udp_ == nullptr) return false;
  pbuf* datagram = locked([&](auto& lwip) { return lwip->pbuf_alloc(PBUF_TRANSPORT, count, PBUF_RAM); });
  if (datagram == nullptr) return false;
  std::memcpy(datagram->payload, data, count);
  const err_t error = locked([&](auto& lwip) {
    const ip_addr_t address = address_of(to.ip);
    return lwip->udp_sendto(udp_, datagram, &address, to.port);
  });
  locked([&](auto& lwip) { return lwip->pbuf_free(datagram); });
  return error == ERR_OK;
}

std::uint16_t LwipMacraw::udp_parse() {
  run_background();
  drop_datagram();
  if (datagram_count_ == 0) return 0;
  datagram_ = datagrams_[first_datagram_];
  first_datagram_ = (first_datagram_ + 1) % datagrams_.size();
  --datagram_count_;
  return datagram_->tot_len;
}

void LwipMacraw::drop_datagram() {
  if (datagram_ != nullptr) locked([&](auto& lwip) { return lwip->pbuf_free(std::exchange(datagram_, nullptr)); });
  datagram_at_ = 0;
}

std::uint16_t LwipMacraw::udp_read(std::uint8_t* data, std::uint16_t count) {
  run_background();
  if (datagram_ == nullptr) return 0;
  const std::uint16_t got = stack_->library().pbuf_copy_partial(datagram_, data, count, datagram_at_);
  datagram_at_ = static_cast<std::uint16_t>(datagram_at_ + got);
  return got;
}

}  // namespace patterns
