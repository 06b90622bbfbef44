// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/run_secret.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/files.h"

namespace rudder::launch {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kDigits(64, 'b');

class SecretFile : public testing::Test {
 protected:
  void write(const std::string& text, mode_t mode = 0600) const {
    fs::create_directories(path_.parent_path());
    ::chmod(path_.parent_path().c_str(), 0700);
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
  }
  [[nodiscard]] std::string error() const {
    const auto secret = secret_from_file(path_);
    return secret.ok() ? "none" : secret.error().message;
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::create("rudder-secret").value();
  const fs::path path_ = folder_.path() / ".rudder" / "secret";
};

TEST_F(SecretFile, IsMadeOnceAndForThisUserAlone) {
  const mode_t mask = ::umask(0);
  const auto first = secret_from_file(path_);
  ::umask(mask);
  ASSERT_TRUE(first.ok()) << first.error().message;
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  ASSERT_EQ(::stat(path_.parent_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  const auto second = secret_from_file(path_);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first.value().hex(), second.value().hex());
  EXPECT_EQ(std::distance(fs::directory_iterator(path_.parent_path()), {}), 1);  // no temporary file stays
}

TEST_F(SecretFile, ThatOthersMayReadOrWriteIsRefusedAndKept) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0777U}) {
    write(kDigits + "\n", mode);
    EXPECT_THAT(error(), AllOf(HasSubstr(path_.string()), HasSubstr("others may read or write it"),
                               HasSubstr("remove it"), Not(HasSubstr(kDigits))));
  }
  write(kDigits + "\n", 0400);
  EXPECT_EQ(error(), "none");
}

TEST_F(SecretFile, InAFolderThatOthersWriteToIsRefused) {
  write(kDigits + "\n");
  ::chmod(path_.parent_path().c_str(), 0770);
  EXPECT_THAT(error(), HasSubstr("chmod 700"));
}

TEST_F(SecretFile, OfAnotherUserIsRefused) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  write(kDigits + "\n");
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(error(), HasSubstr("belongs to user 65534"));
  ASSERT_EQ(::chown(path_.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(path_.parent_path().c_str(), 65534, 65534), 0);
  EXPECT_THAT(error(), HasSubstr("belongs to user 65534"));
}

TEST_F(SecretFile, IsNoLinkAndNoOtherKindOfFile) {
  write(kDigits + "\n");
  fs::rename(path_, path_.parent_path() / "elsewhere");
  fs::create_symlink("elsewhere", path_);
  EXPECT_THAT(error(), HasSubstr("a symbolic link"));
  fs::remove(path_);
  fs::create_symlink("nowhere", path_);
  EXPECT_THAT(error(), HasSubstr("a symbolic link"));
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(error(), HasSubstr("not a regular file"));  // and does not wait for a writer
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_THAT(error(), HasSubstr("not a regular file"));
}

TEST_F(SecretFile, OfAnotherLengthOrTextIsRefused) {
  for (const std::string& text : {std::string(), kDigits, kDigits + "\n\n", "b" + kDigits + "\n",
                                  kDigits + "b", kDigits.substr(1) + "x\n"}) {
    write(text);
    EXPECT_THAT(error(), AllOf(HasSubstr(path_.string()), HasSubstr("remove it"), Not(HasSubstr("bbbb"))))
        << text;
  }
}

TEST_F(SecretFile, IsTheSameForAllOfManyProcessesThatMakeItAtOnce) {
  constexpr int kProcesses = 24;
  for (int round = 0; round < 10; ++round) {
    std::error_code ignored;
    fs::remove_all(path_.parent_path(), ignored);
    std::array<int, 2> start{};
    std::array<int, 2> answers{};
    ASSERT_EQ(::pipe(start.data()), 0);
    ASSERT_EQ(::pipe(answers.data()), 0);
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        ::close(start[1]);
        char go = 0;
        static_cast<void>(!::read(start[0], &go, 1));  // ends for all at once, when the parent closes its end
        const auto secret = secret_from_file(path_);
        const std::string text = secret.ok() ? secret.value().hex() : std::string(64, '-');
        static_cast<void>(!::write(answers[1], text.data(), text.size()));
        ::_exit(0);
      }
    }
    ::close(start[0]);
    ::close(start[1]);
    ::close(answers[1]);
    std::multiset<std::string> secrets;
    std::array<char, 64> text{};
    while (::read(answers[0], text.data(), text.size()) == 64) {
      secrets.emplace(text.data(), text.size());
    }
    ::close(answers[0]);
    for (int i = 0; i < kProcesses; ++i) {
      ::wait(nullptr);
    }
    EXPECT_EQ(secrets.size(), std::size_t{kProcesses});
    EXPECT_EQ(secrets.count(*secrets.begin()), std::size_t{kProcesses}) << "round " << round;
    EXPECT_NE(*secrets.begin(), std::string(64, '-'));
    EXPECT_EQ(std::distance(fs::directory_iterator(path_.parent_path()), {}), 1);
  }
}

class SecretVariable : public SecretFile {
 protected:
  SecretVariable() {
    ::setenv("HOME", folder_.path().c_str(), 1);
    ::unsetenv(kSecretVariable);
  }
  ~SecretVariable() override { ::unsetenv(kSecretVariable); }
};

TEST_F(SecretVariable, WinsOverTheFile) {
  write(kDigits + "\n");
  EXPECT_EQ(run_secret_from_environment().value().hex(), kDigits);
  const std::string other(64, 'c');
  ::setenv(kSecretVariable, other.c_str(), 1);
  EXPECT_EQ(run_secret_from_environment().value().hex(), other);
}

TEST_F(SecretVariable, ThatIsMalformedIsAnErrorAndNoFileIsMade) {
  for (const std::string& text : {std::string(), std::string("secret"), kDigits.substr(1), kDigits + "b"}) {
    ::setenv(kSecretVariable, text.c_str(), 1);
    const auto secret = run_secret_from_environment();
    ASSERT_FALSE(secret.ok()) << text;
    EXPECT_THAT(secret.error().message, AllOf(HasSubstr(kSecretVariable), Not(HasSubstr("bbbb"))));
  }
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SecretVariable, IsAskedForWhereThereIsNoHome) {
  ::unsetenv("HOME");
  const auto secret = run_secret_from_environment();
  ASSERT_FALSE(secret.ok());
  EXPECT_THAT(secret.error().message, HasSubstr("set RUDDER_SECRET"));
}

}  // namespace
}  // namespace rudder::launch
