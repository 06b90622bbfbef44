// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>

#include <gmock/gmock.h>

#include "graph/import_helpers.h"
#include "graph/pickle.h"

namespace rudder::graph::testing_support {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCora = RUDDER_TEST_SHARED_DATA "/graphs/cora-planetoid";

// A tiny emitter of protocol-2 pickles as Python 2 writes them.
std::string cat(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) {
    out.append(part);
  }
  return out;
}
std::string global(std::string_view module, std::string_view name) {
  return fmt::format("c{}\n{}\n", module, name);
}
std::string integer(std::int32_t value) {
  return cat({"J", raw(value)});
}
std::string short_text(std::string_view value) {
  return cat({"U", raw(static_cast<std::uint8_t>(value.size())), value});
}
std::string pickle(std::string_view body) {
  return cat({"\x80\x02", body, "."});
}

std::string array(std::string_view dtype, const std::vector<std::int32_t>& shape, std::string_view data,
                  std::string_view order = "<") {
  std::string extents;
  for (const std::int32_t extent : shape) {
    extents += integer(extent);
  }
  const std::string made = cat({global("numpy.core.multiarray", "_reconstruct"), global("numpy", "ndarray"),
                                integer(0), "\x85", short_text("b"), "\x87R"});
  const std::string type =
      cat({global("numpy", "dtype"), short_text(dtype), integer(0), integer(1), "\x87R("});
  const std::string type_state =
      cat({integer(3), short_text(order), "NNN", integer(-1), integer(-1), integer(0), "tb"});
  return cat({made, "(", integer(1), "(", extents, "t", type, type_state, "\x89T",
              raw(static_cast<std::int32_t>(data.size())), data, "tb"});
}

std::string matrix(std::int32_t rows, std::int32_t columns, const std::vector<std::int32_t>& indptr,
                   const std::vector<std::int32_t>& indices, const std::vector<float>& values) {
  const auto ints = [](const std::vector<std::int32_t>& v) {
    return array("i4", {static_cast<std::int32_t>(v.size())}, raw_all(v));
  };
  return cat({global("scipy.sparse.csr", "csr_matrix"), ")\x81}(", short_text("_shape"), integer(rows),
              integer(columns), "\x86", short_text("indptr"), ints(indptr), short_text("indices"),
              ints(indices), short_text("data"),
              array("f4", {static_cast<std::int32_t>(values.size())}, raw_all(values)), "ub"});
}

std::string one_hot(const std::vector<std::int32_t>& labels, std::int32_t classes) {
  std::vector<std::int32_t> cells;
  for (const std::int32_t label : labels) {
    for (std::int32_t c = 0; c < classes; ++c) {
      cells.push_back(c == label ? 1 : 0);
    }
  }
  return array("i4", {static_cast<std::int32_t>(labels.size()), classes}, raw_all(cells));
}

std::string lists(const std::vector<std::vector<std::int32_t>>& neighbors) {
  std::string out = global("collections", "defaultdict") + global("__builtin__", "list") + "\x85R(";
  for (std::size_t v = 0; v < neighbors.size(); ++v) {
    out += cat({integer(static_cast<std::int32_t>(v)), "]("});
    for (const std::int32_t u : neighbors[v]) {
      out += integer(u);
    }
    out += "e";
  }
  return cat({out, "u"});
}

/// Seven nodes: 0 and 1 train, 2 validates, 6 and 4 are tested (in that order), 3 and 5 are gaps.
fs::path write_set(const fs::path& directory) {
  const fs::path prefix = directory / "ind.tiny";
  const auto file = [&](const char* suffix, const std::string& content) {
    write_file(prefix.string() + suffix, content);
  };
  file(".x", pickle(matrix(2, 3, {0, 1, 2}, {0, 1}, {1, 1})));
  file(".allx", pickle(matrix(3, 3, {0, 1, 2, 4}, {0, 1, 0, 2}, {1, 1, 1, 0.5F})));
  file(".tx", pickle(matrix(2, 3, {0, 1, 2}, {2, 1}, {6, 4})));
  file(".y", pickle(one_hot({0, 1}, 4)));
  file(".ally", pickle(one_hot({0, 1, 0}, 4)));
  file(".ty", pickle(one_hot({2, 1}, 4)));
  file(".test.index", "6\n4\n");
  // 0-1 (both ways), 0-2 (one way, twice), 2-2, 4-6.
  file(".graph", pickle(lists({{1, 2, 2}, {0}, {2}, {}, {6}, {}, {4}})));
  return prefix;
}

