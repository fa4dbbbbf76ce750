// The reduced set of verbs, in the memory that it has.
#include "tests/unit/agent/agent_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Reduced : public AgentTest {};

TEST_F(Reduced, SaysSoInItsGreeting) { EXPECT_THAT(greeting, HasSubstr(" caps=reduced,byte,burst,dma,intn ")); }

TEST_F(Reduced, KnowsWhatFitsAndRefusesTheRest) {
  EXPECT_THAT(say("#1 help\n"),
              StartsWith("#1 ok verbs=hello,help,cancel,reset,net,link,path,reg,spi,stats,tcp-echo\r\n"));
  EXPECT_EQ(say("#2 tcp-send port=1\n"), "#2 err unknown-verb try help\r\n");
}

}  // namespace
}  // namespace wizloop::test
