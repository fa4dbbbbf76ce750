#include "sim/wire/dhcp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/random.hpp"

namespace wizloop::wire {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// A message with nothing in it but its cookie and the given options.
std::vector<std::uint8_t> message_with(std::initializer_list<std::uint8_t> options) {
  std::vector<std::uint8_t> message(Dhcp::header_bytes + options.size());
  message[0] = 1;
  message[1] = 1;
  message[2] = 6;
  store32(&message[236], 0x63825363);
  std::copy(options.begin(), options.end(), message.begin() + Dhcp::header_bytes);
  return message;
}

TEST(Dhcp, IsLaidOutAsInRfc2131) {
  const std::uint8_t parameters[] = {1, 3, 6};
  const std::vector<std::uint8_t> message = Dhcp{.hops = 9,
                                                 .xid = 0x01020304,
                                                 .secs = 0x0506,
                                                 .flags = Dhcp::broadcast_flag,
                                                 .ciaddr = ipv4(10, 0, 0, 1),
                                                 .yiaddr = ipv4(10, 0, 0, 2),
                                                 .siaddr = ipv4(10, 0, 0, 3),
                                                 .giaddr = ipv4(10, 0, 0, 4),
                                                 .chaddr = {2, 3, 4, 5, 6, 7},
                                                 .type = Dhcp::Type::request,
                                                 .requested_ip = ipv4(10, 0, 0, 5),
                                                 .server_identifier = ipv4(10, 0, 0, 6),
                                                 .lease_s = 0x11223344,
                                                 .host_name = "wiz",
                                                 .parameter_list = parameters}
                                                .emit();
  const Bytes bytes{message};
  EXPECT_EQ(bytes.size(), 300u);
  EXPECT_THAT(bytes.first(34), ElementsAre(1, 1, 6, 9, 1, 2, 3, 4, 5, 6, 0x80, 0,               //
                                           10, 0, 0, 1, 10, 0, 0, 2, 10, 0, 0, 3, 10, 0, 0, 4,  //
                                           2, 3, 4, 5, 6, 7));
  EXPECT_THAT(bytes.subspan(34, 202), testing::Each(0));
  EXPECT_THAT(bytes.subspan(236, 4 + 3 + 6 + 6 + 6 + 5 + 5 + 1),
              ElementsAre(0x63, 0x82, 0x53, 0x63,                                               //
                          53, 1, 3, 54, 4, 10, 0, 0, 6, 50, 4, 10, 0, 0, 5,                     //
                          51, 4, 0x11, 0x22, 0x33, 0x44, 12, 3, 'w', 'i', 'z', 55, 3, 1, 3, 6,  //
                          255));
}

TEST(Dhcp, IsReadBack) {
  const std::uint8_t identifier[] = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<std::uint8_t> message = Dhcp{.op = Dhcp::reply,
                                                 .xid = 0xDEADBEEF,
                                                 .yiaddr = ipv4(192, 168, 1, 100),
                                                 .chaddr = {2, 0, 0, 0, 0, 1},
                                                 .type = Dhcp::Type::ack,
                                                 .server_identifier = ipv4(192, 168, 1, 1),
                                                 .subnet_mask = ipv4(255, 255, 255, 0),
                                                 .lease_s = 3600,
                                                 .renewal_s = 1800,
                                                 .rebinding_s = 3150,
                                                 .routers = {ipv4(192, 168, 1, 1)},
                                                 .dns_servers = {ipv4(192, 168, 1, 2), ipv4(192, 168, 1, 3)},
                                                 .ntp_servers = {ipv4(192, 168, 1, 4)},
                                                 .domain_name = "example.net",
                                                 .message = "hello",
                                                 .client_identifier = identifier}
                                                .emit();
  const auto parsed = Dhcp::parse(message);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->op, Dhcp::reply);
  EXPECT_EQ(parsed->xid, 0xDEADBEEF);
  EXPECT_EQ(parsed->yiaddr, ipv4(192, 168, 1, 100));
  EXPECT_EQ(parsed->chaddr, (MacAddress{2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(parsed->type, Dhcp::Type::ack);
  EXPECT_EQ(parsed->server_identifier, ipv4(192, 168, 1, 1));
  EXPECT_EQ(parsed->subnet_mask, ipv4(255, 255, 255, 0));
  EXPECT_EQ(parsed->lease_s, 3600u);
  EXPECT_EQ(parsed->renewal_s, 1800u);
  EXPECT_EQ(parsed->rebinding_s, 3150u);
  EXPECT_THAT(parsed->routers, ElementsAre(ipv4(192, 168, 1, 1)));
  EXPECT_THAT(parsed->dns_servers, ElementsAre(ipv4(192, 168, 1, 2), ipv4(192, 168, 1, 3)));
  EXPECT_THAT(parsed->ntp_servers, ElementsAre(ipv4(192, 168, 1, 4)));
  EXPECT_EQ(parsed->domain_name, "example.net");
  EXPECT_EQ(parsed->message, "hello");
  EXPECT_THAT(parsed->client_identifier, ElementsAreArray(identifier));
  EXPECT_FALSE(parsed->requested_ip);
  EXPECT_FALSE(parsed->wants_broadcast());
}

TEST(Dhcp, OfAnotherKindIsNotRead) {
  const std::vector<std::uint8_t> good = message_with({53, 1, 1, 255});
  ASSERT_TRUE(Dhcp::parse(good));
  for (const std::size_t at : {0u, 1u, 2u, 236u, 239u}) {
    std::vector<std::uint8_t> bad = good;
    bad[at] = 9;
    EXPECT_FALSE(Dhcp::parse(bad)) << at;
  }
  EXPECT_FALSE(Dhcp::parse(message_with({255}))) << "BOOTP";
  EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 0, 255})));
  EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 9, 255})));
}

