// SPDX-License-Identifier: Apache-2.0
// Texts that are reviewed by eye and kept as files: tests/steer/golden/NAME.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "rudder/core/files.h"

namespace rudder::steer::testing_support {

/// The file's text. With RUDDER_UPDATE_GOLDEN in the environment, `now` is written to it first: look at the
/// difference before committing it.
inline std::string golden(const std::string& name, const std::string& now) {
  const std::filesystem::path path =
      std::filesystem::path(RUDDER_TEST_SOURCE_DIR) / "tests/steer/golden" / name;
  if (std::getenv("RUDDER_UPDATE_GOLDEN") != nullptr) {
    const auto written = write_text(path, now);
    EXPECT_TRUE(written.ok()) << written.error().message;
  }
  const auto text = read_text(path);
  EXPECT_TRUE(text.ok()) << text.error().message;
  return text.ok() ? *text : "";
}

}  // namespace rudder::steer::testing_support
