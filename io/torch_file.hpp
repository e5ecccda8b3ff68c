// What torch.save writes (.pth, .pt, .bin, .ckpt). Internal. See torch/serialization.py.
//
// Since torch 1.6 a zip archive, whose entries lie in one folder of any name:
//   data.pkl        the object, a pickle; tensors' storages are persistent ids with a key
//   data/KEY        a storage's bytes, uncompressed and aligned
//   byteorder       "little" or "big"; since torch 2.1
//   version, …      of no concern
// An archive with constants.pkl or code/ is TorchScript: a program, not weights.
//
// Before (and with _use_new_zipfile_serialization=False), one after the other:
//   pickle          0x1950a86a20f9469cfc6c
//   pickle          1001
//   pickle          a dict about the machine: "little_endian"
//   pickle          the object; persistent ids have a sixth part, a view into the storage or None
//   pickle          the list of the storages' keys, in the order in which they follow
//   for each key    int64, little-endian: the number of its elements; then they
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "io/tensor_file.hpp"
#include "io/zip_archive.hpp"

namespace vit::io {

bool is_torch_archive(const ZipArchive& archive);
/// Throws Error(weights_invalid), or model_unsupported for TorchScript and big-endian files.
TensorFileContent read_torch_archive(const ZipArchive& archive);

/// By the magic number.
bool is_torch_legacy(std::span<const std::byte> file);
/// As read_torch_archive.
TensorFileContent read_torch_legacy(std::span<const std::byte> file, std::string_view name);

}  // namespace vit::io
