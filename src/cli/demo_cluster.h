// SPDX-License-Identifier: Apache-2.0
// Runs `rudder train` as one process a host of this machine, over shaped links, for one policy after another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/launch/network.h"
#include "rudder/train/options.h"

namespace rudder::cli {

enum class LinkKind : std::uint8_t { kNamespaces, kTokenBucket };

struct ClusterOptions {
  std::string executable;
  std::size_t hosts = 4;
  double link_bits_per_second = 0;
  std::string link_text;      ///< as given, for --link of the token bucket
  std::string kind = "auto";  ///< auto, namespaces, token-bucket
};

struct ClusterRun {
  train::TrainResult result;
  std::uint64_t link_bytes = 0;  ///< received by all hosts as the kernel counts; 0 with the token bucket
};

class Cluster {
 public:
  /// Makes the links. With kind auto: namespaces where this process may make them, else the token bucket.
  [[nodiscard]] static Result<Cluster> create(const ClusterOptions& options);

  /// "200Mbit links between network namespaces, shaped by tbf", or what the token bucket limits.
  [[nodiscard]] const std::string& link_description() const noexcept { return description_; }
  [[nodiscard]] LinkKind kind() const noexcept {
    return network_ ? LinkKind::kNamespaces : LinkKind::kTokenBucket;
  }
  /// All links move so much from now on; also while run() runs. kNamespaces only.
  [[nodiscard]] Status set_rate(double bits_per_second) { return network_->set_rate(bits_per_second); }
  /// Trains with `arguments` (after `rudder train`) plus --run and --host. `on_line` hears rank 0's standard
  /// error. A failed rank or a signal is an error that says which and why.
  [[nodiscard]] Result<ClusterRun> run(const std::vector<std::string>& arguments,
                                       const std::filesystem::path& run,
                                       const std::function<void(std::string_view)>& on_line);
  /// The signal that ended the last run, or 0.
  [[nodiscard]] int received_signal() const noexcept { return received_signal_; }

 private:
  [[nodiscard]] std::uint64_t received_bytes() const;

  ClusterOptions options_;
  std::string description_;
  int received_signal_ = 0;
  std::unique_ptr<launch::VirtualNetwork> network_;
};

}  // namespace rudder::cli
