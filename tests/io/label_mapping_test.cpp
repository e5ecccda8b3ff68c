#include "io/label_mapping.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "io/csv.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"
#include "vit/file.hpp"

namespace vit::io {
namespace {

const Labels kAnimals(5, {{0, "tabby, tabby cat"},
                          {1, "T-shirt/top"},
                          {2, "Ankle boot"},
                          {3, "n01443537 goldfish, Carassius auratus"},
                          {4, "crane, bird"}});

std::vector<std::pair<std::int64_t, MatchedBy>> mapped(const std::vector<std::string>& classes,
                                                       const Labels& labels, const LabelMap& map = {}) {
  std::vector<std::pair<std::int64_t, MatchedBy>> result;
  for (const MappedClass& c : map_labels(classes, labels, map, "set")) result.emplace_back(c.index, c.by);
  return result;
}

using Mapped = std::vector<std::pair<std::int64_t, MatchedBy>>;

TEST(LabelMapping, ByTheFirstKindOfMatch) {
  EXPECT_EQ(
      mapped({"tabby, tabby cat", "t_shirt/TOP", "n01443537", "ANKLE-BOOT"}, kAnimals),
      (Mapped{{0, MatchedBy::name}, {1, MatchedBy::form}, {3, MatchedBy::wordnet_id}, {2, MatchedBy::form}}));
  EXPECT_EQ(mapped({"Tabby_Cat", "goldfish"}, kAnimals),
            (Mapped{{0, MatchedBy::synonym}, {3, MatchedBy::synonym}}));
}

TEST(LabelMapping, ByIndexWhereNoneHasAName) {
  EXPECT_EQ(mapped({"0", "003"}, kAnimals), (Mapped{{0, MatchedBy::index}, {3, MatchedBy::index}}));
  const Labels digits(3, {{0, "2"}, {1, "1"}, {2, "0"}});  // a label that looks like an index is a label
  EXPECT_EQ(mapped({"0", "2"}, digits), (Mapped{{2, MatchedBy::name}, {0, MatchedBy::name}}));
  const Labels none(2, {});
  EXPECT_EQ(mapped({"1"}, none), (Mapped{{1, MatchedBy::index}}));
}

TEST(LabelMapping, AMapWinsAndMayUniteClasses) {
  EXPECT_EQ(mapped({"cat", "kitten", "goldfish"}, kAnimals,
                   {{"cat", "0"}, {"kitten", "tabby"}, {"goldfish", "4"}, {"other", "?"}}),
            (Mapped{{0, MatchedBy::map}, {0, MatchedBy::map}, {4, MatchedBy::map}}));
}

TEST(LabelMapping, EveryDoubtIsNamed) {
  const auto refuse = [](const std::vector<std::string>& classes, const std::string& message,
                         const LabelMap& map = {}) {
    EXPECT_ERROR(mapped(classes, kAnimals, map), ErrorCode::invalid_argument, message);
  };
  refuse({"dog", "tabby", "wolf"}, "\"dog\": no label matches\n  \"wolf\": no label matches");
  refuse({"dog"}, "--label-map");
  refuse({"5"}, "\"5\": no label matches");
  refuse({"-1"}, "no label matches");
  refuse({"tabby", "Tabby Cat"}, "\"tabby\", \"Tabby Cat\" are all label 0 (tabby, tabby cat)");
  refuse({"tabby", "2"}, "some match by name (\"tabby\") and some only by index (\"2\")");
  refuse({"cat"}, "by the label map \"lion\": no label matches", {{"cat", "lion"}});
  refuse({"cat", "tabby"}, "are all label 0", {{"cat", "0"}});
}

TEST(LabelMapping, SeveralLabelsOfOneNameAreADoubt) {
  const Labels cranes(3, {{0, "crane"}, {1, "crane"}, {2, "Crane"}});
  EXPECT_ERROR(mapped({"crane"}, cranes), ErrorCode::invalid_argument,
               "\"crane\": 2 labels match: 0 (crane), 1 (crane)");
  EXPECT_EQ(mapped({"Crane"}, cranes), (Mapped{{2, MatchedBy::name}}));
}

TEST(LabelMapping, FilesOfMapsAreChecked) {
  const test::TempFolder folder;
  const auto read = [&](const std::string& text) {
    write_file_atomically(folder / "map.csv", text);
    return read_label_map((folder / "map.csv").native());
  };
  EXPECT_EQ(read("class,label\ncat,\"tabby, tabby cat\"\r\n"),
            (LabelMap{{"class", "label"}, {"cat", "tabby, tabby cat"}}));
  EXPECT_ERROR(read("cat\n"), ErrorCode::invalid_argument, "line 1: expected a class and a label");
  EXPECT_ERROR(read("cat,1\ncat,2\n"), ErrorCode::invalid_argument, "line 2: class \"cat\"");
  EXPECT_ERROR(read_label_map("/no/such/file"), ErrorCode::invalid_argument, "/no/such/file");
}

TEST(Csv, FieldsAreThoseOfRfc4180) {
  const std::vector<CsvRow> rows = parse_csv(
      "\xEF\xBB\xBF"
      "a,\"b,\"\"c\"\"\nd\"\r\n\n,x\ny",
      ',', "t");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"a", "b,\"c\"\nd"}));
  EXPECT_EQ(rows[1].fields, (std::vector<std::string>{"", "x"}));
  EXPECT_EQ(rows[1].line, 4U);
  EXPECT_EQ(rows[2].fields, (std::vector<std::string>{"y"}));
  EXPECT_EQ(parse_csv("a,b\tc\n", '\t', "t")[0].fields, (std::vector<std::string>{"a,b", "c"}));
  EXPECT_TRUE(parse_csv("", ',', "t").empty());
  EXPECT_EQ(parse_csv("a,", ',', "t")[0].fields, (std::vector<std::string>{"a", ""}));
}

TEST(Csv, DamageIsNamedByItsLine) {
  EXPECT_ERROR(parse_csv("a\nb,\"c\nd", ',', "t.csv"), ErrorCode::invalid_argument,
               "t.csv: line 2: a quote is not closed");
  EXPECT_ERROR(parse_csv("\"a\"b", ',', "t.csv"), ErrorCode::invalid_argument,
               "t.csv: line 1: expected a comma");
}

}  // namespace
}  // namespace vit::io
