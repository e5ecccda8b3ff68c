#include "io/evaluation_metrics.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

using Json = nlohmann::json;

Json reference() {
  return Json::parse(std::ifstream(VITRINE_TEST_DATA "/evaluation/metrics.json"));
}

EvaluationResult evaluate(const Json& data) {
  EvaluationMetrics metrics(static_cast<std::int64_t>(data["logits"][0].size()));
  for (std::size_t i = 0; i < data["truth"].size(); ++i) {
    const auto logits = data["logits"][i].get<std::vector<float>>();
    metrics.add(data["truth"][i], predict(logits, ScoreFunction::softmax, std::ssize(logits)));
  }
  return metrics.result();
}

void expect_average(const AverageMetrics& got, const Json& expected) {
  EXPECT_NEAR(got.precision, expected[0].get<double>(), 1e-12);
  EXPECT_NEAR(got.recall, expected[1].get<double>(), 1e-12);
  EXPECT_NEAR(got.f1, expected[2].get<double>(), 1e-12);
}

TEST(EvaluationMetrics, AreThoseOfScikitLearn) {
  const Json data = reference();
  const Json& expected = data["expected"];
  const EvaluationResult got = evaluate(data);
  const auto pictures = static_cast<double>(got.pictures);
  EXPECT_EQ(got.pictures, 60);
  EXPECT_EQ(got.k, 5);
  EXPECT_NEAR(static_cast<double>(got.right) / pictures, expected["top1"].get<double>(), 1e-12);
  EXPECT_NEAR(static_cast<double>(got.right_in_k) / pictures, expected["top5"].get<double>(), 1e-12);
  ASSERT_EQ(got.classes.size(), expected["classes"].size());
  for (std::size_t i = 0; i < got.classes.size(); ++i) {
    EXPECT_EQ(got.classes[i].index, expected["classes"][i].get<std::int64_t>());
    EXPECT_EQ(got.classes[i].support, expected["support"][i].get<std::int64_t>());
    EXPECT_NEAR(got.classes[i].precision, expected["precision"][i].get<double>(), 1e-12);
    EXPECT_NEAR(got.classes[i].recall, expected["recall"][i].get<double>(), 1e-12);
    EXPECT_NEAR(got.classes[i].f1, expected["f1"][i].get<double>(), 1e-12);
    for (std::size_t j = 0; j < got.classes.size(); ++j) {
      const auto found = got.confusion.find({got.classes[i].index, got.classes[j].index});
      EXPECT_EQ(found == got.confusion.end() ? 0 : found->second,
                expected["confusion"][i][j].get<std::int64_t>());
    }
  }
  expect_average(got.macro, expected["macro"]);
  expect_average(got.weighted, expected["weighted"]);
}

TEST(EvaluationMetrics, CalibrationIsThatOfFloat64) {
  const Json data = reference();
  const Json& expected = data["expected"];
  const Calibration got = evaluate(data).calibration;
  EXPECT_NEAR(got.nll, expected["nll"].get<double>(), 1e-6);  // scores are float32
  EXPECT_NEAR(got.brier, expected["brier"].get<double>(), 1e-6);
  EXPECT_NEAR(got.ece, expected["ece"].get<double>(), 1e-6);
  EXPECT_NEAR(got.mce, expected["mce"].get<double>(), 1e-6);
}

TEST(EvaluationMetrics, IntervalIsWilsons) {
  const Json expected = reference()["expected"];
  const EvaluationResult result = evaluate(reference());
  const Interval got = wilson_interval(result.right, result.pictures);
  EXPECT_NEAR(got.low, expected["interval"][0].get<double>(), 1e-12);
  EXPECT_NEAR(got.high, expected["interval"][1].get<double>(), 1e-12);
  EXPECT_EQ(wilson_interval(0, 10).low, 0);
  EXPECT_EQ(wilson_interval(10, 10).high, 1);
  EXPECT_EQ(wilson_interval(0, 0).high, 1);
}

TEST(EvaluationMetrics, NothingIsNoNumberButZero) {
  const EvaluationResult got = EvaluationMetrics(3).result();
  EXPECT_EQ(got.pictures, 0);
  EXPECT_EQ(got.k, 3);
  EXPECT_TRUE(got.classes.empty());
  EXPECT_EQ(got.macro.f1, 0);
  EXPECT_EQ(got.calibration.ece, 0);
}

TEST(EvaluationMetrics, CertainMistakesHaveAFiniteLoss) {
  EvaluationMetrics metrics(2);
  metrics.add(1, std::vector<Prediction>{{0, 1.0F}, {1, 0.0F}});
  const Calibration got = metrics.result().calibration;
  EXPECT_NEAR(got.nll, 36.04365338911715, 1e-12);  // -ln 2^-52
  EXPECT_EQ(got.brier, 2);
  EXPECT_EQ(got.bins.back().count, 1);
  EXPECT_EQ(got.ece, 1);
}

TEST(EvaluationMetrics, RefusesWhatItCannotJudge) {
  EXPECT_ERROR(EvaluationMetrics(1), ErrorCode::invalid_argument, "two labels");
  EvaluationMetrics metrics(3);
  const std::vector<Prediction> one{{0, 1.0F}};
  EXPECT_ERROR(metrics.add(0, one), ErrorCode::internal, "3 labels");
}

TEST(WorstMistakes, HoldsTheHighestScores) {
  WorstMistakes worst(3);
  const std::vector<float> scores{0.5F, 0.9F, 0.7F, 0.9F, 0.1F, 0.8F};
  for (std::size_t i = 0; i < scores.size(); ++i) worst.add({i, 0, 1, scores[i]});
  std::vector<std::size_t> pictures;
  for (const Mistake& m : worst.sorted()) pictures.push_back(m.picture);
  EXPECT_EQ(pictures, (std::vector<std::size_t>{1, 3, 5}));
}

}  // namespace
}  // namespace vit::io
