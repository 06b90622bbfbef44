// SPDX-License-Identifier: Apache-2.0
// The stack machine that reads protocol-2 pickles written by Python 2. It knows the opcodes and names that
// NumPy arrays, CSR matrices and dicts of lists need, builds plain values, and calls nothing.
#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "graph/pickle.h"

namespace rudder::graph {

using Kind = PickleValue::Kind;

namespace {

constexpr std::size_t kMaxMarks = 64;

// Opcodes by their names in Python's pickletools.
enum Op : unsigned char {
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kGlobal = 'c',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kEmptyTuple = ')',
  kTuple = 't',
  kEmptyDict = '}',
  kEmptyList = ']',
  kMark = '(',
  kAppend = 'a',
  kAppends = 'e',
  kSetItem = 's',
  kSetItems = 'u',
  kShortBinString = 'U',
  kBinString = 'T',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kReduce = 'R',
  kBuild = 'b',
  kStop = '.'
};

constexpr std::string_view kReconstruct = "numpy.core.multiarray._reconstruct";
constexpr std::string_view kNdarray = "numpy.ndarray";
constexpr std::string_view kDtype = "numpy.dtype";
constexpr std::string_view kDefaultDict = "collections.defaultdict";
constexpr std::string_view kList = "__builtin__.list";
constexpr std::string_view kCsrMatrix = "scipy.sparse.csr.csr_matrix";

struct Renamed {
  std::string_view now, before;
};
/// Since NumPy 2 and SciPy 1.8.
constexpr std::array<Renamed, 2> kRenamed = {
    {{"numpy._core.multiarray._reconstruct", kReconstruct}, {"scipy.sparse._csr.csr_matrix", kCsrMatrix}}};

}  // namespace

class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, std::string where, std::size_t limit)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), limit_(limit) {
    pickle_.where_ = std::move(where);
  }

  Result<Pickle> run() {
    if (text_.size() < 2 || static_cast<unsigned char>(text_[0]) != kProto || text_[1] != 2) {
      return invalid(pickle_.where_, "not a pickle of protocol 2");
    }
    position_ = 2;
    while (true) {
      if (position_ >= text_.size()) {
        return fail("ends before its end mark");
      }
      opcode_ = static_cast<unsigned char>(text_[position_++]);
      if (opcode_ == kStop) {
        break;
      }
      RUDDER_TRY(step());
      if (used_ > limit_) {
        return over_limit(pickle_.where_, "its values", limit_);
      }
    }
    if (stack_.size() != 1 || !marks_.empty()) {
      return fail(fmt::format("ends with {} values", stack_.size()));
    }
    pickle_.root_ = stack_.back();
    return std::move(pickle_);
  }

 private:
  Status step() {
    switch (opcode_) {
      case kNone:
        return push({Kind::kNone, 0});
      case kNewTrue:
        return push({Kind::kBool, 1});
      case kNewFalse:
        return push({Kind::kBool, 0});
      case kBinInt:
      case kBinInt1:
      case kBinInt2:
        return push_int();
      case kShortBinString:
      case kBinString:
        return push_string();
      case kGlobal:
        return push_global();
      case kEmptyTuple:
        return push_object(Kind::kTuple, {});
      case kEmptyDict:
        return push_object(Kind::kDict, {});
      case kEmptyList:
        return push_object(Kind::kList, {});
      case kMark:
        if (marks_.size() >= kMaxMarks) {
          return fail(fmt::format("nests more than {} deep", kMaxMarks));
        }
        marks_.push_back(stack_.size());
        return {};
      default:
        return step_on_values();
    }
  }

  /// Opcodes that take values from the stack or the memo.
  Status step_on_values() {
    switch (opcode_) {
      case kBinPut:
      case kLongBinPut:
        return put();
      case kBinGet:
      case kLongBinGet:
        return get();
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return tuple_of_last(1 + std::size_t{opcode_} - kTuple1);
      case kTuple: {
        RUDDER_ASSIGN(std::vector<PickleValue> items, pop_to_mark());
        return push_object(Kind::kTuple, std::move(items));
      }
      case kAppend:
      case kAppends:
        return extend(Kind::kList, "list", opcode_ == kAppend ? 1 : 0);
      case kSetItem:
      case kSetItems:
        return extend(Kind::kDict, "dict", opcode_ == kSetItem ? 2 : 0);
      case kReduce:
        return reduce();
      case kNewObj:
        return new_object();
      case kBuild:
        return build();
      default:
        return fail(fmt::format("opcode 0x{:02x} has no place in a Planetoid file", opcode_));
    }
  }

  Error fail(std::string_view what) const {
    return invalid(pickle_.where_, fmt::format("byte {}: {}", position_, what));
  }

  Status push(PickleValue value) {
    used_ += sizeof(PickleValue);
    stack_.push_back(value);
    return {};
  }
  Status push_object(Kind kind, std::vector<PickleValue> items, std::string_view text = {}) {
    used_ += sizeof(Pickle::Object) + items.size() * sizeof(PickleValue);
    pickle_.objects_.push_back({std::move(items), text});
    return push({kind, static_cast<std::int64_t>(pickle_.objects_.size() - 1)});
  }

  /// The number of values above the innermost mark.
  [[nodiscard]] std::size_t reachable() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  Result<PickleValue> pop() {
    if (reachable() == 0) {
      return fail("takes a value from an empty stack");
    }
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Result<std::vector<PickleValue>> pop_to_mark() {
    if (marks_.empty()) {
      return fail("takes values down to a mark that is not there");
    }
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue> values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return values;
  }

  /// The next `count` bytes.
  Result<std::string_view> take(std::size_t count) {
    if (count > text_.size() - position_) {
      return fail(fmt::format("ends in the middle of {} bytes", count));
    }
    const std::string_view bytes = text_.substr(position_, count);
    position_ += count;
    return bytes;
  }
  /// An unsigned little-endian number.
  Result<std::uint32_t> take_number(std::size_t count) {
    RUDDER_ASSIGN(const std::string_view bytes, take(count));
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      value |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return value;
  }

  Status push_int() {
    RUDDER_ASSIGN(const std::uint32_t raw, take_number(opcode_ == kBinInt1   ? 1
                                                       : opcode_ == kBinInt2 ? 2
                                                                             : 4));
    const std::int64_t value = opcode_ == kBinInt ? static_cast<std::int32_t>(raw) : std::int64_t{raw};
    return push({Kind::kInt, value});
  }

  Status push_string() {
    RUDDER_ASSIGN(const std::uint32_t length, take_number(opcode_ == kShortBinString ? 1 : 4));
    RUDDER_ASSIGN(const std::string_view text, take(length));
    return push_object(Kind::kString, {}, text);
  }

  Status push_global() {
    // "module\nname\n"
    const std::size_t middle = text_.find('\n', position_);
    const std::size_t end = middle == std::string_view::npos ? middle : text_.find('\n', middle + 1);
    if (end == std::string_view::npos) {
      return fail("ends in the middle of a name");
    }
    std::string name = fmt::format("{}.{}", text_.substr(position_, middle - position_),
                                   text_.substr(middle + 1, end - middle - 1));
    const auto* renamed = std::ranges::find(kRenamed, name, &Renamed::now);
    if (renamed != kRenamed.end()) {
      name = renamed->before;
    }
    constexpr std::array<std::string_view, 6> kKnown = {kReconstruct, kNdarray, kDtype,
                                                        kDefaultDict, kList,    kCsrMatrix};
    const auto* known = std::find(kKnown.begin(), kKnown.end(), name);
    if (known == kKnown.end()) {
      return fail(fmt::format("the pickle wants to call {}; refused", shown(name)));
    }
    position_ = end + 1;
    return push_object(Kind::kGlobal, {}, *known);
  }

  Status put() {
    RUDDER_ASSIGN(const std::uint32_t slot, take_number(opcode_ == kBinPut ? 1 : 4));
    if (reachable() == 0) {
      return fail("remembers a value of an empty stack");
    }
    // A hash table's node, roughly: the memo cannot outgrow the limit either.
    used_ += 4 * sizeof(PickleValue);
    memo_[slot] = stack_.back();
    return {};
  }
  Status get() {
    RUDDER_ASSIGN(const std::uint32_t slot, take_number(opcode_ == kBinGet ? 1 : 4));
    const auto found = memo_.find(slot);
    if (found == memo_.end()) {
      return fail(fmt::format("recalls value {}, which was never remembered", slot));
    }
    return push(found->second);
  }

  Status tuple_of_last(std::size_t count) {
    if (reachable() < count) {
      return fail("takes a value from an empty stack");
    }
    std::vector<PickleValue> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return push_object(Kind::kTuple, std::move(items));
  }

  /// Moves `count` values (0: those above the mark) into the list or dict below them.
  Status extend(Kind kind, std::string_view what, std::size_t count) {
    std::vector<PickleValue> items;
    if (count == 0) {
      RUDDER_ASSIGN(items, pop_to_mark());
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        RUDDER_ASSIGN(const PickleValue value, pop());
        items.insert(items.begin(), value);
      }
    }
    if (reachable() == 0 || stack_.back().kind != kind) {
      return fail(fmt::format("adds to something that is not a {}", what));
    }
    if (kind == Kind::kDict && items.size() % 2 != 0) {
      return fail("adds a key without a value to a dict");
    }
    std::vector<PickleValue>& target = top().items;
    used_ += items.size() * sizeof(PickleValue);
    target.insert(target.end(), items.begin(), items.end());
    return {};
  }

  Pickle::Object& top() { return pickle_.objects_[static_cast<std::size_t>(stack_.back().number)]; }
  [[nodiscard]] bool is_global(PickleValue value, std::string_view name) const {
    return value.kind == Kind::kGlobal && pickle_.object(value).text == name;
  }

  Status reduce() {
    RUDDER_ASSIGN(const PickleValue arguments, pop());
    RUDDER_ASSIGN(const PickleValue callee, pop());
    if (callee.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) {
      return fail("calls something that is not a known name");
    }
    const std::vector<PickleValue>& items = pickle_.object(arguments).items;
    if (is_global(callee, kReconstruct) && items.size() == 3 && is_global(items[0], kNdarray)) {
      return push_object(Kind::kArray, {});
    }
    if (is_global(callee, kDtype) && items.size() == 3 && items[0].kind == Kind::kString) {
      return push_object(Kind::kDtype, {}, pickle_.object(items[0]).text);
    }
    if (is_global(callee, kDefaultDict) && items.size() == 1 && is_global(items[0], kList)) {
      return push_object(Kind::kDict, {});
    }
    return fail(fmt::format("calls {} with unknown arguments", pickle_.object(callee).text));
  }

  Status new_object() {
    RUDDER_ASSIGN(const PickleValue arguments, pop());
    RUDDER_ASSIGN(const PickleValue callee, pop());
    if (!is_global(callee, kCsrMatrix) || arguments.kind != Kind::kTuple ||
        !pickle_.object(arguments).items.empty()) {
      return fail("makes an object that is not a CSR matrix");
    }
    return push_object(Kind::kMatrix, {});
  }

  Status build() {
    RUDDER_ASSIGN(const PickleValue state, pop());
    if (reachable() == 0) {
      return fail("sets the state of nothing");
    }
    const Kind kind = stack_.back().kind;
    const bool fits = ((kind == Kind::kArray || kind == Kind::kDtype) && state.kind == Kind::kTuple) ||
                      (kind == Kind::kMatrix && state.kind == Kind::kDict);
    if (!fits || !top().items.empty()) {
      return fail("sets the state of something that takes none");
    }
    const std::vector<PickleValue> items = pickle_.object(state).items;
    used_ += items.size() * sizeof(PickleValue);
    top().items = items;
    return {};
  }

  Pickle pickle_;
  std::string_view text_;
  std::size_t position_ = 0;
  unsigned char opcode_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, PickleValue> memo_;
  std::size_t limit_;
  std::size_t used_ = 0;
};

Result<Pickle> Pickle::parse(std::span<const std::byte> bytes, std::string where, std::size_t limit) {
  return PickleMachine(bytes, std::move(where), limit).run();
}

}  // namespace rudder::graph
