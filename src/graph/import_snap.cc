// SPDX-License-Identifier: Apache-2.0
// SNAP edge lists: text, plain or gzip, one edge a line, '#' comments.
#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "graph/import_common.h"
#include "graph/seeded.h"
#include "graph/text_lines.h"

namespace rudder::graph {
namespace {

constexpr std::string_view kSpace = " \t\v\f\r";

bool is_space(char c) {
  return kSpace.find(c) != std::string_view::npos;
}

/// Reads one integer at the front of `rest` and removes it with the white space before it.
bool take_id(std::string_view& rest, std::int64_t& id) {
  const char* begin = rest.data();
  const char* const end = begin + rest.size();
  while (begin != end && is_space(*begin)) {
    ++begin;
  }
  const auto [after, error] = std::from_chars(begin, end, id);
  if (error != std::errc() || (after != end && !is_space(*after))) {
    return false;
  }
  rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
  return true;
}

Result<EdgeList> read_edges(const std::filesystem::path& path, std::size_t limit) {
  RUDDER_ASSIGN(LineReader reader, LineReader::open(path));
  EdgeList edges;
  std::string_view line;
  while (reader.next(line)) {
    std::string_view rest = line;
    const std::size_t first = rest.find_first_not_of(kSpace);
    if (first == std::string_view::npos || rest[first] == '#') {
      continue;
    }
    NodeId from = 0;
    NodeId to = 0;
    if (!take_id(rest, from) || !take_id(rest, to)) {
      return reader.error_at(line, "two node ids of at most 64 bits are expected");
    }
    if (rest.find_first_not_of(kSpace) != std::string_view::npos) {
      return reader.error_at(line, "more than two columns; keep the first two (cut -f1,2)");
    }
    if (edges.source.size() == edges.source.capacity()) {
      // Growing doubles both vectors and copies one while the other waits.
      if (edges.source.size() > limit / (4 * sizeof(NodeId))) {
        return over_limit(reader.where(), fmt::format("more than {} edges", edges.source.size()), limit);
      }
    }
    edges.add(from, to);
  }
  RUDDER_TRY(reader.status());
  if (edges.source.empty()) {
    return invalid(reader.where(), "no edge in the whole file");
  }
  return edges;
}

/// Ids from `smallest` to `smallest + range`: a bit for each that occurs and a running count a word.
/// O(range).
class DenseRanks {
 public:
  DenseRanks(std::uint64_t smallest, std::uint64_t range) : smallest_(smallest), words_(range / 64 + 1) {}

  void mark(NodeId id) {
    const std::uint64_t at = offset(id);
    words_[at / 64].bits |= std::uint64_t{1} << (at % 64);
  }
  /// The distinct ids marked, ascending.
  std::vector<std::int64_t> finish() {
    std::vector<std::int64_t> ids;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      words_[w].before = static_cast<NodeId>(ids.size());
      for (std::uint64_t bits = words_[w].bits; bits != 0; bits &= bits - 1) {
        ids.push_back(
            static_cast<std::int64_t>(smallest_ + w * 64 + static_cast<unsigned>(std::countr_zero(bits))));
      }
    }
    return ids;
  }
  [[nodiscard]] NodeId rank(NodeId id) const {
    const std::uint64_t at = offset(id);
    const Word& word = words_[at / 64];
    const std::uint64_t below = word.bits & ((std::uint64_t{1} << (at % 64)) - 1);
    return word.before + std::popcount(below);
  }

 private:
  struct Word {
    std::uint64_t bits = 0;
    NodeId before = 0;
  };
  // Unsigned, so that the distance between ids of either sign cannot overflow.
  [[nodiscard]] std::uint64_t offset(NodeId id) const { return static_cast<std::uint64_t>(id) - smallest_; }

  std::uint64_t smallest_;
  std::vector<Word> words_;
};

/// Replaces ids by their rank among the distinct ones; returns those, ascending. O(edges) where the ids lie
/// close together, else O(edges log edges).
std::vector<std::int64_t> relabel(EdgeList& edges) {
  NodeId smallest = edges.source.front();
  NodeId largest = smallest;
  for (const auto* ends : {&edges.source, &edges.target}) {
    const auto [low, high] = std::minmax_element(ends->begin(), ends->end());
    smallest = std::min(smallest, *low);
    largest = std::max(largest, *high);
  }
  const std::uint64_t range = static_cast<std::uint64_t>(largest) - static_cast<std::uint64_t>(smallest);
  std::vector<std::int64_t> ids;
  if (range / 16 <= edges.source.size() + 4096) {
    DenseRanks ranks(static_cast<std::uint64_t>(smallest), range);
    for (const auto* ends : {&edges.source, &edges.target}) {
      std::for_each(ends->begin(), ends->end(), [&](NodeId id) { ranks.mark(id); });
    }
    ids = ranks.finish();
    for (auto* ends : {&edges.source, &edges.target}) {
      std::transform(ends->begin(), ends->end(), ends->begin(), [&](NodeId id) { return ranks.rank(id); });
    }
    return ids;
  }
  ids.reserve(2 * edges.source.size());
  ids.insert(ids.end(), edges.source.begin(), edges.source.end());
  ids.insert(ids.end(), edges.target.begin(), edges.target.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (auto* ends : {&edges.source, &edges.target}) {
    std::transform(ends->begin(), ends->end(), ends->begin(),
                   [&](NodeId id) { return std::lower_bound(ids.begin(), ids.end(), id) - ids.begin(); });
  }
  return ids;
}

}  // namespace

Result<GraphData> import_snap(const std::filesystem::path& source, const ImportOptions& options) {
  if (options.classes < 1 || options.classes > kMaxClasses) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("classes is {}; 1 to {} are possible", options.classes, kMaxClasses)};
  }
  RUDDER_TRY(check_columns(options.features));
  const std::size_t limit = memory_limit_of(options);
  RUDDER_ASSIGN(EdgeList edges, read_edges(source, limit));
  GraphData data;
  data.original_ids = relabel(edges);
  const std::size_t nodes = data.original_ids.size();
  RUDDER_TRY(allocate_rows(data, nodes, options.features, limit, source.string()));
  data.origin = {{"source", "snap: " + base_name(source)},
                 {"edges_listed", std::to_string(edges.source.size())},
                 {"ids", "relabelled densely in increasing order; the source's are in original_ids.npy"},
                 {"features", "seeded random, a pure function of seed and node"},
                 {"labels", "seeded random, a pure function of seed and node"},
                 {"split", "60/20/20 by hash of seed and node"},
                 {"seed", std::to_string(options.seed)}};
  RUDDER_TRY(set_structure(data, static_cast<NodeId>(nodes), std::move(edges), source.string()));
  add_noise_features(data, options.features, options.seed);
  add_random_labels(data, options.classes, options.seed);
  add_random_split(data, SplitShares{}, options.seed);
  return data;
}

}  // namespace rudder::graph
