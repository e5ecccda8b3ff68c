#include "io/hub_settings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/expect_error.hpp"

namespace vit::io {
namespace {

HubSettings settings(std::map<std::string, std::string> variables) {
  variables.emplace("HOME", "/users/me");
  return read_hub_settings([&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  });
}

TEST(HubSettings, WithoutVariables) {
  const HubSettings none = settings({});
  EXPECT_EQ(none.cache, "/users/me/.cache/huggingface/hub");
  EXPECT_EQ(none.token_file, "/users/me/.cache/huggingface/token");
  EXPECT_EQ(none.token, "");
  EXPECT_EQ(none.endpoint, "https://huggingface.co");
  EXPECT_FALSE(none.offline);
  EXPECT_EQ(none.timeout.count(), 10);
  EXPECT_EQ(none.certificates, "");
}

// Each added variable comes before those that are there: the order of huggingface_hub's constants.py.
TEST(HubSettings, TheCacheFollowsThePrecedenceOfHuggingfaceHub) {
  std::map<std::string, std::string> variables{{"XDG_CACHE_HOME", "/x"}};
  EXPECT_EQ(settings(variables).cache, "/x/huggingface/hub");
  variables["HF_HOME"] = "/h";
  EXPECT_EQ(settings(variables).cache, "/h/hub");
  EXPECT_EQ(settings(variables).token_file, "/h/token");
  variables["HUGGINGFACE_HUB_CACHE"] = "/legacy";
  EXPECT_EQ(settings(variables).cache, "/legacy");
  variables["HF_HUB_CACHE"] = "/new";
  EXPECT_EQ(settings(variables).cache, "/new");
  EXPECT_EQ(settings(variables).token_file, "/h/token");
  variables["HF_HUB_CACHE"] = "";  // as if it were not there
  EXPECT_EQ(settings(variables).cache, "/legacy");
}

TEST(HubSettings, PathsAreExpanded) {
  EXPECT_EQ(settings({{"HF_HOME", "~/models"}}).cache, "/users/me/models/hub");
  EXPECT_EQ(settings({{"HF_HUB_CACHE", "$BIG/a/${BIG}x"}, {"BIG", "disk"}}).cache, "disk/a/diskx");
  for (const char* as_is : {"/a$", "/a${", "/a${}", "/a$/b", "/a${NOTHING}", "/a$NOTHING", "/a~", "~you/a"})
    EXPECT_EQ(settings({{"HF_HUB_CACHE", as_is}}).cache, as_is);
}

TEST(HubSettings, Tokens) {
  std::map<std::string, std::string> variables{{"HUGGING_FACE_HUB_TOKEN", "old"}, {"HF_TOKEN_PATH", "~/t"}};
  EXPECT_EQ(settings(variables).token, "old");
  EXPECT_EQ(settings(variables).token_file, "/users/me/t");
  variables["HF_TOKEN"] = "new";
  EXPECT_EQ(settings(variables).token, "new");
  variables["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1";
  EXPECT_EQ(settings(variables).token, "");
  EXPECT_EQ(settings(variables).token_file, "");
}

TEST(HubSettings, SwitchesAreOnWithTheValuesOfHuggingfaceHub) {
  for (const char* on : {"1", "ON", "on", "Yes", "true"})
    EXPECT_TRUE(settings({{"HF_HUB_OFFLINE", on}}).offline);
  for (const char* off : {"0", "", "no", "false", "2"})
    EXPECT_FALSE(settings({{"HF_HUB_OFFLINE", off}}).offline);
  EXPECT_TRUE(settings({{"TRANSFORMERS_OFFLINE", "1"}}).offline);
  EXPECT_FALSE(settings({{"HF_HUB_OFFLINE", "0"}, {"TRANSFORMERS_OFFLINE", "1"}}).offline);
}

TEST(HubSettings, EndpointAndTimeout) {
  EXPECT_EQ(settings({{"HF_ENDPOINT", "http://127.0.0.1:8080/hub//"}}).endpoint, "http://127.0.0.1:8080/hub");
  EXPECT_EQ(settings({{"HF_HUB_DOWNLOAD_TIMEOUT", "3"}}).timeout.count(), 3);
  EXPECT_EQ(settings({{"SSL_CERT_FILE", "/a.pem"}, {"CURL_CA_BUNDLE", "/b.pem"}}).certificates, "/a.pem");
  for (const char* bad : {"hub.example", "file:///etc", "https://a b", "https://a\nb"})
    EXPECT_ERROR(settings({{"HF_ENDPOINT", bad}}), ErrorCode::invalid_argument, "HF_ENDPOINT", bad);
  for (const char* bad : {"0", "-1", "x", "1.5", "99999999", "99999999999999999999"})
    EXPECT_ERROR(settings({{"HF_HUB_DOWNLOAD_TIMEOUT", bad}}), ErrorCode::invalid_argument,
                 "HF_HUB_DOWNLOAD_TIMEOUT", bad);
}

}  // namespace
}  // namespace vit::io
