#include "sim/realtime/net_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wizloop::realtime {
namespace {

using testing::HasSubstr;

SlirpConfig slirp(std::string_view text) {
  const auto spec = parse_net(text);
  EXPECT_TRUE(spec) << spec.error().message;
  return std::get<SlirpConfig>(spec.value());
}

std::string error_of(std::string_view text) {
  const auto spec = parse_net(text);
  return spec ? "accepted" : spec.error().message;
}

TEST(NetSpec, SlirpAloneIsTheUsualNetwork) {
  const SlirpConfig config = slirp("slirp");
  EXPECT_EQ(config.host(), wire::ipv4(10, 0, 2, 2));
  EXPECT_EQ(config.nameserver(), wire::ipv4(10, 0, 2, 3));
  EXPECT_EQ(config.board(), wire::ipv4(10, 0, 2, 15));
  EXPECT_TRUE(config.dhcp);
  EXPECT_TRUE(config.dns);
  EXPECT_TRUE(config.forwards.empty());
}

TEST(NetSpec, AForwardIsOfLoopbackAndToTheBoardUnlessItSaysOtherwise) {
  const SlirpConfig config = slirp("slirp:hostfwd=tcp:15001:5001,hostfwd=udp:0.0.0.0:53:10.0.2.16:5353");
  ASSERT_EQ(config.forwards.size(), 2U);
  EXPECT_EQ(config.forwards[0].protocol, SlirpForward::Protocol::tcp);
  EXPECT_EQ(config.forwards[0].host_address, wire::ipv4(127, 0, 0, 1));
  EXPECT_EQ(config.forwards[0].host_port, 15001);
  EXPECT_EQ(config.forwards[0].guest_address, 0U);
  EXPECT_EQ(config.forwards[0].guest_port, 5001);
  EXPECT_EQ(config.forwards[1].protocol, SlirpForward::Protocol::udp);
  EXPECT_EQ(config.forwards[1].host_address, 0U);
  EXPECT_EQ(config.forwards[1].host_port, 53);
  EXPECT_EQ(config.forwards[1].guest_address, wire::ipv4(10, 0, 2, 16));
  EXPECT_EQ(config.forwards[1].guest_port, 5353);
}

TEST(NetSpec, SlirpTakesItsNetworkAndItsServers) {
  const SlirpConfig config = slirp("slirp:net=192.168.1.0/24,guest=192.168.1.20,dhcp=off,dns=off");
  EXPECT_EQ(config.host(), wire::ipv4(192, 168, 1, 2));
  EXPECT_EQ(config.mask(), wire::ipv4(255, 255, 255, 0));
  EXPECT_EQ(config.board(), wire::ipv4(192, 168, 1, 20));
  EXPECT_FALSE(config.dhcp);
  EXPECT_FALSE(config.dns);
}

TEST(NetSpec, NoneIsNoBridge) { EXPECT_TRUE(std::holds_alternative<NoNet>(parse_net("none").value())); }

TEST(NetSpec, AnInterfaceIsTakenByItsName) {
  EXPECT_EQ(std::get<PacketNet>(parse_net("veth:wiz0").value()).interface, "wiz0");
  EXPECT_EQ(std::get<TapNet>(parse_net("tap:wiz-1.5").value()).interface, "wiz-1.5");
}

TEST(NetSpec, WhatCannotBeReadIsAnErrorThatSaysWhatWasExpected) {
  for (const std::string_view text : {"", "sliirp", "none:x", "tcp:5001", ":", "slirp "}) {
    EXPECT_THAT(error_of(text), HasSubstr("expected slirp[")) << text;
  }
  for (const std::string_view text : {"slirp:", "slirp:forward=1", "slirp:hostfwd=tcp:1:2,", "slirp:Dhcp=on"}) {
    EXPECT_THAT(error_of(text), HasSubstr("expected hostfwd, net, guest, dhcp or dns")) << text;
  }
  for (const std::string_view forward :
       {"", "tcp", "tcp:", "tcp:5001", "tcp:5001:", "sctp:5001:5001", "tcp:0:5001", "tcp:5001:0", "tcp:65536:5001",
        "tcp:5001:5001:5001", "tcp:1.2.3:5001:5001", "tcp:1.2.3.256:5001:5001", "tcp:-1:5001", "tcp:0x50:5001",
        "tcp: 5001:5001", "tcp:127.0.0.1:5001", "tcp:5001:10.0.2.15:", "tcp:4294967297:1"}) {
    EXPECT_THAT(error_of("slirp:hostfwd=" + std::string{forward}), HasSubstr("expected hostfwd=PROTO:")) << forward;
  }
  for (const std::string_view text : {"veth", "veth:", "veth:a/b", "veth:a b", "veth:sixteen-letters.."}) {
    EXPECT_THAT(error_of(text), HasSubstr("expected veth:IF, IF the name of an interface")) << text;
  }
  EXPECT_THAT(error_of("tap"), HasSubstr("expected tap:IF, IF the name of an interface"));
  EXPECT_THAT(error_of("slirp:dhcp=yes"), HasSubstr("dhcp=yes of slirp, expected on or off"));
  EXPECT_THAT(error_of("slirp:net=10.0.2.0"), HasSubstr("expected such as net=10.0.2.0/24"));
  EXPECT_THAT(error_of("slirp:net=10.0.2.0/33"), HasSubstr("expected such as net=10.0.2.0/24"));
  EXPECT_THAT(error_of("slirp:guest=me"), HasSubstr("expected such as guest=10.0.2.15"));
}

}  // namespace
}  // namespace wizloop::realtime
