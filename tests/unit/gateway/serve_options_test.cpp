#include "harness/gateway/serve_options.hpp"

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

Result<ServeOptions> parse(std::vector<std::string_view> arguments) { return parse_serve_options(arguments); }

std::string error_of(std::vector<std::string_view> arguments) {
  const auto options = parse(std::move(arguments));
  return options ? "none" : options.error().message;
}

TEST(ServeOptions, BelongToTheBoardBeforeThem) {
  const auto options =
      parse({"--serial", "/tmp/a", "--board", "a.toml", "--tcp=127.0.0.1:0", "--board", "x/b.toml", "--name", "second",
             "--set", "board.x=1", "--set=fault.link_loss=ppm=10,sender=peer", "--reset-on", "dtr"})
          .value();
  ASSERT_EQ(options.boards.size(), 2);
  EXPECT_EQ(options.boards[0].name, "a");
  EXPECT_EQ(options.boards[0].serial, "/tmp/a");
  EXPECT_TRUE(options.boards[0].tcp);
  EXPECT_FALSE(options.boards[0].reset_on_dtr);
  EXPECT_EQ(options.boards[1].name, "second");
  EXPECT_TRUE(options.boards[1].reset_on_dtr);
  EXPECT_EQ(options.boards[1].settings.at(1),
            (std::pair<std::string, std::string>{"fault.link_loss", "ppm=10,sender=peer"}));
}

TEST(ServeOptions, TellBoardsOfOneFileApart) {
  const auto options = parse({"--board", "a.toml", "--board", "a.toml", "--board", "a.toml"}).value();
  EXPECT_EQ(options.boards[1].name, "a-2");
  EXPECT_EQ(options.boards[2].name, "a-3");
}

TEST(ServeOptions, OfAllStandAnywhere) {
  const auto options = parse({"--speed", "2.5", "--board", "a.toml", "--seed", "7", "--control", "localhost:0", "--net",
                              "none", "--token-file", "t", "--json", "r"})
                           .value();
  EXPECT_EQ(options.speed, 2.5);
  EXPECT_EQ(options.seed, 7);
  EXPECT_TRUE(options.control);
  EXPECT_EQ(options.ready_file, "r");
}

TEST(ServeOptions, SetTheAddressesThatFirmwareStartsWith) {
  const auto options =
      parse({"--board", "a.toml", "--ip", "10.1.2.3/16", "--gateway", "10.1.0.1", "--mac", "02:00:00:0a:Bc:FF"})
          .value();
  EXPECT_EQ(options.boards[0].ip, wire::ipv4(10, 1, 2, 3));
  EXPECT_EQ(options.boards[0].prefix_bits, 16);
  EXPECT_EQ(options.boards[0].gateway, wire::ipv4(10, 1, 0, 1));
  EXPECT_EQ(options.boards[0].mac, (wire::MacAddress{0x02, 0, 0, 0x0A, 0xBC, 0xFF}));
}

TEST(ServeOptions, SayWhatWasExpected) {
  EXPECT_EQ(error_of({}), "no board to serve: give --board");
  EXPECT_EQ(error_of({"--board"}), "--board wants a value");
  EXPECT_EQ(error_of({"--board", "a.toml", "--sreial", "x"}), "unknown option --sreial; the nearest is --serial");
  EXPECT_EQ(error_of({"a.toml"}), "'a.toml' is no option; boards are given with --board");
  EXPECT_EQ(error_of({"--board", "a.toml", "--name", "x y"}),
            "--name x y: expected 1 to 32 letters, digits, '-', '_' or '.'");
  EXPECT_EQ(error_of({"--board", "a.toml", "--name", "n", "--board", "b.toml", "--name", "n"}),
            "--name n: is the name of two boards");
  EXPECT_EQ(error_of({"--speed", "-1", "--board", "a"}), "--speed -1: expected a number from 0 to 1000000");
  EXPECT_EQ(error_of({"--speed", "nan", "--board", "a"}), "--speed nan: expected a number from 0 to 1000000");
  EXPECT_EQ(error_of({"--seed", "1x", "--board", "a"}), "--seed 1x: expected a number from 0 to 18446744073709551615");
  EXPECT_EQ(error_of({"--board", "a", "--set", "x"}), "--set wants KEY=VALUE, got 'x'");
  EXPECT_EQ(error_of({"--board", "a", "--reset-on", "rts"}), "--reset-on rts: expected dtr or nothing");
  EXPECT_EQ(error_of({"--board", "a", "--ip", "10.0.0"}), "--ip 10.0.0: expected an IPv4 address, as 192.168.1.20");
  EXPECT_EQ(error_of({"--board", "a", "--ip", "10.0.0.1/33"}), "--ip 33: expected a number from 1 to 30");
  for (const auto* mac : {"02:00:00:00:00", "02-00-00-00-00-20", "01:00:00:00:00:20", "02:00:00:00:00:2g", ""}) {
    EXPECT_THAT(error_of({"--board", "a", "--mac", mac}), testing::StartsWith("--mac"));
  }
  EXPECT_THAT(error_of({"--board", "a", "--net", "carrier-pigeon"}), testing::StartsWith("--net carrier-pigeon: "));
  EXPECT_THAT(error_of({"--board", "a", "--tcp", "x"}), testing::StartsWith("--tcp x: "));
}

TEST(ServeOptions, AskForHelpWithoutABoard) {
  EXPECT_TRUE(parse({"--help"}).value().help);
  for (const auto* option : {"--board", "--serial", "--net", "--json"}) {
    EXPECT_THAT(std::string{serve_help()}, testing::HasSubstr(option));
  }
}

}  // namespace
}  // namespace wizloop::gateway
