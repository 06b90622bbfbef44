// SPDX-License-Identifier: Apache-2.0
#include "dataplane/service_wire.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/text.h"
#include "rudder/dataplane/wire.h"

namespace rudder::dataplane {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kStagedBit = std::uint32_t{1} << 31;
constexpr std::size_t kRowsWords = 11;
constexpr std::size_t kCountBytes = 8;
constexpr std::size_t kMaxLayers = 64;

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Json parse(std::span<const std::byte> body) {
  const auto* const text = reinterpret_cast<const char*>(body.data());
  return Json::parse(text, text + body.size(), nullptr, false);
}

Error malformed(const char* what, const char* why) {
  return Error{Errc::kInvalidData, fmt::format("malformed {} frame: {}", what, why)};
}

/// Reads whole numbers and texts of one object; remembers the first that is not there or not in range.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  template <class T>
  void integer(const char* name, T& out) {
    const auto found = find(name);
    if (found != nullptr && found->is_number_unsigned() &&
        found->template get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<T>::max()}) {
      out = found->template get<T>();
    } else {
      fail(name);
    }
  }
  void text(const char* name, std::string& out) {
    const auto found = find(name);
    if (found != nullptr && found->is_string()) {
      out = found->get<std::string>();
    } else {
      fail(name);
    }
  }
  void toggle(const char* name, bool& out) {
    const auto found = find(name);
    if (found != nullptr && found->is_boolean()) {
      out = found->get<bool>();
    } else {
      fail(name);
    }
  }
  void integers(const char* name, std::vector<int>& out) {
    const auto found = find(name);
    if (found == nullptr || !found->is_array() || found->size() > kMaxLayers) {
      fail(name);
      return;
    }
    for (const Json& item : *found) {
      const bool small = item.is_number_integer() && item >= -1 && item <= std::numeric_limits<int>::max();
      if (!small) {
        fail(name);
        return;
      }
      out.push_back(item.get<int>());
    }
  }
  [[nodiscard]] const char* wrong() const { return wrong_; }

 private:
  [[nodiscard]] const Json* find(const char* name) const {
    if (!object_.is_object()) {
      return nullptr;
    }
    const auto at = object_.find(name);
    return at == object_.end() ? nullptr : &*at;
  }
  void fail(const char* name) { wrong_ = wrong_ == nullptr ? name : wrong_; }

  const Json& object_;
  const char* wrong_ = nullptr;
};

/// Makes `out` these words and `more` bytes behind them, whose address it returns.
template <std::size_t N>
std::byte* put_words(std::vector<std::byte>& out, const std::array<std::uint64_t, N>& words,
                     std::size_t more) {
  out.resize(sizeof(words) + more);
  std::memcpy(out.data(), words.data(), sizeof(words));
  return out.data() + sizeof(words);
}

template <std::size_t N>
std::array<std::uint64_t, N> get_words(std::span<const std::byte> body) {
  std::array<std::uint64_t, N> words{};
  std::memcpy(words.data(), body.data(), sizeof(words));
  return words;
}

}  // namespace

std::vector<std::byte> encode_attach(const AttachRequest& request) {
  const Json object = {{"version", request.version},
                       {"rank", request.rank},
                       {"graph_digest", request.graph_digest},
                       {"partition_digest", request.partition_digest},
                       {"steps", request.run.steps},
                       {"steps_per_epoch", request.run.steps_per_epoch},
                       {"seed", request.run.seed},
                       {"batch", request.run.batch},
                       {"fanout", request.run.fanout}};
  return bytes_of(object.dump());
}

Result<AttachRequest> decode_attach(std::span<const std::byte> body) {
  const Json object = parse(body);
  Fields fields(object);
  AttachRequest request;
  fields.integer("version", request.version);
  if (fields.wrong() == nullptr && request.version != kServiceVersion) {
    return Error{Errc::kPeer,
                 fmt::format("the trainer speaks version {} of the service's protocol, this is {}",
                             request.version, kServiceVersion)};
  }
  fields.integer("rank", request.rank);
  fields.text("graph_digest", request.graph_digest);
  fields.text("partition_digest", request.partition_digest);
  fields.integer("steps", request.run.steps);
  fields.integer("steps_per_epoch", request.run.steps_per_epoch);
  fields.integer("seed", request.run.seed);
  fields.integer("batch", request.run.batch);
  fields.integers("fanout", request.run.fanout);
  if (fields.wrong() != nullptr) {
    return malformed("attach", fields.wrong());
  }
  if (request.run.batch == 0 || request.run.steps_per_epoch == 0 || request.run.fanout.empty()) {
    return malformed("attach", "no batches");
  }
  return request;
}

std::vector<std::byte> encode_terms(const SupplyTerms& terms) {
  const Json object = {{"policy", terms.policy}, {"ahead", terms.ahead},           {"depth", terms.depth},
                       {"slots", terms.slots},   {"first_part", terms.first_part}, {"parts", terms.parts}};
  return bytes_of(object.dump());
}

Result<SupplyTerms> decode_terms(std::span<const std::byte> body) {
  const Json object = parse(body);
  Fields fields(object);
  SupplyTerms terms;
  fields.text("policy", terms.policy);
  fields.toggle("ahead", terms.ahead);
  fields.integer("depth", terms.depth);
  fields.integer("slots", terms.slots);
  fields.integer("first_part", terms.first_part);
  fields.integer("parts", terms.parts);
  if (fields.wrong() != nullptr) {
    return malformed("welcome", fields.wrong());
  }
  return terms;
}

