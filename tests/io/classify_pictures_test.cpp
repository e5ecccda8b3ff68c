#include "io/classify_pictures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "io/inputs.hpp"
#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

const std::string kPictures = VITRINE_DATA "/images/fashion-mnist";

std::shared_ptr<const Classifier> shipped() {
  return std::make_shared<Classifier>(VITRINE_DATA "/models/fashion-mnist-vit");
}

std::vector<Answer> classify(const std::vector<std::string>& names, const BulkOptions& options,
                             BulkTimes* times = nullptr) {
  InputSource inputs(names, {});
  std::vector<Answer> answers;
  const BulkTimes spent = classify_pictures(shipped(), inputs, options,
                                            [&](Answer answer) { answers.push_back(std::move(answer)); });
  if (times != nullptr) *times = spent;
  return answers;
}

TEST(ClassifyPictures, GivesTheSameOnAnyNumberOfCoresAndInAnyBatch) {
  const std::vector<std::string> names{kPictures, "missing.png", kPictures, kPictures};
  const std::vector<Answer> expected = classify(names, {.cores = 1, .batch = 1, .top_k = 2});
  ASSERT_EQ(expected.size(), 31U);
  for (const BulkOptions& options : {BulkOptions{2, 1, 2}, BulkOptions{3, 4, 2}, BulkOptions{0, 8, 2}}) {
    const std::vector<Answer> answers = classify(names, options);
    ASSERT_EQ(answers.size(), expected.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(answers[i].input, expected[i].input);
      ASSERT_EQ(answers[i].error.has_value(), i == 10);
      for (std::size_t k = 0; k < answers[i].predictions.size(); ++k) {
        EXPECT_EQ(answers[i].predictions[k].index, expected[i].predictions[k].index);
        EXPECT_NEAR(answers[i].predictions[k].score, expected[i].predictions[k].score, 1e-5);
      }
    }
  }
}

TEST(ClassifyPictures, MergesTokensWhereAsked) {
  const std::vector<Answer> whole = classify({kPictures}, {.cores = 2});
  const std::vector<Answer> merged = classify({kPictures}, {.cores = 2, .merge = 3});
  ASSERT_EQ(merged.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(merged[i].predictions.at(0).index, whole[i].predictions.at(0).index);
    EXPECT_NE(merged[i].predictions.at(0).score, whole[i].predictions.at(0).score);
  }
  EXPECT_ERROR(classify({kPictures}, {.merge = -1}), ErrorCode::invalid_argument, "-1 tokens");
}

TEST(ClassifyPictures, AccountsForTheTimeOfItsCores) {
  BulkTimes times;
  classify({kPictures, kPictures, kPictures}, {.cores = 2}, &times);
  EXPECT_EQ(times.cores, 2);
  const double staged = times.stages.decode + times.stages.preprocess + times.stages.network;
  EXPECT_GT(staged, 0.5 * times.pipeline.busy);
  EXPECT_LE(staged, times.pipeline.busy * 1.001);
  EXPECT_LE(times.network_in_use, times.pipeline.elapsed);
  EXPECT_LE(times.stages.network, times.network_in_use * 2 * 1.001);
  EXPECT_THAT(describe(times), ::testing::StartsWith("2 cores for "));
}

TEST(ClassifyPictures, WhatTheSinkThrowsEndsTheRun) {
  InputSource inputs({kPictures}, {});
  int answers = 0;
  const auto full = [&](const Answer&) {
    if (++answers == 3) throw std::runtime_error("disk full");
  };
  EXPECT_THROW(classify_pictures(shipped(), inputs, {.cores = 2}, full), std::runtime_error);
  EXPECT_EQ(answers, 3);
}

}  // namespace
}  // namespace vit::io
