# cmake -DROOT=<tree> -P check_text.cmake: no file of the project names a package registry's host or a path of somebody's
# machine. Looks at what git tracks, or, outside a git checkout, at every file but those in build folders.
cmake_minimum_required(VERSION 3.25)
find_package(Git QUIET)
set(files "")
if(GIT_FOUND AND EXISTS "${ROOT}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" -c safe.directory=* -C "${ROOT}" ls-files OUTPUT_VARIABLE listed
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(status EQUAL 0)
    string(REPLACE "\n" ";" files "${listed}")
  endif()
endif()
if(NOT files)
  file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/*")
  list(FILTER files EXCLUDE REGEX "^build(-[^/]*)?/|^[.]git/")
endif()
list(FILTER files INCLUDE REGEX "[.](cpp|hpp|h|c|cmake|txt|md|sh|py|json|jsonc|yml|yaml|supp)$|^[^.]*$|^[.]ci/|^[.]clang")
list(FILTER files EXCLUDE REGEX "^tests/policy/")  # these name what they look for
list(FILTER files EXCLUDE REGEX "^LICENSE$")

set(PATTERNS
  "pypi[.]org" "pythonhosted[.]org" "deb[.]debian[.]org" "security[.]debian[.]org" "archive[.]ubuntu[.]com"
  "registry[.]npmjs[.]org" "proxy[.]golang[.]org" "crates[.]io"
  "/work/" "/root/" "/home/[a-z]" "/tmp/bash_jobs")
list(JOIN PATTERNS "|" pattern)

set(problems "")
set(count 0)
foreach(file ${files})
  if(NOT EXISTS "${ROOT}/${file}")
    continue()
  endif()
  math(EXPR count "${count} + 1")
  file(STRINGS "${ROOT}/${file}" lines REGEX "${pattern}")
  foreach(line ${lines})
    string(REGEX MATCH "${pattern}" found "${line}")
    list(APPEND problems "${file}: names ${found}")
  endforeach()
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "there is no file to look at in ${ROOT}")
endif()
if(problems)
  list(JOIN problems "\n  " text)
  message(FATAL_ERROR "machine-specific text:\n  ${text}\n")
endif()
message(STATUS "${count} files looked at")
