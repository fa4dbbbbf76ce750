#include "harness/gateway/rack.hpp"

#include <fstream>

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

BoardAddresses addresses(std::vector<std::string_view> arguments, std::size_t number) {
  return addresses_of(parse_serve_options(arguments).value(), number);
}

TEST(Rack, GivesEachBoardAddressesOfItsOwn) {
  for (std::uint8_t number = 0; number < 3; ++number) {
    const BoardAddresses board = addresses({"--board", "a", "--board", "a", "--board", "a"}, number);
    EXPECT_EQ(board.ip, wire::ipv4(192, 168, 1, static_cast<std::uint8_t>(20 + number)));
    EXPECT_EQ(board.mac, (wire::MacAddress{0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(0x20 + number)}));
    EXPECT_EQ(board.mask, wire::ipv4(255, 255, 255, 0));
    EXPECT_EQ(board.gateway, wire::ipv4(192, 168, 1, 1));
  }
}

TEST(Rack, PutsBoardsBehindSlirpOnItsNetwork) {
  const BoardAddresses board = addresses({"--board", "a", "--board", "b", "--net", "slirp:net=10.7.0.0/16"}, 1);
  EXPECT_EQ(board.ip, wire::ipv4(10, 7, 0, 16));
  EXPECT_EQ(board.mask, wire::ipv4(255, 255, 0, 0));
  EXPECT_EQ(board.gateway, wire::ipv4(10, 7, 0, 2));
}

TEST(Rack, LeavesAddressesThatWereGivenAlone) {
  const BoardAddresses board = addresses({"--board", "a", "--ip", "172.16.5.6/12", "--gateway", "172.16.0.9", "--mac",
                                          "02:00:00:00:01:02", "--net", "slirp"},
                                         0);
  EXPECT_EQ(board.ip, wire::ipv4(172, 16, 5, 6));
  EXPECT_EQ(board.mask, wire::ipv4(255, 240, 0, 0));
  EXPECT_EQ(board.gateway, wire::ipv4(172, 16, 0, 9));
  EXPECT_EQ(board.mac, (wire::MacAddress{0x02, 0, 0, 0, 1, 2}));
}

TEST(Rack, SaysWhichBoardFileIsWrong) {
  Rack rack{parse_serve_options(std::vector<std::string_view>{"--board", "no/such.toml", "--name", "b1"}).value(),
            [](const std::string&) {}};
  const auto failed = rack.set_up();
  ASSERT_TRUE(failed);
  EXPECT_THAT(failed->message, testing::StartsWith("board b1: "));
  EXPECT_THAT(failed->message, testing::HasSubstr("no/such.toml"));
}

TEST(Rack, LeavesTheReadyFileOfAnotherOneAlone) {
  const TestFolder folder;
  const auto file = folder / "ready.json";
  std::ofstream{file} << "of another one";
  {
    const std::string name = file.string();
    Rack rack{
        parse_serve_options(std::vector<std::string_view>{"--board", "no/such.toml", "--json", name}).value(),
        [](const std::string&) {}};
    EXPECT_TRUE(rack.set_up());
  }
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace wizloop::gateway
