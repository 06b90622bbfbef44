// SPDX-License-Identifier: Apache-2.0
// Made-up traces as files.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "rudder/cache/trace.h"
#include "rudder/core/files.h"

#include "support/trace_maker.h"

namespace rudder::sim::testing_support {

class TraceFolder {
 public:
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

  std::filesystem::path write(const std::string& name, const cache::Trace& trace) const {
    const std::filesystem::path path = folder_.path() / name;
    auto writer = cache::TraceWriter::create(path, trace.header);
    EXPECT_TRUE(writer.ok());
    for (Rank rank = 0; rank < trace.header.ranks(); ++rank) {
      for (StepId step = 0; step < trace.header.steps(); ++step) {
        EXPECT_TRUE(writer->append(rank, step, trace.ranks[rank].batch(step)).ok());
      }
    }
    EXPECT_TRUE(writer->commit().ok());
    return path;
  }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::create("rudder-traces").value();
};

/// 240 batches of two ranks that ask for about 50 rows each; 12 an epoch.
inline cache::testing_support::TraceShape small_shape(std::uint64_t seed) {
  cache::testing_support::TraceShape shape;
  shape.seed = seed;
  shape.nodes_per_part = 400;
  shape.epochs = 20;
  shape.steps_per_epoch = 12;
  return shape;
}

}  // namespace rudder::sim::testing_support
