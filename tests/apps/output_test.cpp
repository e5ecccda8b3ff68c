#include "apps/output.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_error.hpp"
#include "tests/support/temp_folder.hpp"

namespace vit::apps {
namespace {

TEST(Output, AFileAppearsInFinish) {
  const test::TempFolder folder;
  const std::filesystem::path path = folder / "rows.txt";
  {
    Output output(path.native());
    output.write("one\n");
    output.flush();
    EXPECT_FALSE(std::filesystem::exists(path));
    output.write("two\n");
    output.finish();
  }
  EXPECT_EQ(test::read_text(path), "one\ntwo\n");
}

TEST(Output, AnInterruptedRunLeavesTheOldFile) {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.write("rows.txt", "old");
  Output(path.native()).write("new");
  EXPECT_EQ(test::read_text(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Output, SaysAtOnceThatAPathCannotBeWritten) {
  EXPECT_ERROR(Output("/no/such/folder/rows.txt"), ErrorCode::output_unwritable, "/no/such/folder/rows.txt");
}

}  // namespace
}  // namespace vit::apps
