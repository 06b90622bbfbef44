// SPDX-License-Identifier: Apache-2.0
// WordNet's data files, as wndb(5WN) describes them.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/graph/edges.h"
#include "rudder/graph/generators.h"

#include "graph/hashed_words.h"
#include "graph/seeded.h"

namespace rudder::graph {
namespace {

constexpr std::int64_t kLexicographerFiles = 45;

struct PartOfSpeech {
  const char* file;
  char letter;
};
constexpr std::array<PartOfSpeech, 4> kPartsOfSpeech{
    {{"data.noun", 'n'}, {"data.verb", 'v'}, {"data.adj", 'a'}, {"data.adv", 'r'}}};

/// Synsets are named by part of speech and byte offset; satellites ('s') live in the adjectives' file.
std::uint64_t synset_key(char letter, std::uint64_t offset) {
  return offset << 8 | static_cast<unsigned char>(letter == 's' ? 'a' : letter);
}

struct Pointer {
  NodeId from = 0;
  std::uint64_t to = 0;
  std::uint32_t file = 0;
  std::uint32_t line = 0;
};

/// Takes fields separated by single spaces.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}
  std::string_view next() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view field = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return field;
  }
  /// A whole field as a number in the given base, at most `limit`.
  std::optional<std::uint64_t> number(int base, std::uint64_t limit) {
    const std::string_view field = next();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, base);
    if (field.empty() || error != std::errc() || end != field.data() + field.size() || value > limit) {
      return std::nullopt;
    }
    return value;
  }

 private:
  std::string_view rest_;
};

/// A lemma without its syntactic marker "(a)", "(p)" or "(ip)": only adjectives have it, so it would give
/// part of the label away.
std::string_view plain_lemma(std::string_view lemma) {
  return lemma.ends_with(')') ? lemma.substr(0, lemma.rfind('(')) : lemma;
}

class WordnetReader {
 public:
  explicit WordnetReader(const GeneratorOptions& options) : options_(options), row_(options.features) {
    data_.features = options.features;
    data_.classes = kLexicographerFiles;
  }

  Status read_file(std::uint32_t index, const std::filesystem::path& path) {
    auto file = MappedFile::open(path);
    if (!file.ok()) {
      return Error{file.error().code,
                   file.error().message + " (WordNet's data files come with Debian's package wordnet-base)"};
    }
    const std::span<const std::byte> bytes = file->bytes();
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (std::uint32_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      // The licence at the top is indented by two spaces.
      if (!text.starts_with("  ") && !synset(index, line, text.substr(0, end))) {
        return Error{Errc::kInvalidData, fmt::format("{}:{}: not a synset: '{}'", path.string(), line,
                                                     text.substr(0, std::min<std::size_t>(end, 60)))};
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return {};
  }

  Result<GraphData> finish(const std::string& directory) {
    EdgeList edges;
    for (const Pointer& pointer : pointers_) {
      const auto found = nodes_.find(pointer.to);
      if (found == nodes_.end()) {
        return Error{Errc::kInvalidData,
                     fmt::format("{}/{}:{}: pointer to synset {:08} {}, which does not exist", directory,
                                 kPartsOfSpeech[pointer.file].file, pointer.line, pointer.to >> 8,
                                 static_cast<char>(pointer.to & 0xff))};
      }
      edges.add(found->second, pointer.from);
    }
    DropReport report;
    RUDDER_ASSIGN(Csc csc, build_csc(static_cast<NodeId>(data_.labels.size()), std::move(edges),
                                     Direction::kUndirected, report));
    data_.indptr = std::move(csc.indptr);
    data_.indices = std::move(csc.indices);
    data_.origin = {{"source", "wordnet: " + directory},
                    {"seed", std::to_string(options_.seed)},
                    {"nodes", "synsets of nouns, verbs, adjectives, adverbs, in file order"},
                    {"edges", "pointers"},
                    {"labels", "lexicographer file number"},
                    {"features", "hashed signed words of lemmas and gloss, length 1"},
                    {"split", "60/20/20 by hash of part of speech and offset"},
                    {"symmetrised", "true"}};
    report.append_to(data_.origin);
    return std::move(data_);
  }

 private:
  /// One line: offset lexfile type w_cnt (word lex_id)* p_cnt (symbol offset pos source/target)* … | gloss.
  /// False when it does not parse.
  bool synset(std::uint32_t file, std::uint32_t line, std::string_view text) {
    const std::size_t bar = std::min(text.find(" | "), text.size());
    Fields fields(text.substr(0, bar));
    const auto offset = fields.number(10, 99'999'999);
    const auto lexicographer = fields.number(10, kLexicographerFiles - 1);
    const std::string_view type = fields.next();
    const auto words = fields.number(16, 255);
    if (!offset || !lexicographer || type.size() != 1 || !words || *words == 0 ||
        (synset_key(type[0], 0) & 0xff) != static_cast<unsigned char>(kPartsOfSpeech[file].letter)) {
      return false;
    }
    std::fill(row_.begin(), row_.end(), 0.0F);
    for (std::uint64_t i = 0; i < *words; ++i) {
      add_hashed_words(plain_lemma(fields.next()), row_);
      fields.next();
    }
    const auto node = static_cast<NodeId>(data_.labels.size());
    const auto count = fields.number(10, 999);
    if (!count || !nodes_.emplace(synset_key(type[0], *offset), node).second) {
      return false;
    }
    for (std::uint64_t i = 0; i < *count; ++i) {
      fields.next();
      const auto target = fields.number(10, 99'999'999);
      const std::string_view letter = fields.next();
      if (!target || letter.size() != 1 || fields.next().size() != 4) {
        return false;
      }
      pointers_.push_back({node, synset_key(letter[0], *target), file, line});
    }
    add_hashed_words(text.substr(bar), row_);
    normalise_row(row_);
    data_.rows.resize(data_.rows.size() + row_.size() * sizeof(float));
    store_row(data_, node, row_);
    data_.labels.push_back(static_cast<std::int64_t>(*lexicographer));
    add_to_split(data_, node, options_.seed, synset_key(type[0], *offset), {0.6, 0.2});
    return true;
  }

  const GeneratorOptions& options_;
  GraphData data_;
  std::vector<float> row_;
  std::unordered_map<std::uint64_t, NodeId> nodes_;
  std::vector<Pointer> pointers_;
};

}  // namespace

Result<GraphData> wordnet_graph(const std::string& directory, const GeneratorOptions& options) {
  RUDDER_TRY(check_columns(options.features));
  WordnetReader reader(options);
  for (std::uint32_t i = 0; i < kPartsOfSpeech.size(); ++i) {
    RUDDER_TRY(reader.read_file(i, std::filesystem::path(directory) / kPartsOfSpeech[i].file));
  }
  return reader.finish(directory);
}

}  // namespace rudder::graph
