// Names of models on the hub, and the cache of huggingface_hub.
#include "io/hub_cache.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "io/checkpoint.hpp"
#include "tests/support/editable_model.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::io {
namespace {

namespace fs = std::filesystem;
using test::EditableModel;
using test::TempFolder;

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";
const std::string kOther = "0123456999999999999999999999999999999999";

TEST(HubId, HasARepositoryAndARevision) {
  const HubId plain = parse_hub_id("google/vit-base_patch16.v2");
  EXPECT_EQ(plain, (HubId{"google/vit-base_patch16.v2", "main"}));
  EXPECT_EQ(plain.text(), "google/vit-base_patch16.v2");
  const HubId pinned = parse_hub_id("a/b@refs/pr/1");
  EXPECT_EQ(pinned, (HubId{"a/b", "refs/pr/1"}));
  EXPECT_EQ(pinned.text(), "a/b@refs/pr/1");
  EXPECT_EQ(parse_hub_id("hf-hub:timm/vit.tiny@v1"), (HubId{"timm/vit.tiny", "v1"}));
  EXPECT_EQ(parse_hub_id("hf_hub:timm/vit.tiny"), (HubId{"timm/vit.tiny", "main"}));
}

TEST(HubId, RefusesWhatTheHubDoes) {
  const std::string too_long = "a/" + std::string(95, 'b');
  for (const std::string& bad : std::initializer_list<std::string>{
           "",        "/",        "a",          "a/",
           "/b",      "a/b/c",    "a/b.git",    "a--b/c",
           "a/b..c",  "-a/b",     "a/b-",       ".a/b",
           "a b/c",   "a/b\n",    "a/\xC3\xA4", "../b",
           "a/..",    "~/b",      "hf-hub:",    "hf-hub:a",
           "a/b@",    "a/b@x y",  "a/b@../x",   "a/b@/x",
           "a/b@x/",  "a/b@x//y", "a/b@.x",     "a/b@x/.y",
           "a/b@x@y", "a/b@x\\y", too_long,     "a/b@" + std::string(201, 'x')}) {
    EXPECT_ERROR(parse_hub_id(bad), ErrorCode::invalid_argument, "org/name");
    if (bad.starts_with("hf-hub:")) continue;
    EXPECT_FALSE(find_hub_id(bad)) << bad;
  }
  EXPECT_ERROR(find_hub_id("hf-hub:a"), ErrorCode::invalid_argument, "hf-hub:a", "org/name");
}

class HubCacheTest : public ::testing::Test {
 protected:
  /// A model of tests/data as a snapshot, as huggingface_hub lays it out.
  void add(const std::string& commit, const std::string& model = "hf_vit_base") const {
    fs::create_directories(cache_.folder() / "blobs");
    for (const auto& entry : fs::directory_iterator(EditableModel::folder_of(model))) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("expected")) continue;  // for other tests
      fs::copy_file(entry.path(), cache_.blob(name + "-etag"), fs::copy_options::overwrite_existing);
      cache_.link(commit, name, name + "-etag");
    }
  }

  TempFolder folder_;
  HubCache cache_{folder_.path(), "org/name"};
  HubId id_{"org/name"};
};

TEST_F(HubCacheTest, KeepsThingsWherePythonLooksForThem) {
  const fs::path root = folder_.path();
  EXPECT_EQ(cache_.folder(), root / "models--org--name");
  EXPECT_EQ(cache_.blob("abc"), root / "models--org--name/blobs/abc");
  EXPECT_EQ(cache_.incomplete("abc"), root / "models--org--name/blobs/abc.incomplete");
  EXPECT_EQ(cache_.lock("abc"), root / ".locks/models--org--name/abc.lock");
  EXPECT_EQ(cache_.snapshot(kCommit), root / "models--org--name/snapshots" / kCommit);
  EXPECT_EQ(cache_.reference("refs/pr/1"), root / "models--org--name/refs/refs/pr/1");
}

TEST_F(HubCacheTest, LinksAreRelativeAndReplaced) {
  cache_.link(kCommit, "a.json", "abc");
  const fs::path link = cache_.snapshot(kCommit) / "a.json";
  EXPECT_EQ(fs::read_symlink(link), "../../blobs/abc");
  cache_.link(kCommit, "a.json", "def");
  EXPECT_EQ(fs::read_symlink(link), "../../blobs/def");
  cache_.link(kCommit, "a.json", "def");
  EXPECT_EQ(std::distance(fs::directory_iterator(link.parent_path()), {}), 1);
}

