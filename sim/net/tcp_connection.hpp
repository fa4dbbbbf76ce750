// One TCP connection of an LwipHost, and the listener that accepts such connections. Services are built on these; they
// add the two things in which a PC of the profile differs from lwIP:
//
// * when received data is acknowledged (AckPolicy): lwIP itself knows only a tick of 250 ms;
// * how a stream is cut into segments for a small window (SegmentRule, RFC 9293 3.8.6.2.1).
//
//   struct Printer final : TcpConnection::User {
//     std::size_t on_data(Bytes data) override { print(data); return data.size(); }
//     void on_peer_closed() override { connection.close(); }
//     ...
//   };
//   TcpListener listener{host, 5001, [&](tcp_pcb* pcb) { return printer.connection.adopt(pcb); }};
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "sim/core/bytes.hpp"
#include "sim/core/timer.hpp"
#include "sim/wire/ipv4.hpp"

struct pbuf;
struct tcp_pcb;

namespace wizloop::net {

class LwipHost;

class TcpConnection {
 public:
  // What is done with the connection. The calls come from inside lwIP, when the host sees the event.
  class User {
   public:
    virtual void on_connected() {}
    // Returns how many of the bytes are dealt with, so that the receive window opens again; consume() does the rest.
    virtual std::size_t on_data(Bytes data) = 0;
    virtual void on_acknowledged(std::size_t /*bytes*/) {}
    virtual void on_peer_closed() = 0;
    // Refused, reset or given up.
    virtual void on_lost(std::string_view /*why*/) {}

   protected:
    ~User() = default;
  };

  TcpConnection(LwipHost& host, User& user);
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;
  ~TcpConnection();  // lets lwIP bring an open connection to its end by itself

  // False if the host has no room for a connection or no route.
  bool connect(wire::Ipv4Address address, std::uint16_t port);
  // Takes over what a listener has accepted.
  void adopt(tcp_pcb* pcb);
  bool open() const { return pcb_ != nullptr; }

  // Hands in as much of the data as the send buffer takes; all but the end of `data` in whole segments. How many bytes
  // were taken.
  std::size_t write(Bytes data);
  void consume(std::size_t bytes);
  // Nothing more will be written; data may still come in. The FIN follows when all data has left: lwIP would tie it to
  // the last segment, and where its persist timer then splits that segment, the FIN stays on the first half.
  void shut_down();
  // Neither side will send any more: forgets the connection.
  void close();
  // Sends RST and forgets the connection.
  void abort();

  // For the host, around the timeouts of lwIP.
  void before_lwip_tick();
  void after_lwip_tick();

 private:
  std::size_t segment_bytes();
  void take(tcp_pcb* pcb);
  void shut_down_when_sent();
  void let_go();
  void receive(pbuf* data);
  void schedule_ack();
  void on_ack_due();

  LwipHost& host_;
  User& user_;
  tcp_pcb* pcb_ = nullptr;
  Timer ack_timer_;
  Instant ack_due_ = Instant::max();
  bool ack_hidden_ = false;
  bool shut_down_wanted_ = false;
};

class TcpListener {
 public:
  // Returns whether the connection is wanted; a refused one is reset.
  using Accept = std::function<bool(tcp_pcb*)>;

  TcpListener(LwipHost& host, std::uint16_t port, Accept accept);
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;
  ~TcpListener();

 private:
  LwipHost& host_;
  tcp_pcb* pcb_;
  Accept accept_;
};

}  // namespace wizloop::net
