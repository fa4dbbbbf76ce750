// What the tests of the gateway share: a board that remembers, a client on a real socket or pty, and waits with an end.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/gateway/access.hpp"
#include "harness/gateway/console.hpp"

namespace wizloop::gateway {

using namespace std::chrono_literals;

// Long enough for any machine; a test that passes does not come near it.
inline constexpr auto patience = 10s;

inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string text_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

// Serves `io` until `done()`; false if that does not come about.
template <typename Done>
bool run_until(boost::asio::io_context& io, Done done) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (io.stopped()) io.restart();
    if (std::chrono::steady_clock::now() > end) return false;
    io.run_one_for(1ms);
  }
  return true;
}

// Does what is ready now.
inline void settle(boost::asio::io_context& io) {
  if (io.stopped()) io.restart();
  while (io.poll() > 0) io.restart();
}

// Under which other machines, if there are any, reach this one; whoever connects to it from here comes from it.
inline std::optional<boost::asio::ip::address_v4> own_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner{all, ::freeifaddrs};
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    return boost::asio::ip::address_v4{ntohl(address->sin_addr.s_addr)};
  }
  return std::nullopt;
}

struct FakeBoard : ConsoleBoard {
  std::size_t type(std::span<const std::uint8_t> bytes) override {
    const std::size_t taken = std::min(bytes.size(), room);
    typed += text_of(bytes.first(taken));
    room -= taken;
    return taken;
  }
  void set_dtr(bool on) override { dtr += on ? '+' : '-'; }

  std::string typed;
  std::string dtr;
  std::size_t room = SIZE_MAX;
};

// The far end of a connection: a descriptor of the test's own, served while `io` runs.
class Peer {
 public:
  explicit Peer(int descriptor) : descriptor_{descriptor} {
    ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { close(); }

  static int connect(const Endpoint& to) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(descriptor, to.data(), static_cast<socklen_t>(to.size())), 0);
    return descriptor;
  }

  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  // As much as the kernel takes.
  std::size_t send(std::string_view text) const {
    const ssize_t size = ::write(descriptor_, text.data(), text.size());
    return size > 0 ? static_cast<std::size_t>(size) : 0;
  }

  // What has come in since the start.
  const std::string& seen() {
    std::array<char, 65536> buffer;
    for (;;) {
      const ssize_t size = ::read(descriptor_, buffer.data(), buffer.size());
      if (size > 0) {
        seen_.append(buffer.data(), static_cast<std::size_t>(size));
        continue;
      }
      closed_ = size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      return seen_;
    }
  }
  bool sees(std::string_view text) { return seen().find(text) != std::string::npos; }
  bool closed() {
    seen();
    return closed_;
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::string seen_;
  bool closed_ = false;
};

// A folder of the test's own, removed with what is in it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gateway_test.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::size_t files() const {
    const std::filesystem::directory_iterator all{path_};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace wizloop::gateway
