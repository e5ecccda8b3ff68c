#include "apps/neighbour_rows.hpp"

#include <gtest/gtest.h>

namespace vit::apps {
namespace {

const NeighbourRow kRow{
    "a.png", {}, {{{"b, c.png", {}}, 1}, {{"clip.mp4", io::FramePosition{12, 0.48}}, 0.25F}}, {}};
const NeighbourRow kBad{"d.png", {}, {}, Error(ErrorCode::image_empty, "d.png: is empty")};

std::string print(std::string_view name) {
  const auto format = make_neighbour_format(name);
  return format->begin() + format->row(kRow) + format->row(kBad) + format->end();
}

TEST(NeighbourRows, InEveryFormat) {
  EXPECT_EQ(print("jsonl"),
            "{\"input\":\"a.png\",\"neighbours\":[{\"input\":\"b, c.png\",\"score\":1},"
            "{\"input\":\"clip.mp4\",\"frame\":12,\"seconds\":0.48,\"score\":0.25}]}\n"
            "{\"input\":\"d.png\",\"error\":{\"code\":\"image_empty\",\"message\":\"d.png: is empty\"}}\n");
  EXPECT_EQ(print("csv"),
            "input,rank,neighbour,neighbour_frame,neighbour_seconds,score,error,message,frame,seconds\n"
            "a.png,1,\"b, c.png\",,,1,,,,\n"
            "a.png,2,clip.mp4,12,0.48,0.25,,,,\n"
            "d.png,,,,,,image_empty,d.png: is empty,,\n");
  EXPECT_EQ(print("text"),
            "a.png\n  1.0000  b, c.png\n  0.2500  clip.mp4  frame 12, 0.480 s\n"
            "d.png\n  error (image_empty): d.png: is empty\n");
}

}  // namespace
}  // namespace vit::apps
