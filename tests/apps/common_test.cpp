#include "apps/common.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace vit::apps {
namespace {

TEST(ExitCode, FollowsWhatFailed) {
  EXPECT_EQ(exit_code(ErrorCode::invalid_argument), 2);
  for (const ErrorCode code :
       {ErrorCode::model_not_found, ErrorCode::config_invalid, ErrorCode::model_unsupported,
        ErrorCode::weights_invalid, ErrorCode::download_failed}) {
    EXPECT_EQ(exit_code(code), 3) << to_string(code);
  }
  for (const ErrorCode code :
       {ErrorCode::image_not_found, ErrorCode::image_truncated, ErrorCode::image_too_large,
        ErrorCode::tensor_invalid, ErrorCode::no_input, ErrorCode::not_finite}) {
    EXPECT_EQ(exit_code(code), 1) << to_string(code);
  }
  EXPECT_EQ(exit_code(ErrorCode::output_unwritable), 4);
  EXPECT_EQ(exit_code(ErrorCode::verification_failed), 5);
  EXPECT_EQ(exit_code(ErrorCode::internal), 70);
}

TEST(ModelPath, IsWhatWasGivenOrWhatShips) {
  CommonOptions options;
  options.model = "some/where";
  EXPECT_EQ(model_path(options), "some/where");
  options.model.clear();
  EXPECT_TRUE(std::filesystem::exists(model_path(options) / "config.json"));
}

}  // namespace
}  // namespace vit::apps
