#include "harness/gateway/rfc2217.hpp"

#include <random>

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

struct FakeLine : Rfc2217::Line {
  void typed(std::span<const std::uint8_t> bytes) override { text += text_of(bytes); }
  void answer(std::span<const std::uint8_t> bytes) override { answers += text_of(bytes); }
  std::uint32_t baud(std::uint32_t wanted) override { return wanted == 0 ? rate : rate = wanted; }
  std::uint8_t data_bits(std::uint8_t wanted) override { return wanted == 0 ? 8 : wanted; }
  std::uint8_t parity(std::uint8_t) override { return 1; }
  std::uint8_t stop_bits(std::uint8_t) override { return 1; }
  std::uint8_t control(std::uint8_t wanted) override {
    controls.push_back(wanted);
    return wanted;
  }
  void purge(std::uint8_t what) override { purged = what; }
  void suspend(bool on) override { suspended = on; }
  bool powered() const override { return power; }

  std::string text;
  std::string answers;
  std::uint32_t rate = 115200;
  std::vector<int> controls;
  int purged = 0;
  bool suspended = false;
  bool power = true;
};

class Rfc2217Test : public testing::Test {
 protected:
  void receive(std::string_view bytes) { telnet_.receive(bytes_of(bytes)); }
  std::string answers() { return std::exchange(line_.answers, {}); }

  FakeLine line_;
  Rfc2217 telnet_{line_};
};

using namespace std::string_view_literals;

TEST_F(Rfc2217Test, IsSilentTowardsAClientThatIsNoTelnet) {
  receive("#1 hello\r\n");
  EXPECT_EQ(line_.text, "#1 hello\r\n");
  EXPECT_EQ(line_.answers, "");
}

TEST_F(Rfc2217Test, TakesADoubledIacForAByte) {
  receive("a\377\377b\377\377\377\377"sv);
  EXPECT_EQ(line_.text, "a\377b\377\377"sv);
}

TEST_F(Rfc2217Test, DropsTheNulBehindACarriageReturnUnlessBinary) {
  receive("a\r\0b\r\n"sv);
  EXPECT_EQ(line_.text, "a\rb\r\n");
  receive("\377\373\0"sv);  // WILL BINARY
  line_.text.clear();
  receive("a\r\0b"sv);
  EXPECT_EQ(line_.text, "a\r\0b"sv);
}

TEST_F(Rfc2217Test, AgreesToTheComPortOptionAndAsksForBinary) {
  receive("\377\373\054"sv);  // WILL COM-PORT
  EXPECT_EQ(answers(),
            "\377\375\054"                      // DO COM-PORT
            "\377\373\0\377\375\0"              // WILL BINARY, DO BINARY
            "\377\372\054\153\260\377\360"sv);  // NOTIFY-MODEMSTATE: CD, DSR, CTS
  receive("\377\375\0\377\373\0"sv);
  EXPECT_EQ(answers(), "") << "that was the answer";
  receive("\377\375\054"sv);
  EXPECT_EQ(answers(), "\377\373\054"sv);
}

TEST_F(Rfc2217Test, RefusesOptionsItDoesNotHaveAndAnswersNoRefusal) {
  receive("\377\375\001\377\373\037"sv);  // DO ECHO, WILL NAWS
  EXPECT_EQ(answers(), "\377\374\001\377\376\037"sv);
  receive("\377\376\001\377\374\037\377\374\054"sv);
  EXPECT_EQ(answers(), "");
}

TEST_F(Rfc2217Test, AnswersARepeatedRequestOnce) {
  for (int i = 0; i < 5; ++i) receive("\377\375\003"sv);  // DO SUPPRESS-GO-AHEAD
  EXPECT_EQ(answers(), "\377\373\003"sv);
}

TEST_F(Rfc2217Test, SetsTheBaudRateWithIacInIt) {
  receive("\377\372\054\001\0\0\377\377\0\377\360"sv);
  EXPECT_EQ(line_.rate, 0xFF00);
  EXPECT_EQ(answers(), "\377\372\054\145\0\0\377\377\0\377\360"sv);
}

