// A client on the PC that plays a script: so many bytes received, then these are sent, or the connection is shut down.
//
//   ScriptClient client{pc, board_ip, 5201};
//   client.after(1, "{...}").after(2, more).close_after(5);
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "sim/net/lwip_host.hpp"
#include "sim/net/tcp_connection.hpp"

namespace wizloop::test {

class ScriptClient final : private net::TcpConnection::User {
 public:
  ScriptClient(net::LwipHost& host, wire::Ipv4Address ip, std::uint16_t port) : connection_{host, *this} {
    WIZ_ASSERT(connection_.connect(ip, port));
  }
  // One that a listener has accepted.
  ScriptClient(net::LwipHost& host, tcp_pcb* pcb) : connection_{host, *this} {
    connection_.adopt(pcb);
    connected = true;
  }

  ScriptClient& after(std::size_t received_bytes, std::string send) {
    steps_.push_back({received_bytes, std::move(send), false});
    play();
    return *this;
  }
  ScriptClient& close_after(std::size_t received_bytes) {
    steps_.push_back({received_bytes, "", true});
    play();
    return *this;
  }

  std::string received;
  bool connected = false;
  bool peer_closed = false;
  bool lost = false;

 private:
  struct Step {
    std::size_t received;
    std::string send;
    bool close;
  };

  void on_connected() override {
    connected = true;
    play();
  }
  std::size_t on_data(Bytes data) override {
    received.append(data.begin(), data.end());
    play();
    return data.size();
  }
  void on_acknowledged(std::size_t) override { play(); }
  void on_peer_closed() override {
    peer_closed = true;
    connection_.shut_down();
  }
  void on_lost(std::string_view) override { lost = true; }

  void play() {
    while (connected && !lost && !peer_closed && !steps_.empty() && received.size() >= steps_.front().received) {
      Step& step = steps_.front();
      const Bytes rest{reinterpret_cast<const std::uint8_t*>(step.send.data()), step.send.size()};
      step.send.erase(0, rest.empty() ? 0 : connection_.write(rest));
      if (!step.send.empty()) return;  // the send buffer is full
      if (step.close) connection_.shut_down();
      steps_.pop_front();
    }
  }

  std::deque<Step> steps_;
  net::TcpConnection connection_;
};

}  // namespace wizloop::test