std::vector<std::byte> encode_failure(const Error& error) {
  const Json object = {{"code", static_cast<unsigned>(error.code)}, {"message", error.message}};
  return bytes_of(object.dump(-1, ' ', true, Json::error_handler_t::replace));
}

Error decode_failure(std::span<const std::byte> body) {
  const Json object = parse(body);
  Fields fields(object);
  std::uint8_t code = 0;
  Error error;
  fields.integer("code", code);
  fields.text("message", error.message);
  if (fields.wrong() != nullptr || code > static_cast<std::uint8_t>(Errc::kInternal)) {
    return malformed("failure", fields.wrong() == nullptr ? "code" : fields.wrong());
  }
  error.code = static_cast<Errc>(code);
  error.message = printable(error.message);
  return error;
}

std::vector<std::byte> encode_block(const BlockNotice& notice) {
  std::vector<std::byte> out;
  put_words(out, std::array{notice.id, notice.bytes}, 0);
  return out;
}

Result<BlockNotice> decode_block(std::span<const std::byte> body) {
  if (body.size() != 2 * sizeof(std::uint64_t)) {
    return malformed("block", "size");
  }
  const auto words = get_words<2>(body);
  return BlockNotice{words[0], words[1]};
}

std::size_t rows_bytes(std::size_t rows) noexcept {
  return kRowsWords * sizeof(std::uint64_t) + rows * sizeof(std::uint32_t);
}

void encode_rows(const RowsNotice& notice, std::vector<std::byte>& out) {
  std::byte* at =
      put_words(out,
                std::array<std::uint64_t, kRowsWords>{
                    notice.step, notice.slot_block, notice.staging_block, notice.counts.requests,
                    notice.counts.hits, notice.counts.fetched, notice.counts.bypassed, notice.transfer.rows,
                    notice.transfer.payload_bytes, notice.transfer.wire_bytes, notice.transfer.messages},
                notice.places.size() * sizeof(std::uint32_t));
  for (const cache::RowSource place : notice.places) {
    const std::uint32_t word = place.place | (place.staged ? kStagedBit : 0);
    std::memcpy(at, &word, sizeof(word));
    at += sizeof(word);
  }
}

Result<RowsNotice> decode_rows(std::span<const std::byte> body, std::size_t rows) {
  if (body.size() != rows_bytes(rows)) {
    return malformed("rows", "size");
  }
  const auto words = get_words<kRowsWords>(body);
  RowsNotice notice{.step = words[0],
                    .slot_block = words[1],
                    .staging_block = words[2],
                    .counts = {words[3], words[4], words[5], words[6]},
                    .transfer = {words[7], words[8], words[9], words[10]},
                    .places = {}};
  notice.places.reserve(rows);
  const std::byte* at = body.data() + kRowsWords * sizeof(std::uint64_t);
  for (std::size_t i = 0; i < rows; ++i, at += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    notice.places.push_back({word & ~kStagedBit, (word & kStagedBit) != 0});
  }
  return notice;
}

std::vector<std::byte> encode_figures(const FiguresNotice& notice) {
  std::vector<std::byte> out;
  std::byte* const at =
      put_words(out, std::array{static_cast<std::uint64_t>(notice.at.count())}, notice.page.size());
  std::memcpy(at, notice.page.data(), notice.page.size());
  return out;
}

Result<FiguresNotice> decode_figures(std::span<const std::byte> body) {
  if (body.size() < sizeof(std::uint64_t)) {
    return malformed("figures", "size");
  }
  const std::uint64_t at = get_words<1>(body)[0];
  if (at > static_cast<std::uint64_t>(Duration::max().count())) {
    return malformed("figures", "time");
  }
  const auto page = body.subspan(sizeof(std::uint64_t));
  return FiguresNotice{Duration(static_cast<std::int64_t>(at)),
                       {reinterpret_cast<const char*>(page.data()), page.size()}};
}

void encode_offer(std::span<const NodeId> rows, std::vector<std::byte>& out) {
  put_words(out, std::array{std::uint64_t{rows.size()}}, 0);
  encode_ids(0, rows, out);
}

std::size_t max_offer_bytes(NodeId nodes) noexcept {
  return kCountBytes + static_cast<std::size_t>(nodes) * kMaxIdBytes;
}

Result<std::vector<NodeId>> decode_offer(std::span<const std::byte> body, NodeId nodes, NodeId owned_begin,
                                         NodeId owned_end) {
  if (body.size() < kCountBytes) {
    return malformed("offer", "size");
  }
  std::vector<NodeId> rows;
  const Status decoded =
      decode_ids(0, nodes, static_cast<std::size_t>(get_words<1>(body)[0]), body.subspan(kCountBytes), rows);
  if (!decoded.ok()) {
    return decoded.error().in("malformed offer frame");
  }
  const auto at = std::ranges::lower_bound(rows, owned_begin);
  if (at != rows.end() && *at < owned_end) {
    return malformed("offer", "a row that is the host's own");
  }
  return rows;
}

}  // namespace rudder::dataplane