TEST_F(Rfc2217Test, AnswersWithTheValueInForce) {
  receive("\377\372\054\002\007\377\360\377\372\054\003\002\377\360"sv);  // seven bits, odd parity
  EXPECT_EQ(answers(), "\377\372\054\146\007\377\360\377\372\054\147\001\377\360"sv);
}

TEST_F(Rfc2217Test, HandsOnControlPurgeAndSuspension) {
  receive("\377\372\054\005\010\377\360\377\372\054\005\013\377\360"sv);
  EXPECT_THAT(line_.controls, testing::ElementsAre(Rfc2217::dtr_on, Rfc2217::rts_on));
  receive("\377\372\054\014\003\377\360"sv);
  EXPECT_EQ(line_.purged, 3);
  receive("\377\372\054\010\377\360"sv);
  EXPECT_TRUE(line_.suspended);
  receive("\377\372\054\011\377\360"sv);
  EXPECT_FALSE(line_.suspended);
}

TEST_F(Rfc2217Test, TellsOfPowerThatGoesAndComesToWhoWantsToKnow) {
  telnet_.notify_modem_state();
  EXPECT_EQ(answers(), "") << "nobody has asked for the option";
  receive("\377\373\054"sv);
  answers();
  line_.power = false;
  telnet_.notify_modem_state();
  telnet_.notify_modem_state();
  EXPECT_EQ(answers(), "\377\372\054\153\013\377\360"sv);
  receive("\377\372\054\013\0\377\360"sv);  // a mask of nothing
  answers();
  line_.power = true;
  telnet_.notify_modem_state();
  EXPECT_EQ(answers(), "");
}

TEST_F(Rfc2217Test, IgnoresSuboptionsThatAreTooLongTooShortOrUnknown) {
  receive("\377\372\054\001\0\0\377\360"sv);                          // half a baud rate
  receive("\377\372\054\377\360\377\372\377\360"sv);                  // nothing
  receive("\377\372\054\170\001\377\360\377\372\030\001\377\360"sv);  // no such command, another option
  receive("\377\372\054\005" + std::string(100'000, '\010') + "\377\360");
  EXPECT_EQ(answers(), "");
  EXPECT_THAT(line_.controls, testing::IsEmpty());
  receive("x");
  EXPECT_EQ(line_.text, "x");
}

TEST_F(Rfc2217Test, ReadsTheSameWhereverTheBytesAreCut) {
  const std::string all{"ab\377\377\r\0c\377\373\054d\377\372\054\001\0\0\377\377\0\377\360e\377\361f\r"sv};
  receive(all);
  const std::string whole = std::exchange(line_.text, {}) + answers();
  for (std::size_t cut = 1; cut < all.size(); ++cut) {
    FakeLine line;
    Rfc2217 telnet{line};
    telnet.receive(bytes_of(all).first(cut));
    telnet.receive(bytes_of(all).subspan(cut));
    EXPECT_EQ(line.text + line.answers, whole) << cut;
  }
  FakeLine line;
  Rfc2217 telnet{line};
  for (const std::uint8_t byte : bytes_of(all)) telnet.receive(std::span{&byte, 1});
  EXPECT_EQ(line.text + line.answers, whole);
}

TEST_F(Rfc2217Test, SurvivesAnyBytesAndAnswersNoMoreThanItIsAsked) {
  std::mt19937 random{1};  // seeded
  constexpr std::array<std::uint8_t, 12> likely{255, 255, 255, 254, 253, 252, 251, 250, 240, 44, 0, 5};
  std::string noise;
  for (int i = 0; i < 200'000; ++i) {
    noise.push_back(static_cast<char>(random() % 2 == 0 ? likely[random() % likely.size()] : random() % 256));
  }
  receive(noise);
  EXPECT_LT(line_.answers.size(), 4 * noise.size());
  EXPECT_LE(line_.text.size(), noise.size());
  receive("\377\360\377\360x");
  EXPECT_THAT(line_.text, testing::EndsWith("x"));
}

TEST(Rfc2217Escape, DoublesEachIac) {
  std::vector<std::uint8_t> out;
  Rfc2217::escape(bytes_of("a\377b\377"), out);
  EXPECT_EQ(text_of(out), "a\377\377b\377\377");
}

}  // namespace
}  // namespace wizloop::gateway
