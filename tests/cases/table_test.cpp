// The table of README.md against the suites of this executable: each id once, each test that it names is there, and
// each case that has tests names them.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace wizloop::test {
namespace {

struct Row {
  std::string kind;
  std::string text;
  int rows = 0;
};

std::map<std::string, Row> table() {
  std::map<std::string, Row> rows;
  std::ifstream file{WIZLOOP_CASES_TABLE};
  const std::regex row{R"(\| (B\d\d) \| ([abcsh]) \| (.*) \|)"};
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_match(line, match, row)) continue;
    Row& of = rows[match[1]];
    of.kind = match[2];
    of.text = match[3];
    ++of.rows;
  }
  return rows;
}

// `B05_TxPointerBeyondTheData`, in backquotes.
std::set<std::string> suites_named_in(const std::string& text) {
  const std::regex name{R"(`(B\d\d_\w+)`)"};
  std::set<std::string> names;
  for (std::sregex_iterator at{text.begin(), text.end(), name}, end; at != end; ++at) names.insert((*at)[1]);
  return names;
}

std::set<std::string> suites_of_cases() {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    std::string name = all.GetTestSuite(i)->name();
    name.erase(0, name.find('/') + 1);  // the name of an instantiation, if it has parameters
    if (std::regex_match(name, std::regex{R"(B\d\d_\w+)"})) names.insert(name);
  }
  return names;
}

TEST(CasesTable, HoldsEachIdOnce) {
  const auto rows = table();
  EXPECT_EQ(rows.size(), 80U);
  for (int id = 1; id <= 80; ++id) {
    const std::string name = (id < 10 ? "B0" : "B") + std::to_string(id);
    const auto found = rows.find(name);
    ASSERT_NE(found, rows.end()) << name;
    EXPECT_EQ(found->second.rows, 1) << name;
  }
}

TEST(CasesTable, NamesTheTestsThatThereAre) {
  std::set<std::string> named;
  for (const auto& [id, row] : table()) {
    for (const std::string& suite : suites_named_in(row.text)) {
      EXPECT_EQ(suite.substr(0, 3), id);
      named.insert(suite);
    }
  }
  EXPECT_EQ(named, suites_of_cases());
}

TEST(CasesTable, GivesAReasonWhereThereIsNoTest) {
  for (const auto& [id, row] : table()) {
    if (!suites_named_in(row.text).empty()) continue;
    EXPECT_GE(row.text.size(), 20U) << id;
  }
}

}  // namespace
}  // namespace wizloop::test
