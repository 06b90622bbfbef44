// SPDX-License-Identifier: Apache-2.0
#include "place/yaml_document.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace rudder::place {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = std::size_t{1} << 24;

std::size_t line_of(const YAML::Mark& mark) {
  return mark.is_null() ? 1 : static_cast<std::size_t>(mark.line) + 1;
}

/// Ends the parse from inside the library, which has no other way to be stopped. Caught in parse_yaml.
struct Stop : std::exception {
  Stop(std::size_t at, std::string what) : line(at), problem(std::move(what)) {}
  std::size_t line;
  std::string problem;
};

class Builder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override { document_ = YamlNode(); }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    throw Stop(line_of(mark), fmt::format("anchors are not read: '&{}'", name.substr(0, 80)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Stop(line_of(mark), "aliases are not read");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { put(mark, {}); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.text = value;
    put(mark, std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { stack_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(mark, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override {
    const Open& map = stack_.back();
    std::vector<std::pair<std::string_view, std::size_t>> keys;  // duplicates are neighbours when sorted
    for (std::size_t i = 0; i < map.node->keys.size(); ++i) {
      keys.emplace_back(map.node->keys[i], map.node->items[i].line);
    }
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end(),
                                          [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != keys.end()) {
      throw Stop((twice + 1)->second,
                 fmt::format("key '{}' occurs twice in one map", twice->first.substr(0, 80)));
    }
    stack_.pop_back();
  }

  [[nodiscard]] YamlNode take() { return std::move(document_); }

 private:
  struct Open {
    YamlNode* node = nullptr;
    std::optional<std::string> key;  ///< read, its value not yet
  };

  YamlNode* put(const YAML::Mark& mark, YamlNode node) {
    node.line = line_of(mark);
    if (++values_ > kMaxValues) {
      throw Stop(node.line, fmt::format("more than {} values", kMaxValues));
    }
    if (stack_.empty()) {
      document_ = std::move(node);
      return &document_;
    }
    Open& parent = stack_.back();
    if (parent.node->kind == YamlNode::Kind::kList) {
      return &parent.node->items.emplace_back(std::move(node));
    }
    if (!parent.key) {
      if (node.kind != YamlNode::Kind::kScalar) {
        throw Stop(node.line, "a key that is no scalar");
      }
      parent.key = std::move(node.text);
      return nullptr;
    }
    parent.node->keys.push_back(std::move(*parent.key));
    parent.key.reset();
    return &parent.node->items.emplace_back(std::move(node));
  }
  void open(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (stack_.size() == kMaxDepth) {
      throw Stop(line_of(mark), fmt::format("nests more than {} deep", kMaxDepth));
    }
    YamlNode node;
    node.kind = kind;
    stack_.push_back({put(mark, std::move(node)), {}});
  }

  YamlNode document_;
  std::vector<Open> stack_;  ///< only the innermost grows, so pointers stay valid
  std::size_t values_ = 0;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto at = std::find(keys.begin(), keys.end(), key);
  return at == keys.end() ? nullptr : &items[static_cast<std::size_t>(at - keys.begin())];
}

Result<std::vector<YamlNode>> parse_yaml(const std::string& where, std::string_view text) {
  const auto failed = [&](std::size_t line, std::string_view problem) {
    return Error{Errc::kInvalidData, fmt::format("{}: line {}: {}", where, line, problem)};
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    std::vector<YamlNode> documents;
    Builder builder;
    while (parser.HandleNextDocument(builder)) {
      documents.push_back(builder.take());
    }
    return documents;
  } catch (const Stop& stop) {
    return failed(stop.line, stop.problem);
  } catch (const YAML::Exception& error) {
    return failed(line_of(error.mark), error.msg);
  }
}

}  // namespace rudder::place