TEST(ImportPlanetoid, ReadsCora) {
  if (!fs::exists(kCora)) {
    GTEST_SKIP() << kCora << " is absent";
  }
  const auto data = import_graph(ImportFormat::kPlanetoid, kCora, {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->indptr.size(), 2709U);
  EXPECT_EQ(data->indices.size(), 2U * 5278);
  EXPECT_EQ(data->features, 1433U);
  EXPECT_EQ(data->classes, 7);
  EXPECT_EQ(data->train.size(), 140U);
  EXPECT_EQ(data->val.size(), 500U);
  EXPECT_EQ(data->test.size(), 1000U);
  EXPECT_EQ(data->val.back(), 639);
  EXPECT_EQ(data->test.front(), 1708);
  EXPECT_EQ(origin_of(*data, "source"), "planetoid: ind.cora");
  EXPECT_EQ(origin_of(*data, "isolated_nodes_kept"), "0");
  EXPECT_EQ(origin_of(*data, "opposite_edges_added"), "0");
  // The class sizes that the literature states: 351, 217, 418, 818, 426, 298, 180.
  std::vector<int> sizes(7);
  for (const std::int64_t label : data->labels) {
    ASSERT_GE(label, 0);
    ++sizes[static_cast<std::size_t>(label)];
  }
  EXPECT_THAT(sizes, ElementsAre(351, 217, 418, 818, 426, 298, 180));
  float ones = 0;
  for (NodeId v = 0; v < 2708; ++v) {
    for (const float value : row_of(*data, v)) {
      ASSERT_TRUE(value == 0.0F || value == 1.0F);
      ones += value;
    }
  }
  EXPECT_EQ(ones, 49216.0F);
  // The first list of the file.
  EXPECT_THAT(neighbors_of(*data, 0), ElementsAre(633, 1862, 2582));
}

TEST(ImportPlanetoid, WritesAndOpensCora) {
  if (!fs::exists(kCora)) {
    GTEST_SKIP() << kCora << " is absent";
  }
  const auto directory = temporary();
  const auto data = import_graph(ImportFormat::kPlanetoid, std::string(kCora) + "/ind.cora", {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  ASSERT_TRUE(write_graph(directory.path() / "g", *data).ok());
  const auto graph = Graph::open(directory.path() / "g");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->meta().nodes, 2708);
  EXPECT_EQ(graph->meta().edges, 10556);
  EXPECT_EQ(graph->meta().max_degree, 168);
}

TEST(ImportPlanetoid, KeepsGapsOfTheTestIdsAsBareNodes) {
  const auto directory = temporary();
  write_set(directory.path());
  const auto data = import_graph(ImportFormat::kPlanetoid, directory.path(), {});
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->labels, ElementsAre(0, 1, 0, -1, 1, -1, 2));
  EXPECT_EQ(data->classes, 4);  // the width of the one-hot rows, though nobody is of class 3
  EXPECT_THAT(data->train, ElementsAre(0, 1));
  EXPECT_THAT(data->val, ElementsAre(2));
  EXPECT_THAT(data->test, ElementsAre(4, 6));
  EXPECT_THAT(row_of(*data, 2), ElementsAre(1, 0, 0.5F));
  EXPECT_THAT(row_of(*data, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(row_of(*data, 4), ElementsAre(0, 4, 0));  // the second row of tx
  EXPECT_THAT(row_of(*data, 6), ElementsAre(0, 0, 6));
  EXPECT_THAT(data->indptr, ElementsAre(0, 2, 3, 4, 4, 5, 5, 6));
  EXPECT_THAT(data->indices, ElementsAre(1, 2, 0, 0, 6, 4));
  EXPECT_EQ(origin_of(*data, "entries_listed"), "7");
  EXPECT_EQ(origin_of(*data, "self_loops_dropped"), "1");
  EXPECT_EQ(origin_of(*data, "duplicates_dropped"), "1");
  EXPECT_EQ(origin_of(*data, "opposite_edges_added"), "1");
  EXPECT_EQ(origin_of(*data, "isolated_nodes_kept"), "2");
  EXPECT_EQ(origin_of(*data, "nodes_without_label_or_features"), "2");
}

TEST(ImportPlanetoid, TakesAFolderOnlyWhenItHoldsOneSet) {
  const auto directory = temporary();
  EXPECT_THAT(import_error(ImportFormat::kPlanetoid, directory.path()), HasSubstr("no ind.NAME.test.index"));
  const fs::path prefix = write_set(directory.path());
  EXPECT_EQ(import_error(ImportFormat::kPlanetoid, prefix), "no error");
  write_file(directory.path() / "ind.other.test.index", "1\n");
  EXPECT_THAT(import_error(ImportFormat::kPlanetoid, directory.path()),
              HasSubstr("several sets (ind.other, ind.tiny); name one"));
}

TEST(ImportPlanetoid, RefusesFilesThatDisagree) {
  const auto with = [](const char* suffix, const std::string& content) {
    const auto directory = temporary();
    const fs::path prefix = write_set(directory.path());
    write_file(prefix.string() + suffix, content);
    return import_error(ImportFormat::kPlanetoid, prefix);
  };
  EXPECT_THAT(with(".test.index", "6\n"), HasSubstr("rows disagree"));
  EXPECT_THAT(with(".test.index", "6\n6\n"), HasSubstr("node 6 is named twice"));
  EXPECT_THAT(with(".test.index", "6\n2\n"), HasSubstr("test node 2 is also one of the 3 nodes of allx"));
  EXPECT_THAT(with(".test.index", "6\nx\n"), HasSubstr("line 2: a node id is expected: 'x'"));
  EXPECT_THAT(with(".test.index", "6\n2147483647\n"), HasSubstr("features of 2147483648 nodes x 3"));
  EXPECT_THAT(with(".test.index", "6\n-1\n"), HasSubstr("a node id"));
  EXPECT_THAT(with(".y", pickle(one_hot({1, 1}, 4))), HasSubstr("y is not the beginning of ally"));
  EXPECT_THAT(with(".y", pickle(one_hot({0, 1}, 5))), HasSubstr("have 5, 4 and 4 classes"));
  EXPECT_THAT(with(".y", pickle(array("i4", {2, 2}, raw_all<std::int32_t>({1, 1, 0, 0})))),
              HasSubstr("row 0 is not one-hot"));
  EXPECT_THAT(with(".y", pickle(matrix(1, 1, {0, 0}, {}, {}))), HasSubstr("not a NumPy array"));
  EXPECT_THAT(with(".tx", pickle(matrix(2, 4, {0, 0, 0}, {}, {}))), HasSubstr("have 3, 4 and 3 columns"));
  EXPECT_THAT(with(".tx", pickle(matrix(2, 3, {0, 2, 1}, {0}, {1}))), HasSubstr("indptr decreases"));
  EXPECT_THAT(with(".tx", pickle(matrix(2, 3, {0, 1, 1}, {3}, {1}))),
              HasSubstr("index 0 is 3, outside [0, 3)"));
  EXPECT_THAT(with(".tx", pickle(matrix(2, 3, {0, 1, 1}, {0}, {1, 2}))), HasSubstr("2 values for 1 indices"));
  EXPECT_THAT(with(".graph", pickle(lists({{7}}))), HasSubstr("edge 0: node 7 is outside [0, 7)"));
  EXPECT_THAT(with(".graph", pickle(one_hot({1}, 2))), HasSubstr("not a dict of lists"));
}

std::string pickle_error(const std::string& bytes, std::size_t limit = std::size_t{1} << 20) {
  const auto parsed = Pickle::parse(std::as_bytes(std::span(bytes)), "evil.pkl", limit);
  return parsed.ok() ? "no error" : parsed.error().message;
}

TEST(Pickle, RefusesEveryNameThatIsNotOfData) {
  EXPECT_THAT(pickle_error(pickle(cat({global("os", "system"), short_text("true"), "\x85R"}))),
              HasSubstr("the pickle wants to call os.system; refused"));
  EXPECT_THAT(pickle_error(pickle(global("__builtin__", "eval"))), HasSubstr("__builtin__.eval"));
  EXPECT_THAT(pickle_error(pickle(global("numpy", "ndarray ") + "N")), HasSubstr("numpy.ndarray ;"));
  EXPECT_THAT(pickle_error(pickle(global("numpy.core.multiarray._reconstruct", ""))),
              HasSubstr("wants to call"));
  EXPECT_THAT(pickle_error(pickle("cposix\n\x1b[31msystem\n")), HasSubstr("posix.\\x1b[31msystem"));
}

TEST(Pickle, TakesTheNamesThatNewerLibrariesWrite) {
  const std::string old = pickle(matrix(2, 3, {0, 1, 2}, {0, 2}, {1, 1}));
  const auto renamed = [](std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
    return text;
  };
  const std::string now =
      renamed(renamed(old, "numpy.core.", "numpy._core."), "scipy.sparse.csr", "scipy.sparse._csr");
  ASSERT_NE(now, old);
  EXPECT_EQ(pickle_error(old), "no error");
  EXPECT_EQ(pickle_error(now), "no error");
  EXPECT_THAT(pickle_error(renamed(old, "numpy.core.", "numpy.__core.")), HasSubstr("wants to call"));
}

TEST(Pickle, RefusesCallsWithOtherArguments) {
  EXPECT_THAT(
      pickle_error(pickle(global("collections", "defaultdict") + global("numpy", "ndarray") + "\x85R")),
      HasSubstr("calls collections.defaultdict with unknown arguments"));
  EXPECT_THAT(pickle_error(pickle(global("__builtin__", "list") + ")R")),
              HasSubstr("calls __builtin__.list"));
  EXPECT_THAT(pickle_error(pickle("N)R")), HasSubstr("calls something that is not a known name"));
  EXPECT_THAT(pickle_error(pickle(global("numpy", "ndarray") + ")\x81")), HasSubstr("not a CSR matrix"));
  EXPECT_THAT(pickle_error(pickle("]}b")), HasSubstr("sets the state of something that takes none"));
}

TEST(Pickle, RefusesBrokenStacks) {
  EXPECT_THAT(pickle_error(""), HasSubstr("not a pickle of protocol 2"));
  EXPECT_THAT(pickle_error("\x80\x04N."), HasSubstr("protocol 2"));
  EXPECT_THAT(pickle_error(pickle("")), HasSubstr("ends with 0 values"));
  EXPECT_THAT(pickle_error(pickle("NN")), HasSubstr("ends with 2 values"));
  EXPECT_THAT(pickle_error(pickle("N(")), HasSubstr("ends with 1 values"));
  EXPECT_THAT(pickle_error(pickle("R")), HasSubstr("empty stack"));
  EXPECT_THAT(pickle_error(pickle("\x87")), HasSubstr("empty stack"));
  EXPECT_THAT(pickle_error(pickle("N(\x85")), HasSubstr("empty stack"));
  EXPECT_THAT(pickle_error(pickle("t")), HasSubstr("mark that is not there"));
  EXPECT_THAT(pickle_error(pickle("e")), HasSubstr("mark that is not there"));
  EXPECT_THAT(pickle_error(pickle("}(Ne")), HasSubstr("not a list"));
  EXPECT_THAT(pickle_error(pickle("](Nu")), HasSubstr("not a dict"));
  EXPECT_THAT(pickle_error(pickle("}(Nu")), HasSubstr("a key without a value"));
  EXPECT_THAT(pickle_error(pickle("h\x05")), HasSubstr("recalls value 5"));
  EXPECT_THAT(pickle_error(pickle("q\x05N")), HasSubstr("remembers a value of an empty stack"));
  EXPECT_THAT(pickle_error(pickle("T\xff\xff\xff\xff")), HasSubstr("ends in the middle of 4294967295 bytes"));
  EXPECT_THAT(pickle_error(pickle("X")), HasSubstr("opcode 0x58"));
  EXPECT_THAT(pickle_error(pickle("i")), HasSubstr("opcode 0x69"));
  EXPECT_THAT(pickle_error(pickle(std::string(100, '('))), HasSubstr("nests more than 64 deep"));
}

TEST(Pickle, KeepsToItsMemoryLimit) {
  EXPECT_THAT(pickle_error(pickle(std::string(100000, ']'))),
              HasSubstr("its values would take more than the 1.0 MiB"));
  std::string puts = "N";
  for (std::uint32_t i = 0; i < 50000; ++i) {
    puts += cat({"r", raw(i)});
  }
  EXPECT_THAT(pickle_error(pickle(puts)), HasSubstr("more than the 1.0 MiB"));
  // A list that holds itself 50,000 times and is doubled again and again stays within the count as well.
  std::string doubling = "]q\x01";
  for (int i = 0; i < 50000; ++i) {
    doubling +=
        "h\x01"
        "a";
  }
  EXPECT_THAT(pickle_error(pickle(doubling)), HasSubstr("more than the 1.0 MiB"));
}

TEST(Pickle, ReadsAListThatHoldsItself) {
  EXPECT_EQ(pickle_error(pickle("]q\x01h\x01"
                                "a")),
            "no error");
}

TEST(Pickle, RefusesArraysOfAnythingButPlainNumbers) {
  const auto error = [](const std::string& body) {
    const std::string bytes = pickle(body);
    const auto parsed = Pickle::parse(std::as_bytes(std::span(bytes)), "a.pkl", std::size_t{1} << 20);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    const auto result = parsed->array();
    return result.ok() ? "no error" : result.error().message;
  };
  EXPECT_EQ(error(array("i4", {2}, std::string(8, '\0'))), "no error");
  EXPECT_THAT(error(array("i4", {2}, std::string(8, '\0'), ">")), HasSubstr("byte order '>'"));
  EXPECT_THAT(error(array("O8", {1}, std::string(8, '\0'), "|")), HasSubstr("dtype 'O8'"));
  EXPECT_THAT(error(array("i4", {3}, std::string(8, '\0'))), HasSubstr("has 8 bytes, 12 are expected"));
  EXPECT_THAT(error(array("i4", {-1}, "")), HasSubstr("not a count"));
  EXPECT_THAT(error(array("i4", {0x7fffffff, 0x7fffffff, 4}, "")), HasSubstr("is too large"));
  std::string fortran = array("i4", {2, 2}, std::string(16, '\0'));
  fortran[fortran.rfind("\x89T")] = '\x88';
  EXPECT_THAT(error(fortran), HasSubstr("Fortran order"));
}

TEST(ImportPlanetoid, RefusesEveryTruncationAndSurvivesEveryFlip) {
  const auto directory = temporary();
  const fs::path prefix = write_set(directory.path());
  for (const char* suffix : {".allx", ".y", ".graph"}) {
    expect_no_truncation_imports(ImportFormat::kPlanetoid, prefix.string() + suffix, prefix);
    expect_survives_flips(ImportFormat::kPlanetoid, prefix.string() + suffix, prefix);
  }
}

}  // namespace
}  // namespace rudder::graph::testing_support