TEST_F(HubCacheTest, ARevisionIsAReferenceOrTheBeginningOfACommit) {
  EXPECT_FALSE(cache_.find_commit("main"));
  cache_.write_reference("main", kCommit);
  EXPECT_EQ(test::read_text(cache_.reference("main")), kCommit);  // no line end, as Python reads it
  EXPECT_FALSE(cache_.find_commit("main"));                       // no snapshot
  add(kCommit);
  EXPECT_EQ(cache_.find_commit("main"), kCommit);
  EXPECT_EQ(cache_.find_commit(kCommit), kCommit);
  EXPECT_EQ(cache_.find_commit("01234"), kCommit);
  EXPECT_FALSE(cache_.find_commit("0123"));  // too short
  EXPECT_FALSE(cache_.find_commit("abcdef"));
  add(kOther);
  EXPECT_FALSE(cache_.find_commit("0123456"));  // both begin so
  EXPECT_EQ(cache_.find_commit("01234569"), kOther);
  EXPECT_EQ(cache_.commits(), (std::vector<std::string>{kCommit, kOther}));
  cache_.write_reference("feature/x", kOther);
  EXPECT_EQ(cache_.find_commit("feature/x"), kOther);
  cache_.write_reference("feature/x", kCommit);
  EXPECT_EQ(cache_.find_commit("feature/x"), kCommit);
  cache_.write_reference(kCommit, kCommit);
  EXPECT_FALSE(fs::exists(cache_.reference(kCommit)));
}

TEST_F(HubCacheTest, ADamagedReferenceLeadsNowhere) {
  add(kCommit);
  cache_.write_reference("main", kCommit);
  for (const std::string& bad :
       {std::string(), std::string("../../.."), kCommit + "0", std::string(5000, 'a')}) {
    std::ofstream(cache_.reference("main")) << bad;
    EXPECT_FALSE(cache_.find_commit("main")) << bad;
  }
  std::ofstream(cache_.reference("main")) << kCommit << "\n";  // somebody's editor
  EXPECT_EQ(cache_.find_commit("main"), kCommit);
}

TEST_F(HubCacheTest, FindsACompleteModel) {
  add(kCommit);
  cache_.write_reference("main", kCommit);
  const fs::path found = find_in_cache(id_, folder_.path());
  EXPECT_EQ(found, cache_.snapshot(kCommit));
  EXPECT_EQ(load_checkpoint(found).info.parameters, 48487);
}

TEST_F(HubCacheTest, SaysWhatWasLookedForAndWhatToDo) {
  EXPECT_ERROR(find_in_cache(id_, folder_.path()), ErrorCode::model_not_found, "org/name",
               cache_.folder().string(), "vitrine pull org/name");
  add(kCommit);
  EXPECT_ERROR(find_in_cache({"org/name", "v1"}, folder_.path()), ErrorCode::model_not_found, "org/name@v1",
               kCommit, "vitrine pull org/name@v1");
  cache_.write_reference("main", kCommit);
  fs::remove(cache_.blob("model.safetensors-etag"));
  EXPECT_ERROR(find_in_cache(id_, folder_.path()), ErrorCode::model_not_found,
               cache_.snapshot(kCommit).string(), "lacks model.safetensors;", "vitrine pull org/name");
  fs::remove(cache_.snapshot(kCommit) / "model.safetensors");
  EXPECT_ERROR(find_in_cache(id_, folder_.path()), ErrorCode::model_not_found, "lacks the weights",
               "config.json");
}

TEST_F(HubCacheTest, LooksForEveryShard) {
  add(kCommit, "hf_vit_sharded");
  cache_.write_reference("main", kCommit);
  const fs::path snapshot = find_in_cache(id_, folder_.path());
  fs::remove(snapshot / "model-00002-of-00004.safetensors");
  EXPECT_ERROR(find_in_cache(id_, folder_.path()), ErrorCode::model_not_found,
               "lacks model-00002-of-00004.safetensors;");
  std::ofstream(cache_.blob("model.safetensors.index.json-etag")) << "{";
  EXPECT_ERROR(find_in_cache(id_, folder_.path()), ErrorCode::model_not_found, "index.json");
}

}  // namespace
}  // namespace vit::io
