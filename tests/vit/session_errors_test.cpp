// What a Session refuses, and what it says.
#include <gtest/gtest.h>

#include <string>

#include "tests/vit/network_cases.hpp"
#include "vit/error.hpp"
#include "vit/session.hpp"

namespace vit::test {
namespace {

template <class Body>
void expect_refusal(const std::string& word, Body&& body) {
  try {
    body();
    ADD_FAILURE() << "accepted, expected a message with '" << word << "'";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << "no '" << word << "' in: " << e.what();
  }
}

TEST(SessionErrors, OptionsThatCannotBe) {
  const auto model = make_model(network_case("small"));
  const auto expect = [&](const std::string& word, const SessionOptions& options) {
    expect_refusal(word, [&] { const Session session(model, options); });
  };
  expect("batch of 0", {.batch = 0});
  expect("batch of -3", {.batch = -3});
  expect("batch of 1000000", {.batch = 1000000});
  expect("7x24", {.image_size = {7, 24}});
  expect("24x0", {.image_size = {24, 0}});
  expect("-24x24", {.image_size = {-24, 24}});
  expect("9223372036854775807", {.image_size = {24, std::int64_t{9223372036854775807}}});
  expect("-1 threads", {.threads = -1});
  expect("1000000 threads", {.threads = 1000000});
  expect("GiB", {.batch = 65536, .image_size = {1 << 20, 1 << 20}});
  expect("attention maps", {.batch = 1, .image_size = {1 << 14, 1 << 14}, .attention_maps = true});
  expect_refusal("Model", [] { const Session session(nullptr); });
}

TEST(SessionErrors, PixelValuesOfAnotherShape) {
  Session session(make_model(network_case("small")), {.batch = 2});
  Tensor pixels({2, 3, 24, 24});
  for (float& value : pixels.elements()) value = 0;
  for (const Shape& shape : {Shape{1, 3, 24, 24}, Shape{2, 1, 24, 24}, Shape{2, 3, 24, 23}, Shape{3, 24, 24},
                             Shape{2, 3, 24, 24, 1}, Shape{}}) {
    expect_refusal(to_string(shape) + ", expected [2, 3, 24, 24]", [&] {
      session.forward({pixels.data(), shape});
    });
  }
  expect_refusal("no data", [&] { session.forward({nullptr, pixels.shape()}); });
  session.forward(pixels.view());
}

TEST(SessionErrors, DefaultsAreResolved) {
  const Session session(make_model(network_case("small")));
  EXPECT_EQ(session.options().image_size, (Size2{24, 24}));
  EXPECT_EQ(session.options().threads, available_threads());
  EXPECT_GE(available_threads(), 1);
}

}  // namespace
}  // namespace vit::test
