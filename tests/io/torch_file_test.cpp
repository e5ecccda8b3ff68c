#include "io/torch_file.hpp"

#include <gtest/gtest.h>
#include <zip.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "tests/io/tensor_file_cases.hpp"
#include "tests/io/torch_bytes.hpp"

namespace vit::io {
namespace {

using namespace std::string_literals;
using namespace torch_bytes;
using test::TempFolder;

TensorFileContent read(const std::string& name) {
  static std::vector<std::string> kept;  // tensors point into the bytes
  kept.push_back(test::read_text(torch_data(name)));
  return parse_bytes(kept.back(), name);
}

/// The only tensor, [2] of F32.
std::pair<float, float> two_numbers(const TensorFileContent& content, std::string_view name) {
  const StoredTensor* tensor = find(content, name);
  EXPECT_NE(tensor, nullptr) << name;
  std::pair<float, float> values;
  if (tensor == nullptr || tensor->data.size() != 8) return values;
  std::memcpy(&values.first, tensor->data.data(), 4);
  std::memcpy(&values.second, tensor->data.data() + 4, 4);
  return values;
}

std::string note(const TensorFileContent& content, std::string_view key) {
  for (const FileNote& n : content.notes) {
    if (n.key == key) return n.value;
  }
  return "";
}

using Pair = std::pair<float, float>;
const Pair kPlain{-1.5F, -1.13F};     // ramp(2) of make_torch_files.py
const Pair kAveraged{-0.5F, -0.13F};  // ramp(2, start=1)

// ------------------------------------------------------------------------------------------------ good files

TEST(TorchFile, ReadsTheZipFormat) {
  for (const char* name : {"zip.pth", "protocol4.pth", "compressed.pth"}) {
    SCOPED_TRACE(name);
    const TensorFileContent content = read(name);
    expect_same_tensors(content, "expected.safetensors");
    EXPECT_TRUE(content.notes.empty());
  }
}

TEST(TorchFile, ReadsTheFormatBefore) {
  for (const char* name : {"legacy.pth", "protocol1.pth"}) {
    SCOPED_TRACE(name);
    expect_same_tensors(read(name), "expected.safetensors", {"u16"});
  }
}

TEST(TorchFile, CopiesOnlyWhatIsNotContiguousAsItLies) {
  const std::string bytes = test::read_text(torch_data("zip.pth"));
  const TensorFileContent content = parse_bytes(bytes);
  const auto in_place = [&](const char* name) {
    const std::byte* data = find(content, name)->data.data();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    return data >= begin && data < begin + bytes.size();
  };
  for (const char* name : {"f32", "f16", "rows", "tied_a", "i64"}) EXPECT_TRUE(in_place(name)) << name;
  for (const char* name : {"f64", "transposed", "every_second", "expanded"})
    EXPECT_FALSE(in_place(name)) << name;
  EXPECT_EQ(find(content, "tied_a")->data.data(), find(content, "tied_b")->data.data());
  EXPECT_EQ(find(content, "f64")->dtype, "F64");
}

TEST(TorchFile, ReadsParameters) {
  const TensorFileContent content = read("parameters.pth");
  EXPECT_EQ(two_numbers(content, "with_attribute"), kPlain);
  EXPECT_EQ(find(content, "plain")->shape, (Shape{2, 2}));
  EXPECT_EQ(note(content, "entries of the state dict that are no tensors"), "\"none\"");
}

TEST(TorchFile, TakesTheWeightsOutOfATrainingCheckpoint) {
  const TensorFileContent training = read("training.pth");  // state_dict_ema is None there
  EXPECT_EQ(two_numbers(training, "x"), kAveraged);
  EXPECT_EQ(note(training, "state dict"), "model_ema");
  EXPECT_EQ(note(training, "state dicts not used"), "state_dict");
  const TensorFileContent dino = read("dino.pth");
  EXPECT_EQ(two_numbers(dino, "x"), kAveraged);
  EXPECT_EQ(note(dino, "state dict"), "teacher");
  EXPECT_EQ(note(dino, "state dicts not used"), "student");
  const TensorFileContent nested = read("nested.pth");
  EXPECT_EQ(two_numbers(nested, "module.x"), kPlain);
  EXPECT_EQ(note(nested, "state dict"), "module");
}

TEST(TorchFile, OpensAsATensorFile) {
  const TensorFile file(torch_data("tiny.pth"), FileErrors::all(ErrorCode::weights_invalid));
  ASSERT_NE(file.find("x"), nullptr);
  EXPECT_EQ(file.find("y"), nullptr);
  EXPECT_EQ(file.path(), torch_data("tiny.pth"));
  file.release_pages();
  EXPECT_EQ(file.find("x")->data.size(), 8U);
}

// ------------------------------------------------------------------------------------------------ refusals

TEST(TorchFile, RefusesWhatIsNoWeights) {
  const auto refuses = [](const char* name, ErrorCode code, std::initializer_list<std::string> parts) {
    SCOPED_TRACE(name);
    test::expect_error([&] { read(name); }, code, parts, __FILE__, __LINE__);
  };
  const ErrorCode invalid = ErrorCode::weights_invalid;
  refuses("bad_system.pth", invalid, {"bad_system.pth: ", "data.pkl", "\"posix.system\"", "state_dict()"});
  refuses("bad_eval.pth", invalid, {"eval\"", "state_dict()"});
  refuses("bad_module.pth", invalid, {"\"torch.nn.modules.linear.Linear\"", "state_dict()"});
  refuses("bad_tensor.pth", invalid, {"no dict of tensors but a single tensor"});
  refuses("bad_no_tensors.pth", invalid, {"no tensors in it, found \"epoch\", \"args\"", "state_dict_ema"});
  refuses("bad_no_storage.pth", invalid, {"data/0\"", "it is not there"});
  refuses("bad_short_storage.pth", invalid, {"data/0\"", "7 bytes, expected 8"});
  refuses("bad_bzip2.pth", invalid, {"method 12"});
  refuses("bad_unrelated.zip", invalid, {"neither PyTorch's data.pkl nor NumPy arrays"});
  const ErrorCode unsupported = ErrorCode::model_unsupported;
  refuses("bad_torchscript.pt", unsupported, {"TorchScript", "torch.jit.load(FILE).state_dict()"});
  refuses("bad_big_endian.pth", unsupported, {"big-endian"});
  refuses("bad_oldest.tar", unsupported, {"tar archive", "torch.save(torch.load(FILE)"});
  refuses("bad_plain_pickle.pkl", unsupported, {"pickle", "torch.save"});
  EXPECT_FALSE(std::filesystem::exists("must-not-be-there"));
}

TEST(TorchFile, SaysWhatElseAFileIs) {
  EXPECT_ERROR(parse_bytes(""), ErrorCode::weights_invalid, "x.pth", "empty");
  EXPECT_ERROR(parse_bytes("<!doctype html><html>"), ErrorCode::weights_invalid, "web page");
  EXPECT_ERROR(parse_bytes("version https://git-lfs.github.com/spec/v1\n"), ErrorCode::weights_invalid,
               "git lfs pull");
  EXPECT_ERROR(parse_bytes("\x89HDF\r\n\x1a\n....."), ErrorCode::model_unsupported, "HDF5");
  EXPECT_ERROR(parse_bytes("GGUF......."), ErrorCode::model_unsupported, "GGUF", "save_pretrained");
  EXPECT_ERROR(parse_bytes("something else"), ErrorCode::weights_invalid, "no format of weights",
               "\"somethin\"");
  EXPECT_ERROR(parse_bytes("something else", "x.safetensors"), ErrorCode::weights_invalid,
               "not a safetensors file");
  EXPECT_ERROR(parse_bytes("PK\3\4"), ErrorCode::weights_invalid, "zip archive", "truncated or damaged");
  EXPECT_ERROR(parse_bytes("\x80"), ErrorCode::weights_invalid, "\\x80");
  // A safetensors file whose length begins as a pickle does.
  std::string safetensors = "\x80\2\0\0\0\0\0\0{}"s;
  safetensors.resize(8 + 0x280, ' ');
  EXPECT_TRUE(parse_bytes(safetensors).tensors.empty());
}

// ------------------------------------------------------------------------------------------------ archives

struct ZipEntry {
  std::string name;
  std::string content;
  zip_int32_t method = ZIP_CM_STORE;
  bool encrypted = false;
};

std::string make_zip(const TempFolder& folder, const std::vector<ZipEntry>& entries) {
  const std::filesystem::path path = folder / "made.zip";
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (const ZipEntry& entry : entries) {
    zip_source_t* source = zip_source_buffer(archive, entry.content.data(), entry.content.size(), 0);
    const auto index = static_cast<zip_uint64_t>(zip_file_add(archive, entry.name.c_str(), source, 0));
    zip_set_file_compression(archive, index, entry.method, 0);
    if (entry.encrypted) zip_file_set_encryption(archive, index, ZIP_EM_AES_256, "secret");
  }
  EXPECT_EQ(zip_close(archive), 0);
  return test::read_text(path);
}

std::string archive(const TempFolder& folder, const std::string& pickle, const std::string& data,
                    zip_int32_t method = ZIP_CM_STORE) {
  return make_zip(folder, {{"a/data.pkl", pickle, method}, {"a/data/0", data, method}});
}

TEST(TorchFile, ChecksThatTensorsLieInTheirStorage) {
  const TempFolder folder;
  const std::string data(24, 'x');
  const auto accepts = [&](std::int64_t offset, const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& strides) {
    const std::string bytes = archive(folder, state_dict(rebuild(storage(6), offset, shape, strides)), data);
    EXPECT_EQ(parse_bytes(bytes).tensors.at(0).shape, shape);
  };
  accepts(0, {2, 3}, {3, 1});
  accepts(5, {}, {});
  accepts(1, {5}, {1});
  accepts(0, {2, 2}, {2, 3});
  accepts(6, {0}, {1});
  accepts(0, {std::int64_t{1} << 62, 0, std::int64_t{1} << 62}, {1, 1, 1});
  accepts(0, {3, 1}, {1, std::int64_t{1} << 62});  // the stride of an axis of 1 means nothing

  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto refuses = [&](std::int64_t offset, const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& strides) {
    const std::string bytes = archive(folder, state_dict(rebuild(storage(6), offset, shape, strides)), data);
    EXPECT_ERROR(parse_bytes(bytes), ErrorCode::weights_invalid, "x.pth", "tensor \"x\"");
  };
  refuses(0, {7}, {1});
  refuses(1, {6}, {1});
  refuses(6, {}, {});
  refuses(-1, {1}, {1});
  refuses(0, {-1}, {1});
  refuses(5, {6}, {-1});
  refuses(0, {2, 3}, {4, 1});
  refuses(0, {2}, {1, 1});
  refuses(0, {most}, {most});
  refuses(0, {most, most}, {1, 1});
  refuses(0, {most, 2}, {0, 0});
  refuses(most, {2}, {1});
  refuses(0, {most}, {0});  // would be 2^65 bytes
  refuses(0, {std::int64_t{1} << 40}, {0});
  refuses(0, std::vector<std::int64_t>(65, 1), std::vector<std::int64_t>(65, 1));
}

TEST(TorchFile, RefusesMalformedTensors) {
  const TempFolder folder;
  const std::string six = storage(6);
  for (const std::string& bad :
       {"ctorch._utils\n_rebuild_tensor_v2\n)R"s, "ctorch._utils\n_rebuild_tensor_v2\n(NK\0))tR"s,
        "ctorch._utils\n_rebuild_tensor_v2\n(" + six + "NK\0))tR",
        "ctorch._utils\n_rebuild_tensor_v2\n(" + six + "K\0NNtR"s,
        "ctorch._utils\n_rebuild_tensor_v2\n(" + six + "K\0(NtNtR"s,
        "ctorch._utils\n_rebuild_tensor_v3\n(" + six + "K\0))\x89NNtR"s, rebuild(storage(7), 0, {1}, {1}),
        rebuild(storage(-1), 0, {1}, {1}), rebuild(storage(std::int64_t{1} << 62), 0, {1}, {1}),
        rebuild(storage(6, "Size"), 0, {1}, {1}), rebuild("NQ", 0, {1}, {1}),
        rebuild("(U\6module)NNNtQ", 0, {1}, {1}), rebuild("(U\7storageNNNK\1tQ", 0, {1}, {1}),
        rebuild("(U\7storagectorch\nFloatStorage\nNNK\1tQ", 0, {1}, {1})}) {
    EXPECT_ERROR(parse_bytes(archive(folder, state_dict(bad), std::string(24, 'x'))),
                 ErrorCode::weights_invalid, "x.pth");
  }
}

TEST(TorchFile, AParameterOfAParameterEnds) {
  const TempFolder folder;
  std::string wrapped = rebuild(storage(1), 0, {1}, {1});
  const auto wrap = [&] { wrapped = "ctorch._utils\n_rebuild_parameter\n(" + wrapped + "\x88NtR"; };
  wrap();
  EXPECT_EQ(parse_bytes(archive(folder, state_dict(wrapped), "1234")).tensors.size(), 1U);
  for (int i = 0; i < 1000; ++i) wrap();
  EXPECT_ERROR(parse_bytes(archive(folder, state_dict(wrapped), "1234")), ErrorCode::weights_invalid,
               "no tensors");
}

TEST(TorchFile, ZipBombsTakeNoMemory) {
  const TempFolder folder;
  const std::size_t large = std::size_t{40} << 20;
  const auto elements = static_cast<std::int64_t>(large / 4);
  const std::string zeros = state_dict(rebuild(storage(elements), 0, {elements}, {1}));
  std::string bomb = archive(folder, zeros, std::string(large, '\0'), ZIP_CM_DEFLATE);
  ASSERT_LT(bomb.size(), 100000U);
  EXPECT_ERROR(parse_bytes(bomb), ErrorCode::weights_invalid, "a/data/0", "more than the limit");
  // Stored, the same is no bomb.
  EXPECT_EQ(parse_bytes(archive(folder, zeros, std::string(large, '\0'))).tensors.at(0).data.size(), large);

  // A size that lies: in the directory, whose entry for the storage is the last.
  const std::string small = state_dict(rebuild(storage(2), 0, {2}, {1}));
  const std::string good = archive(folder, small, std::string(64, 'a'), ZIP_CM_DEFLATE);
  EXPECT_EQ(parse_bytes(good).tensors.size(), 1U);
  const std::size_t entry = good.rfind("PK\1\2");
  for (const std::uint32_t size : {0xFFFFFFF0U, 1000U, 65U, 63U, 8U}) {
    std::string lie = good;
    std::memcpy(lie.data() + entry + 24, &size, 4);
    EXPECT_ERROR(parse_bytes(lie), ErrorCode::weights_invalid, "x.pth", "zip archive");
  }
}

TEST(TorchFile, ChecksTheArchive) {
  const TempFolder folder;
  const std::string pickle = state_dict(rebuild(storage(1), 0, {1}, {1}));
  EXPECT_ERROR(
      parse_bytes(make_zip(folder, {{"a/data.pkl", pickle}, {"a/data/0", "1234", ZIP_CM_STORE, true}})),
      ErrorCode::weights_invalid, "a/data/0", "encrypted");
  EXPECT_ERROR(parse_bytes(make_zip(folder, {{"a/data.pkl", pickle}, {"b/data.pkl", pickle}})),
               ErrorCode::weights_invalid, "neither");
  EXPECT_EQ(parse_bytes(make_zip(folder, {{"data.pkl", pickle}, {"data/0", "1234"}})).tensors.size(), 1U);
  EXPECT_ERROR(
      parse_bytes(make_zip(folder, {{"a/data.pkl", pickle}, {"a/data/0", "1234"}, {"a/code/x.py", ""}})),
      ErrorCode::model_unsupported, "TorchScript");
  EXPECT_ERROR(parse_bytes(make_zip(
                   folder, {{"a/data.pkl", pickle}, {"a/data/0", "1234"}, {"a/byteorder", "middle"}})),
               ErrorCode::weights_invalid, "a/byteorder", "middle");
  std::string twice = make_zip(folder, {{"a/data.pkl", pickle}, {"a/data/0", "1234"}, {"a/data/1", "1234"}});
  for (std::size_t at = twice.find("a/data/1"); at != std::string::npos; at = twice.find("a/data/1", at))
    twice[at + 7] = '0';
  EXPECT_ERROR(parse_bytes(twice), ErrorCode::weights_invalid, "zip archive");
  std::string flipped = archive(folder, pickle, std::string(64, 'a'), ZIP_CM_DEFLATE);
  const std::size_t crc = flipped.rfind("PK\1\2") + 16;
  flipped[crc] = static_cast<char>(flipped[crc] ^ 1);
  EXPECT_ERROR(parse_bytes(flipped), ErrorCode::weights_invalid, "a/data/0", "damaged");
}

// ------------------------------------------------------------------------------------------------ the old
// format

TEST(TorchFile, ReadsViewsOfTheOldFormat) {
  const std::string view = "(U\1v" + number(2) + number(3) + "t";
  const std::string object = state_dict(rebuild(storage(6, "ByteStorage", view), 1, {2}, {1}));
  const std::string file = legacy(object, "\x80\2]U\1\x30\x61.", count(6) + "abcdef");
  EXPECT_EQ(as_text(parse_bytes(file).tensors.at(0).data), "de");
  for (const auto& [offset, size] :
       {std::pair(-1, 2), std::pair(5, 2), std::pair(7, 0), std::pair(0, -1), std::pair(2, 2)}) {
    const std::string bad_view = "(U\1v" + number(offset) + number(size) + "t";
    const std::string bad = state_dict(rebuild(storage(6, "ByteStorage", bad_view), 1, {2}, {1}));
    EXPECT_ERROR(parse_bytes(legacy(bad, "\x80\2]U\1\x30\x61.", count(6) + "abcdef")),
                 ErrorCode::weights_invalid, "x.pth");
  }
}

TEST(TorchFile, ChecksTheOldFormat) {
  const std::string object = state_dict(rebuild(storage(2, "FloatStorage", "N"), 0, {2}, {1}));
  const std::string key = "U\1\x30";
  const std::string keys = "\x80\2]" + key + "a.";
  const std::string data = count(2) + "12345678";
  EXPECT_EQ(as_text(parse_bytes(legacy(object, keys, data)).tensors.at(0).data), "12345678");
  const auto refuses = [](const std::string& bytes, const char* part,
                          ErrorCode code = ErrorCode::weights_invalid) {
    EXPECT_ERROR(parse_bytes(bytes), code, "x.pth: ", part);
  };
  refuses(kMagic + "\x80\2K\1." + kMachine + object + keys + data, "protocol");
  refuses(kMagic + kProtocol + "\x80\2}U\x0dlittle_endian\x89s." + object + keys + data, "big-endian",
          ErrorCode::model_unsupported);
  refuses(legacy(object, "\x80\2N.", data), "no list");
  refuses(legacy(object, "\x80\2].", ""), "storage \"0\" is not there");
  refuses(legacy(object, "\x80\2]U\1xa.", data), "belongs to no tensor");
  refuses(legacy(object, "\x80\2]" + key + "a" + key + "a.", data + data), "twice");
  refuses(legacy(object, keys, count(1) + "1234"), "4 bytes, expected 8");
  refuses(legacy(object, keys, count(3) + "12345678"), "truncated");
  refuses(legacy(object, keys, count(-1) + "12345678"), "truncated");
  refuses(legacy(object, keys, count(std::int64_t{1} << 62) + "12345678"), "truncated");
  refuses(legacy(object, keys, "1234"), "truncated");
  refuses(legacy(object, keys, data + "x"), "1 bytes follow");
  const std::string both = "\x80\2}" + short_text("x") +
                           rebuild(storage(2, "FloatStorage", "N"), 0, {2}, {1}) + "s" + short_text("y") +
                           rebuild(storage(2, "HalfStorage", "N"), 0, {2}, {1}) + "s.";
  refuses(legacy(both, keys, data), "two types");
}

TEST(TorchFile, SurvivesAnyDamage) {
  damage_everywhere(torch_data("tiny_legacy.pth"), 1);
  damage_everywhere(torch_data("tiny.pth"), 1);
  damage_everywhere(torch_data("compressed.pth"), 3);
}

}  // namespace
}  // namespace vit::io
