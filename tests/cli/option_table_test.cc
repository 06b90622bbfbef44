// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.h"

#include <cstdint>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/files.h"

namespace rudder::cli {
namespace {

using ::testing::HasSubstr;

class OptionTableTest : public ::testing::Test {
 protected:
  OptionTableTest() {
    table_.integer<std::uint32_t>("epochs", epochs_, 1, 100, "Passes");
    table_.real("dropout", dropout_, 0, 0.99, "Share");
    table_.choice("policy", policy_, {"none", "lookahead"}, "Which");
    table_.integers("fanout", fanout_, -1, 1000, "Hops");
    table_.toggle("json", json_, "As JSON");
    table_.bind(app_);
  }
  Status resolve(std::vector<std::string> words, const std::map<std::string, std::string>& environment = {}) {
    std::reverse(words.begin(), words.end());  // CLI11 takes a vector from the back
    app_.parse(words);
    return table_.resolve([&](const char* name) -> const char* {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
  }

  std::uint32_t epochs_ = 5;
  double dropout_ = 0.5;
  std::string policy_ = "none";
  std::vector<int> fanout_ = {25, 10};
  bool json_ = false;
  OptionTable table_;
  CLI::App app_;
};

TEST_F(OptionTableTest, KeepsDefaults) {
  ASSERT_TRUE(resolve({}).ok());
  EXPECT_EQ(epochs_, 5U);
  EXPECT_EQ(table_.origin("epochs"), "default");
}

TEST_F(OptionTableTest, FlagsGoBeforeVariablesBeforeTheFile) {
  auto directory = TemporaryDirectory::create("options-test");
  ASSERT_TRUE(directory.ok());
  const auto file = directory->path() / "config.json";
  ASSERT_TRUE(
      write_text(file, R"({"epochs": 7, "dropout": 0.25, "policy": "lookahead", "json": true})").ok());
  ASSERT_TRUE(resolve({"--config", file.string(), "--epochs", "9"},
                      {{"RUDDER_EPOCHS", "8"}, {"RUDDER_DROPOUT", "0.75"}})
                  .ok());
  EXPECT_EQ(epochs_, 9U);
  EXPECT_DOUBLE_EQ(dropout_, 0.75);
  EXPECT_EQ(policy_, "lookahead");
  EXPECT_TRUE(json_);
  EXPECT_EQ(table_.origin("dropout"), "RUDDER_DROPOUT");
  EXPECT_THAT(table_.config_text(), HasSubstr("policy = lookahead  (" + file.string() + ")"));
}

TEST_F(OptionTableTest, ShowsValuesAsTheyAreNow) {
  ASSERT_TRUE(resolve({"--epochs", "9", "--json"}, {{"RUDDER_FANOUT", "3,-1"}}).ok());
  EXPECT_EQ(table_.value("epochs"), "9");
  EXPECT_EQ(table_.value("policy"), "none");
  EXPECT_EQ(table_.value("fanout"), "3,-1");
  EXPECT_EQ(table_.value("json"), "true");
  EXPECT_DEATH(static_cast<void>(table_.value("epoch")), "no such option");
}

TEST_F(OptionTableTest, ReportsEveryProblemAtOnce) {
  const Status status =
      resolve({"--epochs", "0", "--dropout", "nan", "--policy", "lokahead", "--fanout", "25,x"});
  ASSERT_FALSE(status.ok());
  for (const char* part : {"--epochs", "'0'", "--dropout", "'nan'", "did you mean 'lookahead'", "'25,x'"}) {
    EXPECT_THAT(status.error().message, HasSubstr(part));
  }
}

TEST_F(OptionTableTest, UnknownKeysOfTheFileGetAHint) {
  auto directory = TemporaryDirectory::create("options-test");
  ASSERT_TRUE(directory.ok());
  const auto file = directory->path() / "config.json";
  ASSERT_TRUE(write_text(file, R"({"epoch": 7})").ok());
  EXPECT_THAT(resolve({"--config", file.string()}).error().message, HasSubstr("did you mean 'epochs'"));
  for (const char* bad : {"[1]", "{", "{\"epochs\": [1]}", "{\"epochs\": null}", "{\"epochs\": 1.5}"}) {
    ASSERT_TRUE(write_text(file, bad).ok());
    EXPECT_FALSE(resolve({"--config", file.string()}).ok()) << bad;
  }
}

TEST_F(OptionTableTest, AcceptsAllNeighboursAsFanOut) {
  ASSERT_TRUE(resolve({"--fanout=-1,10"}).ok());
  EXPECT_THAT(fanout_, ::testing::ElementsAre(-1, 10));
}

TEST(SplitList, KeepsEmptyParts) {
  EXPECT_THAT(split_list("a,,b"), ::testing::ElementsAre("a", "", "b"));
  EXPECT_THAT(split_list(""), ::testing::ElementsAre(""));
}

}  // namespace
}  // namespace rudder::cli
