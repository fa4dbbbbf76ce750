#include "sim/net/tcp_connection.hpp"

#include <algorithm>
#include <utility>

#include "sim/lwip/lwip_library.hpp"
#include "sim/net/lwip_host.hpp"

namespace wizloop::net {
namespace {

std::string_view reason(err_t error) {
  switch (error) {
    case ERR_RST:
      return "reset by the peer";
    case ERR_ABRT:
      return "given up: no answer";
    default:
      return "failed";
  }
}

}  // namespace

TcpConnection::TcpConnection(LwipHost& host, User& user) : host_{host}, user_{user}, ack_timer_{host.queue()} {
  host_.connections_.push_back(this);
}

TcpConnection::~TcpConnection() {
  if (pcb_ != nullptr) let_go();
  std::erase(host_.connections_, this);
}

bool TcpConnection::connect(wire::Ipv4Address address, std::uint16_t port) {
  LwipHost::Call lwip{host_};
  take(lwip->tcp_new());
  const ip_addr_t remote = lwip_address(address);
  const err_t error = lwip->tcp_connect(pcb_, &remote, port, [](void* self, tcp_pcb*, err_t) -> err_t {
    static_cast<TcpConnection*>(self)->user_.on_connected();
    return ERR_OK;
  });
  if (error != ERR_OK) close();
  return error == ERR_OK;
}

void TcpConnection::adopt(tcp_pcb* pcb) {
  take(pcb);
  user_.on_connected();
}

void TcpConnection::take(tcp_pcb* pcb) {
  WIZ_ASSERT(pcb_ == nullptr);
  WIZ_ASSERT(pcb != nullptr);
  LwipHost::Call lwip{host_};
  pcb_ = pcb;
  tcp_nagle_disable(pcb);  // it would hold back the segments of half_window, which lwIP takes for small ones
  lwip->tcp_arg(pcb, this);
  lwip->tcp_recv(pcb, [](void* self, tcp_pcb*, pbuf* data, err_t) -> err_t {
    static_cast<TcpConnection*>(self)->receive(data);
    return ERR_OK;
  });
  lwip->tcp_sent(pcb, [](void* self, tcp_pcb*, u16_t bytes) -> err_t {
    auto* connection = static_cast<TcpConnection*>(self);
    connection->user_.on_acknowledged(bytes);
    connection->shut_down_when_sent();
    return ERR_OK;
  });
  lwip->tcp_err(pcb, [](void* self, err_t error) {
    static_cast<TcpConnection*>(self)->pcb_ = nullptr;
    if (error != ERR_CLSD) static_cast<TcpConnection*>(self)->user_.on_lost(reason(error));  // else both are done
  });
}

void TcpConnection::let_go() {
  LwipHost::Call lwip{host_};
  tcp_pcb* pcb = std::exchange(pcb_, nullptr);
  lwip->tcp_arg(pcb, nullptr);
  lwip->tcp_recv(pcb, nullptr);
  lwip->tcp_sent(pcb, nullptr);
  lwip->tcp_err(pcb, nullptr);
  ack_timer_.stop();
}

void TcpConnection::close() {
  if (pcb_ == nullptr) return;
  LwipHost::Call lwip{host_};
  tcp_pcb* pcb = pcb_;
  let_go();
  lwip->tcp_close(pcb);
}

void TcpConnection::abort() {
  if (pcb_ == nullptr) return;
  LwipHost::Call lwip{host_};
  tcp_pcb* pcb = pcb_;
  let_go();
  lwip->tcp_abort(pcb);
}

void TcpConnection::shut_down() {
  shut_down_wanted_ = true;
  shut_down_when_sent();
}

void TcpConnection::shut_down_when_sent() {
  if (!shut_down_wanted_ || pcb_ == nullptr || pcb_->unsent != nullptr) return;
  shut_down_wanted_ = false;
  LwipHost::Call lwip{host_};
  lwip->tcp_shutdown(pcb_, 0, 1);
}

// lwIP cuts segments of at most half the largest window that the peer has offered. For full segments that limit is
// lifted to the largest segment which the peer's window, at its widest, can hold; a segment larger than the window
// would only leave with lwIP's persist timer.
std::size_t TcpConnection::segment_bytes() {
  if (host_.config().profile.segment_rule == SegmentRule::full_mss) {
    const tcpwnd_size_t full = std::min<tcpwnd_size_t>(pcb_->mss, pcb_->snd_wnd);
    pcb_->snd_wnd_max = std::max<tcpwnd_size_t>(pcb_->snd_wnd_max, 2 * full);
  }
  const tcpwnd_size_t half = pcb_->snd_wnd_max / 2;
  return half == 0 ? pcb_->mss : std::min<tcpwnd_size_t>(pcb_->mss, half);
}

std::size_t TcpConnection::write(Bytes data) {
  if (pcb_ == nullptr) return 0;
  LwipHost::Call lwip{host_};
  const std::size_t segment = segment_bytes();
  const std::size_t segments_free = TCP_SND_QUEUELEN - std::min<std::size_t>(TCP_SND_QUEUELEN, pcb_->snd_queuelen);
  const std::size_t room = std::min<std::size_t>(tcp_sndbuf(pcb_), segments_free * segment);
  const std::size_t taken = room < data.size() ? room / segment * segment : data.size();
  if (taken == 0) return 0;
  const err_t error = lwip->tcp_write(pcb_, data.data(), static_cast<u16_t>(taken), TCP_WRITE_FLAG_COPY);
  WIZ_ASSERT(error == ERR_OK);
  lwip->tcp_output(pcb_);
  return taken;
}

void TcpConnection::consume(std::size_t bytes) {
  if (pcb_ == nullptr || bytes == 0) return;
  LwipHost::Call lwip{host_};
  lwip->tcp_recved(pcb_, static_cast<u16_t>(bytes));
}

void TcpConnection::receive(pbuf* data) {
  if (data == nullptr) {
    user_.on_peer_closed();
    return;
  }
  // Called between lwIP's own decision about the ACK and its sending: the flags can still be put right.
  const bool first_unacknowledged = (pcb_->flags & TF_ACK_NOW) == 0;
  std::size_t consumed = 0;
  for (const pbuf* part = data; part != nullptr; part = part->next) {
    consumed += user_.on_data(Bytes{static_cast<const std::uint8_t*>(part->payload), part->len});
  }
  {
    LwipHost::Call lwip{host_};
    lwip->pbuf_free(data);
  }
  if (pcb_ == nullptr) return;
  consume(consumed);

  switch (host_.config().profile.ack_policy) {
    case AckPolicy::immediate:
      tcp_ack_now(pcb_);
      break;
    case AckPolicy::every_second:
      if (first_unacknowledged) schedule_ack();
      break;
    case AckPolicy::delayed: {
      const bool in_order = pcb_->ooseq == nullptr;
      const bool peer_may_send = pcb_->state == ESTABLISHED || pcb_->state == FIN_WAIT_1 || pcb_->state == FIN_WAIT_2;
      if (in_order && peer_may_send) {  // otherwise the ACK is due at once (RFC 5681 4.2)
        tcp_clear_flags(pcb_, TF_ACK_NOW);
        tcp_set_flags(pcb_, TF_ACK_DELAY);
        if (first_unacknowledged) schedule_ack();
      }
      break;
    }
  }
}

// Deadlines only move on, so a timer that is running comes early enough, and starts itself again for the rest.
void TcpConnection::schedule_ack() {
  ack_due_ = host_.queue().now() + host_.config().profile.delayed_ack;
  if (ack_timer_.deadline() == Instant::max()) ack_timer_.start_at(ack_due_, [this] { on_ack_due(); });
}

void TcpConnection::on_ack_due() {
  ack_timer_.stop();
  if (pcb_ == nullptr || (pcb_->flags & TF_ACK_DELAY) == 0) return;  // data or a later ACK has taken it along
  if (host_.queue().now() < ack_due_) {
    ack_timer_.start_at(ack_due_, [this] { on_ack_due(); });
    return;
  }
  LwipHost::Call lwip{host_};
  tcp_clear_flags(pcb_, TF_ACK_DELAY);
  tcp_ack_now(pcb_);
  lwip->tcp_output(pcb_);
}

// lwIP would send a delayed ACK at its own tick of 250 ms. If a retransmission carries the ACK in between, one more is
// sent later, which TCP does not mind.
void TcpConnection::before_lwip_tick() {
  ack_hidden_ = pcb_ != nullptr && (pcb_->flags & TF_ACK_DELAY) != 0;
  if (ack_hidden_) tcp_clear_flags(pcb_, TF_ACK_DELAY);
}

void TcpConnection::after_lwip_tick() {
  shut_down_when_sent();
  if (ack_hidden_ && pcb_ != nullptr) tcp_set_flags(pcb_, TF_ACK_DELAY);
}

TcpListener::TcpListener(LwipHost& host, std::uint16_t port, Accept accept) : host_{host}, accept_{std::move(accept)} {
  LwipHost::Call lwip{host_};
  tcp_pcb* bound = lwip->tcp_new();
  const ip_addr_t any = lwip_address(0);
  const err_t error = lwip->tcp_bind(bound, &any, port);
  WIZ_ASSERT(error == ERR_OK);  // one service for each port
  pcb_ = lwip->tcp_listen_with_backlog(bound, TCP_DEFAULT_LISTEN_BACKLOG);
  WIZ_ASSERT(pcb_ != nullptr);
  lwip->tcp_arg(pcb_, this);
  lwip->tcp_accept(pcb_, [](void* self, tcp_pcb* accepted, err_t outcome) -> err_t {
    if (outcome != ERR_OK) return outcome;
    return static_cast<TcpListener*>(self)->accept_(accepted) ? ERR_OK : ERR_VAL;
  });
}

TcpListener::~TcpListener() {
  LwipHost::Call lwip{host_};
  lwip->tcp_close(pcb_);
}

}  // namespace wizloop::net
