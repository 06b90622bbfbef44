// SPDX-License-Identifier: Apache-2.0
// One function a format: text of a whole file into a builder. All are linear in the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/topology_files.h"

#include "place/topology_builder.h"

namespace rudder::place {

/// Of any text from a cluster: a dump of a million nodes is smaller.
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

[[nodiscard]] Status read_slurm_conf(std::string_view text, const TopologyFileOptions& options,
                                     TopologyBuilder& builder);
[[nodiscard]] Status read_slurm_yaml(std::string_view text, const TopologyFileOptions& options,
                                     TopologyBuilder& builder);
[[nodiscard]] Status read_topograph_graph(std::string_view text, const TopologyFileOptions& options,
                                          TopologyBuilder& builder);
[[nodiscard]] Status read_topograph_model(std::string_view text, const TopologyFileOptions& options,
                                          TopologyBuilder& builder);
[[nodiscard]] Status read_kubernetes(std::string_view text, const TopologyFileOptions& options,
                                     TopologyBuilder& builder);
[[nodiscard]] Status read_ibnetdiscover(std::string_view text, const TopologyFileOptions& options,
                                        TopologyBuilder& builder);
[[nodiscard]] Status read_host_list(std::string_view text, const TopologyFileOptions& options,
                                    TopologyBuilder& builder);

/// Blocks of topology/block as a tree: with sizes s0 < s1 < ... the aggregates of s1/s0, s2/s0, ...
/// successive blocks, which Slurm keeps jobs in, become switches above them ("b1..b2"). Sizes must be
/// positive, each a power-of-two multiple of the first. `blocks` in the file's order.
[[nodiscard]] Status aggregate_blocks(const std::vector<std::pair<std::string, SwitchId>>& blocks,
                                      const std::vector<std::int64_t>& sizes, const Place& place,
                                      TopologyBuilder& builder);

/// Without the byte order mark that some editors put in front of UTF-8.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text) noexcept;

/// Walks over the lines of a text, behind a byte order mark.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(without_byte_order_mark(text)) {}
  /// The next line without its end ("\n" or "\r\n"); false after the last.
  [[nodiscard]] bool next(std::string_view& line);
  [[nodiscard]] std::size_t number() const noexcept { return number_; }  ///< of that line, from 1

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Without blanks at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);
/// The first word; `text` keeps the rest. Empty when there is none.
[[nodiscard]] std::string_view take_word(std::string_view& text);

}  // namespace rudder::place
