#include "io/patch_resize.hpp"

#include <cstddef>
#include <opencv2/core.hpp>

#include "io/resample_filter.hpp"

namespace vit::io {
namespace {

/// R [to, from] resizes one side of a patch; pinv(Rᵀ) [to, from] resizes the kernel's. A patch's own R is the
/// Kronecker product of its sides', and so is the pseudo-inverse.
cv::Mat1d kernel_matrix(std::int64_t from, std::int64_t to) {
  cv::Mat1d transposed(static_cast<int>(from), static_cast<int>(to), 0.0);
  const FilterWeights weights({from, to, 0, to}, filter_of(Interpolation::bicubic));
  FilterWeights::Output output;
  for (std::int64_t i = 0; i < to; ++i) {
    weights.compute(i, output);
    for (std::size_t k = 0; k < output.weight.size(); ++k)
      transposed(static_cast<int>(output.first) + static_cast<int>(k), static_cast<int>(i)) =
          output.weight[k];
  }
  cv::Mat1d inverse;
  cv::invert(transposed, inverse, cv::DECOMP_SVD);
  return inverse;
}

}  // namespace

Tensor resize_patch_kernel(const WeightView& kernel, Size2 size) {
  const std::int64_t planes = kernel.shape[0] * kernel.shape[1];
  const Size2 from{kernel.shape[2], kernel.shape[3]};
  const cv::Mat1d rows = kernel_matrix(from.height, size.height);
  const cv::Mat1d columns = kernel_matrix(from.width, size.width);
  Tensor old = kernel.to_tensor();
  Tensor result({kernel.shape[0], kernel.shape[1], size.height, size.width});
  for (std::int64_t p = 0; p < planes; ++p) {
    const cv::Mat1f plane(static_cast<int>(from.height), static_cast<int>(from.width),
                          old.data() + p * from.height * from.width);
    cv::Mat1d wide;
    plane.convertTo(wide, CV_64F);
    cv::Mat1d narrow;
    cv::Mat1d resized;
    cv::gemm(rows, wide, 1, cv::noArray(), 0, narrow);
    cv::gemm(narrow, columns, 1, cv::noArray(), 0, resized, cv::GEMM_2_T);  // rows · plane · columnsᵀ
    cv::Mat1f target(static_cast<int>(size.height), static_cast<int>(size.width),
                     result.data() + p * size.height * size.width);
    resized.convertTo(target, CV_32F);
  }
  return result;
}

}  // namespace vit::io
