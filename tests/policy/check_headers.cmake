# cmake -DROOT=<tree> -DFOLDER=<vit|io|export> -DCOMPILER=<c++> [-DINTERNAL=<regex>] -DWORK=<folder> -P check_headers.cmake
# Every public header compiles alone, without a warning, and brings in no heavy package, not even through another header.
# INTERNAL: those that are for their own folder only.
cmake_minimum_required(VERSION 3.25)
set(HEAVY "/(dnnl|oneapi|opencv2|onnx|google/protobuf|CLI|nlohmann|webp|curl|openssl)/|/(png|jpeglib|gif_lib|tiffio|zlib|zip|omp)[.]h|/dnnl[a-z_]*[.]hp*")

file(GLOB_RECURSE headers RELATIVE "${ROOT}" "${ROOT}/${FOLDER}/*.hpp" "${ROOT}/${FOLDER}/*.h")
if(INTERNAL)
  list(FILTER headers EXCLUDE REGEX "${INTERNAL}")
endif()
if(NOT headers)
  message(FATAL_ERROR "there is no header in ${ROOT}/${FOLDER} to look at")
endif()
file(MAKE_DIRECTORY "${WORK}")
set(problems "")
foreach(header ${headers})
  # Twice: it must guard itself.
  set(source "${WORK}/alone.cpp")
  file(WRITE "${source}" "#include \"${header}\"\n#include \"${header}\"\n")
  execute_process(
    COMMAND "${COMPILER}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "-I${ROOT}"
            -MD -MF "${WORK}/needed" "${source}"
    ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(APPEND problems "${header} does not compile alone:\n${errors}")
    continue()
  endif()
  file(READ "${WORK}/needed" needed)  # every file that the compiler read
  if(NOT needed MATCHES "${header}")
    list(APPEND problems "${header}: cannot tell what it brings in")
  endif()
  if(needed MATCHES "[^ ]*(${HEAVY})[^ \n]*")
    list(APPEND problems "${header} brings in ${CMAKE_MATCH_0}")
  endif()
endforeach()
if(problems)
  list(JOIN problems "\n  " text)
  message(FATAL_ERROR "public headers:\n  ${text}\n")
endif()
list(LENGTH headers count)
message(STATUS "${count} headers of ${FOLDER}/ compile alone")
