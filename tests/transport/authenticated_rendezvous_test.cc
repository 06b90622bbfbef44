// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/transport/rendezvous.h"

#include "transport/fleet.h"

namespace rudder::transport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using View = Result<std::shared_ptr<Rendezvous>>;

/// All ranks join `store` at once, rank r with secrets[r].
std::vector<View> join_all(const std::shared_ptr<Rendezvous>& store, const std::vector<Secret>& secrets) {
  const auto world = static_cast<Rank>(secrets.size());
  std::vector<View> views(world, Error{});
  std::vector<std::jthread> threads;
  for (Rank r = 0; r < world; ++r) {
    threads.emplace_back([&, r] { views[r] = authenticate(store, secrets[r], r, world, soon()); });
  }
  threads.clear();
  return views;
}

TEST(AuthenticatedRendezvous, CarriesValuesBetweenRanksThatShareASecret) {
  const auto joined = join_all(std::make_shared<LocalRendezvous>(), std::vector<Secret>(3, Secret()));
  for (const View& view : joined) {
    ASSERT_TRUE(view.ok()) << view.error().message;
  }
  const std::string bytes("a\0b", 3);
  ASSERT_TRUE(joined[1].value()->put("place/1", bytes).ok());
  ASSERT_TRUE(joined[1].value()->put("nothing", "").ok());
  EXPECT_EQ(joined[2].value()->get("place/1", soon()).value(), bytes);
  EXPECT_EQ(joined[0].value()->get("nothing", soon()).value(), "");
  EXPECT_EQ(joined[0].value()->get("never", Deadline::in(std::chrono::milliseconds(1))).error().code,
            Errc::kTimeout);
}

TEST(AuthenticatedRendezvous, NamesTheRankThatHasAnotherSecret) {
  std::vector<Secret> secrets(3, Secret());
  secrets[1] = Secret();
  const auto views = join_all(std::make_shared<LocalRendezvous>(), secrets);
  for (const Rank r : {0U, 2U}) {
    ASSERT_FALSE(views[r].ok());
    EXPECT_EQ(views[r].error().code, Errc::kPeer);
    EXPECT_THAT(views[r].error().message,
                AllOf(HasSubstr("'join/1'"), HasSubstr("rank 1 was started with another one"),
                      HasSubstr("RUDDER_SECRET")));
  }
  EXPECT_THAT(views[1].error().message, HasSubstr("'join/0'"));
}

TEST(AuthenticatedRendezvous, ATimeoutNamesTheRanksThatDoNotJoin) {
  const auto joined = authenticate(std::make_shared<LocalRendezvous>(), Secret(), 1, 3,
                                   Deadline::in(std::chrono::milliseconds(5)));
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().code, Errc::kTimeout);
  EXPECT_THAT(joined.error().message, HasSubstr("ranks 0, 2"));
}

/// A store that a stranger has a hand in.
class HauntedStore final : public Rendezvous {
 public:
  Status put(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(mutex_);
    values_[std::string(key)] = value;
    return {};
  }
  Result<std::string> get(std::string_view key, Deadline /*deadline*/) override {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? Result<std::string>(Error{Errc::kTimeout, std::string(key)})
                                  : found->second;
  }
  std::string& operator[](const std::string& key) { return values_[key]; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> values_;
};

TEST(AuthenticatedRendezvous, ForgedMovedAndCutValuesAreErrorsThatNameTheKey) {
  const auto store = std::make_shared<HauntedStore>();
  const View lone = authenticate(store, Secret(), 0, 1, soon());
  ASSERT_TRUE(lone.ok());
  Rendezvous& view = *lone.value();
  ASSERT_TRUE(view.put("address/0", "10.0.0.1").ok());
  ASSERT_TRUE(view.put("address/1", "10.0.0.2").ok());
  const std::string good = (*store)["address/0"];
  EXPECT_EQ(view.get("address/0", soon()).value(), "10.0.0.1");
  std::vector<std::string> bad = {"", "10.6.6.6", good + " ", (*store)["address/1"], std::string(32, '\0')};
  for (std::size_t i = 0; i < good.size(); ++i) {
    bad.push_back(good.substr(0, i));
    bad.push_back(good);
    bad.back()[i] = static_cast<char>(bad.back()[i] ^ 1);
  }
  for (const std::string& value : bad) {
    (*store)["address/0"] = value;
    const auto got = view.get("address/0", soon());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Errc::kPeer);
    EXPECT_THAT(got.error().message, HasSubstr("'address/0' in the rendezvous was not written by a rank"));
  }
}

TEST(AuthenticatedRendezvous, ValuesOfAnEarlierRunWithTheSameSecretDoNotPass) {
  const Secret secret;
  const auto earlier = std::make_shared<HauntedStore>();
  const View before = authenticate(earlier, secret, 0, 1, soon());
  ASSERT_TRUE(before.value()->put("address/0", "10.0.0.1").ok());
  const auto store = std::make_shared<HauntedStore>();
  const View now = authenticate(store, secret, 0, 1, soon());
  (*store)["address/0"] = (*earlier)["address/0"];
  const auto got = now.value()->get("address/0", soon());
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.error().message, HasSubstr("'address/0'"));
}

TEST(AuthenticatedRendezvous, AJoinOfAnEarlierRunOrOfAnotherRankDoesNotPass) {
  const Secret secret;
  const auto store = std::make_shared<HauntedStore>();
  ASSERT_FALSE(authenticate(store, secret, 1, 2, soon()).ok());  // alone; leaves its own join there
  const std::string join_of_1 = (*store)["join/1"];
  // Another rank's, under the name of the one that is waited for.
  (*store)["join/0"] = join_of_1;
  const View moved = authenticate(store, secret, 1, 2, soon());
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().message, HasSubstr("'join/0'"));

  /// Answers with an old join of this very rank, whatever it puts.
  class Replaying final : public Rendezvous {
   public:
    explicit Replaying(std::string old) : old_(std::move(old)) {}
    Status put(std::string_view, std::string_view) override { return {}; }
    Result<std::string> get(std::string_view, Deadline) override { return old_; }

   private:
    std::string old_;
  };
  const auto alone = std::make_shared<HauntedStore>();
  ASSERT_TRUE(authenticate(alone, secret, 0, 1, soon()).ok());
  const View replayed = authenticate(std::make_shared<Replaying>((*alone)["join/0"]), secret, 0, 1, soon());
  ASSERT_FALSE(replayed.ok());
  EXPECT_THAT(replayed.error().message, HasSubstr("'join/0'"));
}

}  // namespace
}  // namespace rudder::transport
