#include "io/json.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace vit::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Runs `action`, which must throw vit::Error, and returns the error.
template <class Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::internal, "no error");
}

std::string message_of(std::string_view text) {
  const Error error = error_of([&] { parse_json(text, "config.json"); });
  EXPECT_EQ(error.code(), ErrorCode::config_invalid) << text;
  return error.what();
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const Json value =
      parse_json(R"( {"a": [1, -2, 3.5, true, false, null, "t\u00e9xt"], "b": {"c": {}}} )", "x");
  EXPECT_EQ(value["a"].size(), 7U);
  EXPECT_EQ(value["a"][1].get<int>(), -2);
  EXPECT_EQ(value["a"][2].get<double>(), 3.5);
  EXPECT_EQ(value["a"][3].get<bool>(), true);
  EXPECT_TRUE(value["a"][5].is_null());
  EXPECT_EQ(value["a"][6].get<std::string>(), "téxt");
  EXPECT_TRUE(value["b"]["c"].is_object());
  EXPECT_EQ(parse_json("17", "x").get<int>(), 17);
}

TEST(ParseJson, NestedContainersStayInPlaceWhileTheirParentGrows) {
  std::string text = "[";
  for (int i = 0; i < 1000; ++i) text += fmt::format(R"([{{"i":{}}},[{}]],)", i, i);
  text.back() = ']';
  const Json value = parse_json(text, "x");
  ASSERT_EQ(value.size(), 1000U);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(value[i][0]["i"].get<std::size_t>(), i);
    EXPECT_EQ(value[i][1][0].get<std::size_t>(), i);
  }
}

TEST(ParseJson, SaysWhereTheMistakeIs) {
  EXPECT_THAT(message_of("{\"a\": 1,\n\"b\": ]}"),
              AllOf(HasSubstr("config.json: "), HasSubstr("line 2, byte 14:")));
  EXPECT_THAT(message_of(""), HasSubstr("line 1, byte 0"));
  EXPECT_THAT(message_of("{\"a\": 1"), HasSubstr("line 1, byte 7"));
  EXPECT_THAT(message_of("{} x"), HasSubstr("byte 3"));
  message_of("{\"a\": 1,}");
  message_of("{'a': 1}");
  message_of("\"\xff\"");
  message_of("[1e999]");
  message_of("NaN");
}

TEST(ParseJson, LimitsDepthWhileParsing) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_NO_THROW(parse_json(nested(64), "x"));
  EXPECT_THAT(message_of(nested(65)), HasSubstr("deeper than 64"));
  EXPECT_THAT(message_of(std::string(5'000'000, '[')), HasSubstr("deeper than 64"));
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  EXPECT_THAT(message_of(objects), HasSubstr("deeper than 64"));
}

TEST(ParseJson, LimitsSize) {
  const JsonLimits limits{.max_bytes = 4};
  EXPECT_NO_THROW(parse_json("1234", "x", limits));
  const Error error = error_of([&] { parse_json("12345", "x", limits); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("5 bytes"), HasSubstr("limit of 4")));
}

TEST(ParseJson, DuplicateKeys) {
  const std::string_view text = R"({"a": [1, 2], "b": 3, "a": {"c": 4}})";
  EXPECT_EQ(parse_json(text, "x"), parse_json(R"({"a": {"c": 4}, "b": 3})", "x"));
  const JsonLimits limits{.duplicate_keys = DuplicateKeys::reject};
  EXPECT_THAT(error_of([&] { parse_json(text, "x", limits); }).what(), HasSubstr("\"a\" appears twice"));
  EXPECT_NO_THROW(parse_json(R"({"a": {"b": 1}, "b": {"a": 1}})", "x", limits));
}

TEST(ParseJson, CarriesTheCodeOfTheSource) {
  const JsonSource source("model.safetensors", ErrorCode::weights_invalid);
  EXPECT_EQ(error_of([&] { parse_json("[", source); }).code(), ErrorCode::weights_invalid);
  EXPECT_EQ(error_of([&] { get_int(Json::object(), "a", source); }).code(), ErrorCode::weights_invalid);
}

