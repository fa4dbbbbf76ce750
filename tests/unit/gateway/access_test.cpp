#include "harness/gateway/access.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

constexpr std::string_view secret = "correct-horse-battery";

TEST(Endpoint, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(to_string(parse_endpoint("127.0.0.1:7000", "--tcp").value()), "127.0.0.1:7000");
  EXPECT_EQ(to_string(parse_endpoint("localhost:0", "--tcp").value()), "127.0.0.1:0");
  EXPECT_EQ(to_string(parse_endpoint("[::1]:7", "--tcp").value()), "[::1]:7");
}

TEST(Endpoint, IsRefusedWithWhatWasExpected) {
  for (const auto* text :
       {"", "7000", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:7x", ":7", "board.example:7", "1.2.3:7"}) {
    const auto parsed = parse_endpoint(text, "--tcp");
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, testing::StartsWith("--tcp " + std::string{text} + ": "));
    EXPECT_THAT(parsed.error().message, testing::HasSubstr("expected HOST:PORT"));
  }
}

TEST(Token, IsThatAndNoOther) {
  const Token token = Token::create(std::string{secret}, "test").value();
  EXPECT_TRUE(token.is(secret));
  EXPECT_FALSE(token.is(""));
  EXPECT_FALSE(token.is(secret.substr(1)));
  EXPECT_FALSE(token.is(std::string{secret} + std::string{secret}));
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string other{secret};
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(token.is(other)) << i;
  }
}

TEST(Token, IsNotShownWhenItIsRefused) {
  for (const auto* text : {"short", "with a space in its midst"}) {
    const auto token = Token::create(text, "FILE");
    ASSERT_FALSE(token);
    EXPECT_THAT(token.error().message, testing::HasSubstr("FILE"));
    EXPECT_THAT(token.error().message, testing::Not(testing::HasSubstr(text)));
  }
}

TEST(Token, ComesFromAFileThatOnlyItsOwnerReads) {
  const TestFolder folder;
  const auto file = folder / "token";
  std::ofstream{file} << secret << "\n";
  ::chmod(file.c_str(), 0644);
  const auto open_to_all = load_token(file);
  ASSERT_FALSE(open_to_all);
  EXPECT_THAT(open_to_all.error().message, testing::HasSubstr("chmod 600"));
  ::chmod(file.c_str(), 0600);
  EXPECT_TRUE(load_token(file).value()->is(secret));
  EXPECT_FALSE(load_token(folder / "none"));
}

TEST(Token, ComesFromTheEnvironmentElse) {
  ::unsetenv("WIZLOOP_TOKEN");
  EXPECT_FALSE(load_token({}).value());
  ::setenv("WIZLOOP_TOKEN", std::string{secret}.c_str(), 1);
  EXPECT_TRUE(load_token({}).value()->is(secret));
  ::unsetenv("WIZLOOP_TOKEN");
}

TEST(Token, IsNeededOnAnyAddressThatOtherMachinesReach) {
  const Token token = Token::create(std::string{secret}, "test").value();
  const auto at = [](std::string_view text) { return parse_endpoint(text, "--tcp").value(); };
  EXPECT_EQ(token_for(at("127.0.0.5:1"), &token, "--tcp").value(), nullptr);
  EXPECT_EQ(token_for(at("[::1]:1"), nullptr, "--tcp").value(), nullptr);
  for (const auto* text : {"0.0.0.0:1", "192.168.1.2:1", "[::]:1"}) {
    EXPECT_FALSE(token_for(at(text), nullptr, "--tcp")) << text;
    EXPECT_EQ(token_for(at(text), &token, "--tcp").value(), &token) << text;
  }
}

TEST(Token, IsNotNeededByWhoComesOverLoopback) {
  const Token token = Token::create(std::string{secret}, "test").value();
  const auto client = [](std::string_view text) { return parse_endpoint(text, "--tcp").value(); };
  for (const auto* text : {"127.0.0.1:1", "127.3.2.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_EQ(token_for_client(client(text), &token), nullptr) << text;
  }
  for (const auto* text : {"192.168.1.2:1", "[fe80::1]:1", "[::ffff:192.168.1.2]:1", "0.0.0.0:0"}) {
    EXPECT_EQ(token_for_client(client(text), &token), &token) << text;
  }
}

TEST(Admission, LetsInBehindTheLineWithTheToken) {
  const Token token = Token::create(std::string{secret}, "test").value();
  Admission admission{&token};
  const std::string line = "token " + std::string{secret} + "\r\n#1 hello\n";
  EXPECT_TRUE(admission.offer(bytes_of(line).first(9)).empty());
  EXPECT_EQ(admission.state(), Admission::State::waiting);
  EXPECT_EQ(text_of(admission.offer(bytes_of(line).subspan(9))), "#1 hello\n");
  EXPECT_EQ(admission.state(), Admission::State::admitted);
}

TEST(Admission, DeniesAnythingElse) {
  const Token token = Token::create(std::string{secret}, "test").value();
  for (const std::string& line : {std::string{"#1 hello\n"}, std::string{"token wrong-wrong-wrong\n"},
                                  std::string(1000, 'a'), "tokenx" + std::string{secret} + "\n"}) {
    Admission admission{&token};
    EXPECT_TRUE(admission.offer(bytes_of(line)).empty());
    EXPECT_EQ(admission.state(), Admission::State::denied);
    EXPECT_TRUE(admission.offer(bytes_of("token " + std::string{secret} + "\n")).empty());
    EXPECT_EQ(admission.state(), Admission::State::denied);
  }
}

}  // namespace
}  // namespace wizloop::gateway
