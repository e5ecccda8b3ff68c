#include "vit/predict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "vit/error.hpp"

namespace vit::test {
namespace {

std::vector<std::int64_t> indices(const std::vector<Prediction>& predictions) {
  std::vector<std::int64_t> result;
  for (const Prediction& p : predictions) result.push_back(p.index);
  return result;
}

using Indices = std::vector<std::int64_t>;

TEST(Softmax, ByItsFormula) {
  const std::vector<float> logits{0.5F, -1.25F, 2, 0};
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  const auto scores = softmax(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double expected = std::exp(static_cast<double>(logits[i])) / sum;
    EXPECT_EQ(scores[i], static_cast<float>(expected)) << i;
  }
}

TEST(Softmax, SumsToOneForManyClasses) {
  std::vector<float> logits(21841);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 97) / 10;
  const auto scores = softmax(logits);
  EXPECT_NEAR(std::accumulate(scores.begin(), scores.end(), 0.0), 1, 1e-6);
}

TEST(Softmax, IsSafeForAnyFiniteLogits) {
  EXPECT_EQ(softmax(std::vector<float>{1e4F, 0, -1e4F}), (std::vector<float>{1, 0, 0}));
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(softmax(std::vector<float>{most, -most, most}), (std::vector<float>{0.5F, 0, 0.5F}));
  EXPECT_EQ(softmax(std::vector<float>{-most, -most}), (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(softmax(std::vector<float>{-12}), std::vector<float>{1});
  EXPECT_TRUE(softmax({}).empty());
}

TEST(Sigmoid, ByItsFormulaAndSafe) {
  const auto scores = sigmoid(std::vector<float>{0, 1, -1, 1e4F, -1e4F, -100});
  EXPECT_EQ(scores[0], 0.5F);
  EXPECT_FLOAT_EQ(scores[1], 0.731058578630F);
  EXPECT_FLOAT_EQ(scores[2], 0.268941421370F);
  EXPECT_EQ(scores[3], 1);
  EXPECT_EQ(scores[4], 0);
  EXPECT_FLOAT_EQ(scores[5], 3.72007598e-44F);  // a subnormal, not 0
}

TEST(Predict, BestFirstWithTheScoresOfTheFunction) {
  const std::vector<float> logits{-1, 3, 0.5F, 2};
  for (const auto function : {ScoreFunction::softmax, ScoreFunction::sigmoid}) {
    const auto scores = function == ScoreFunction::softmax ? softmax(logits) : sigmoid(logits);
    const auto best = predict(logits, function, 3);
    EXPECT_EQ(indices(best), (Indices{1, 3, 2}));
    for (const Prediction& p : best) EXPECT_EQ(p.score, scores[static_cast<std::size_t>(p.index)]);
  }
}

TEST(Predict, ARegressionsValuesStayAsTheyAre) {
  const auto best = predict(std::vector<float>{-1.5F, 7000}, ScoreFunction::none, 2);
  EXPECT_EQ(indices(best), (Indices{1, 0}));
  EXPECT_EQ(best[0].score, 7000);
  EXPECT_EQ(best[1].score, -1.5F);
}

TEST(Predict, EqualLogitsKeepTheOrderOfTheirIndices) {
  EXPECT_EQ(indices(predict(std::vector<float>{1, 2, 1, 2, 1}, ScoreFunction::softmax, 5)),
            (Indices{1, 3, 0, 2, 4}));
  const std::vector<float> same(1000, 0.25F);
  const auto best = predict(same, ScoreFunction::softmax, 1000);
  for (std::size_t i = 0; i < best.size(); ++i) {
    EXPECT_EQ(best[i].index, static_cast<std::int64_t>(i));
    EXPECT_EQ(best[i].score, 0.001F);
  }
}

TEST(Predict, ScoresThatRoundToTheSameFollowTheirLogits) {
  EXPECT_EQ(indices(predict(std::vector<float>{1e4F, -1e4F, 0}, ScoreFunction::softmax, 3)),
            (Indices{0, 2, 1}));
  EXPECT_EQ(indices(predict(std::vector<float>{100, 200, 300}, ScoreFunction::sigmoid, 3)),
            (Indices{2, 1, 0}));
}

TEST(Predict, AnyK) {
  const std::vector<float> logits{1, 2};
  EXPECT_EQ(predict(logits, ScoreFunction::softmax, 5).size(), 2U);
  EXPECT_EQ(predict(logits, ScoreFunction::softmax, std::numeric_limits<std::int64_t>::max()).size(), 2U);
  EXPECT_TRUE(predict(logits, ScoreFunction::softmax, 0).empty());
  EXPECT_TRUE(predict(logits, ScoreFunction::softmax, -1).empty());
  EXPECT_TRUE(predict({}, ScoreFunction::softmax, 5).empty());
}

TEST(Predict, RefusesWhatIsNotFinite) {
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (const auto function : {ScoreFunction::softmax, ScoreFunction::sigmoid, ScoreFunction::none}) {
      try {
        predict(std::vector<float>{0, 1, bad}, function, 1);
        FAIL() << bad;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::not_finite);
        EXPECT_NE(std::string(e.what()).find("logit 2"), std::string::npos) << e.what();
      }
    }
  }
}

TEST(Predict, NoneRanksTheLogitsThemselves) {
  const auto best = predict(std::vector<float>{-3.5F, 1e6F, 2.0F}, ScoreFunction::none, 2);
  ASSERT_EQ(best.size(), 2U);
  EXPECT_EQ(best[0].index, 1);
  EXPECT_EQ(best[0].score, 1e6F);
  EXPECT_EQ(best[1].score, 2.0F);
}

}  // namespace
}  // namespace vit::test
