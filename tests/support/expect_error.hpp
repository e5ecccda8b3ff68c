// EXPECT_ERROR(statement, code, "part of the message", "another part", …)
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "vit/error.hpp"

namespace vit::test {

template <class Statement>
void expect_error(Statement&& statement, ErrorCode code, std::initializer_list<std::string> parts,
                  const char* file, int line) {
  try {
    statement();
  } catch (const Error& error) {
    if (error.code() != code) {
      ADD_FAILURE_AT(file, line) << "the code is " << to_string(error.code()) << ", expected "
                                 << to_string(code) << ": " << error.what();
    }
    for (const std::string& part : parts) {
      if (std::string(error.what()).find(part) == std::string::npos) {
        ADD_FAILURE_AT(file, line) << "\"" << part << "\" is not in the message: " << error.what();
      }
    }
    return;
  } catch (const std::exception& other) {
    ADD_FAILURE_AT(file, line) << "another exception: " << other.what();
    return;
  }
  ADD_FAILURE_AT(file, line) << "no error, expected " << to_string(code);
}

}  // namespace vit::test

#define EXPECT_ERROR(statement, code, ...) \
  ::vit::test::expect_error([&] { static_cast<void>(statement); }, code, {__VA_ARGS__}, __FILE__, __LINE__)