TEST(Dhcp, WhereverItIsCutShortItIsReadWholeOrNotAtAll) {
  const std::vector<std::uint8_t> whole = message_with({53, 1, 3, 50, 4, 10, 0, 0, 1, 12, 2, 'a', 'b', 255});
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const bool between_options = size == 243 || size == 249 || size >= 253;
    EXPECT_EQ(Dhcp::parse(Bytes{whole}.first(size)).has_value(), between_options) << size;
  }
}

TEST(Dhcp, AnOptionOfAnImpossibleLengthIsNotRead) {
  for (const std::uint8_t code : std::initializer_list<std::uint8_t>{1, 50, 51, 54, 58, 59}) {
    EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 1, code, 3, 1, 2, 3, 255}))) << int{code};
    EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 1, code, 5, 1, 2, 3, 4, 5, 255}))) << int{code};
  }
  for (const std::uint8_t code : std::initializer_list<std::uint8_t>{3, 6, 42}) {
    EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 1, code, 0, 255}))) << int{code};
    EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 1, code, 6, 1, 2, 3, 4, 5, 6, 255}))) << int{code};
  }
  EXPECT_FALSE(Dhcp::parse(message_with({53, 2, 1, 1, 255})));
  EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 1, 52, 1, 4, 255})));
  EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 1, 61, 1, 1, 255})));
  EXPECT_FALSE(Dhcp::parse(message_with({53, 1, 1, 55, 0, 255})));
}

TEST(Dhcp, SkipsPaddingUnknownOptionsAndWhatFollowsTheEnd) {
  const std::vector<std::uint8_t> message =
      message_with({0, 0, 200, 3, 255, 255, 255, 53, 1, 7, 0, 53, 1, 1, 12, 0, 255, 50, 99});
  const auto parsed = Dhcp::parse(message);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->type, Dhcp::Type::release);
  EXPECT_EQ(parsed->host_name, "");
  EXPECT_FALSE(parsed->requested_ip);
}

TEST(Dhcp, FindsOptionsInTheFieldsForOtherUses) {
  std::vector<std::uint8_t> message = message_with({52, 1, 3, 255});
  const std::uint8_t in_file[] = {53, 1, 3, 52, 1, 1, 255};  // a second overload means nothing
  std::copy(std::begin(in_file), std::end(in_file), message.begin() + 108);
  const std::uint8_t in_sname[] = {50, 4, 10, 0, 0, 7, 255};
  std::copy(std::begin(in_sname), std::end(in_sname), message.begin() + 44);
  const auto parsed = Dhcp::parse(message);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->type, Dhcp::Type::request);
  EXPECT_EQ(parsed->requested_ip, ipv4(10, 0, 0, 7));

  message[108 + 6] = 12;  // now an option that would run from file into the cookie
  message[108 + 7] = 121;
  EXPECT_FALSE(Dhcp::parse(message));
}

TEST(Dhcp, TakesAnyBytesWithoutReadingPastThem) {
  RandomStream random = Random{5}.stream("dhcp");
  std::uint64_t read = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::uint8_t> message = message_with({53, 1, 1});
    message.resize(message.size() + random.below(80));
    for (std::size_t at = 243; at < message.size(); ++at) message[at] = static_cast<std::uint8_t>(random.below(64));
    if (random.below(4) == 0) message[random.below(message.size())] = static_cast<std::uint8_t>(random.next());
    message.erase(message.end() - static_cast<std::ptrdiff_t>(random.below(10)), message.end());
    message.shrink_to_fit();  // so that a sanitizer sees the first byte beyond
    if (Dhcp::parse(message)) ++read;
  }
  EXPECT_GT(read, 10u);
  EXPECT_LT(read, 3000u);
}

}  // namespace
}  // namespace wizloop::wire
