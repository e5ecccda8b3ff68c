# cmake -DSOURCES=… -DHEADER=… -P: the git revision of the sources and its date as a header, which is written only when they change.
execute_process(COMMAND git -C "${SOURCES}" describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
execute_process(COMMAND git -C "${SOURCES}" log -1 --format=%cs OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C "${SOURCES}" rev-parse --show-toplevel
  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(REAL_PATH "${SOURCES}" SOURCES)
if(failed OR NOT top STREQUAL SOURCES)  # an archive of the sources, perhaps inside somebody else's repository
  set(revision "")
  string(TIMESTAMP date "%Y-%m-%d" UTC)
endif()
set(text "#define VITRINE_GIT_REVISION \"${revision}\"\n#define VITRINE_DATE \"${date}\"\n")
set(before "")
if(EXISTS "${HEADER}")
  file(READ "${HEADER}" before)
endif()
if(NOT text STREQUAL before)
  file(WRITE "${HEADER}" "${text}")
endif()