TEST(ParseJsonObject, RefusesOtherValues) {
  EXPECT_NO_THROW(parse_json_object("{}", "x"));
  EXPECT_THAT(error_of([] { parse_json_object("[1, 2]", "labels.json"); }).what(),
              AllOf(HasSubstr("labels.json"), HasSubstr("expected a JSON object, found [1,2]")));
}

class Getters : public ::testing::Test {
 protected:
  const Json object =
      parse_json(R"({"yes": true, "n": 12, "whole": 224.0, "half": 0.5, "text": "abc", "none": null,
    "list": [1], "dict": {"a": 1}, "big": 18446744073709551615, "huge": 1e300})",
                 "x");
};

TEST_F(Getters, ReturnValuesOfTheirType) {
  EXPECT_TRUE(get_bool(object, "yes", "x"));
  EXPECT_EQ(get_int(object, "n", "x"), 12);
  EXPECT_EQ(get_int(object, "whole", "x"), 224);
  EXPECT_EQ(get_number(object, "n", "x"), 12.0);
  EXPECT_EQ(get_number(object, "half", "x"), 0.5);
  EXPECT_EQ(get_string(object, "text", "x"), "abc");
  EXPECT_EQ(get_array(object, "list", "x").size(), 1U);
  EXPECT_EQ(get_object(object, "dict", "x").size(), 1U);
}

TEST_F(Getters, FindGivesNothingForMissingAndNull) {
  for (const std::string_view key : {"missing", "none"}) {
    EXPECT_EQ(find(object, key), nullptr);
    EXPECT_EQ(find_bool(object, key, "x"), std::nullopt);
    EXPECT_EQ(find_int(object, key, "x"), std::nullopt);
    EXPECT_EQ(find_number(object, key, "x"), std::nullopt);
    EXPECT_EQ(find_string(object, key, "x"), std::nullopt);
    EXPECT_EQ(find_array(object, key, "x"), nullptr);
    EXPECT_EQ(find_object(object, key, "x"), nullptr);
  }
}

TEST_F(Getters, GetThrowsForMissingAndNull) {
  for (const std::string_view key : {"missing", "none"}) {
    EXPECT_THAT(
        error_of([&] { get_int(object, key, "config.json"); }).what(),
        AllOf(HasSubstr("config.json"), HasSubstr(key), HasSubstr("is missing, expected a whole number")));
    EXPECT_THROW(get_bool(object, key, "x"), Error);
    EXPECT_THROW(get_number(object, key, "x"), Error);
    EXPECT_THROW(get_string(object, key, "x"), Error);
    EXPECT_THROW(get_array(object, key, "x"), Error);
    EXPECT_THROW(get_object(object, key, "x"), Error);
  }
}

TEST_F(Getters, ThrowForOtherTypes) {
  EXPECT_STREQ(error_of([&] { get_int(object, "text", "config.json"); }).what(),
               "config.json: \"text\": expected a whole number, found \"abc\"");
  for (const std::string_view key : {"half", "yes", "big", "huge", "list"}) {
    EXPECT_THROW(find_int(object, key, "x"), Error) << key;
  }
  for (const std::string_view key : {"yes", "text", "dict"})
    EXPECT_THROW(find_number(object, key, "x"), Error);
  for (const std::string_view key : {"n", "text"}) EXPECT_THROW(find_bool(object, key, "x"), Error);
  for (const std::string_view key : {"n", "list"}) EXPECT_THROW(find_string(object, key, "x"), Error);
  for (const std::string_view key : {"n", "dict"}) EXPECT_THROW(find_array(object, key, "x"), Error);
  for (const std::string_view key : {"n", "list"}) EXPECT_THROW(find_object(object, key, "x"), Error);
}

TEST(Describe, IsShort) {
  EXPECT_EQ(describe(Json::parse(R"({"height": 24, "width": 28})")), R"({"height":24,"width":28})");
  EXPECT_EQ(describe(Json::parse("[[1],2]")), "an array of 2");
  EXPECT_EQ(describe(Json::parse(R"({"a": {}})")), "an object");
  EXPECT_EQ(describe(Json(std::string(100, 'x'))), '"' + std::string(59, 'x') + "…\"");
  EXPECT_EQ(describe(Json("é" + std::string(57, 'x') + "éé")), "\"é" + std::string(57, 'x') + "…\"");
}

}  // namespace
}  // namespace vit::io
