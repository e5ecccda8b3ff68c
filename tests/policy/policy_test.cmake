# cmake -DSCRIPTS=<tests/policy> -DCOMPILER=<c++> -DNM=<nm> -DAR=<ar> -DWORK=<folder> -P policy_test.cmake
# The policy checks must be able to fail: each is run on a small tree that keeps the rules, then with one fault planted.
cmake_minimum_required(VERSION 3.25)
set(failures "")
set(checks 0)

# check(<what> <expected text, or "" for success> <script> <arguments...>)
macro(check what expected script)
  execute_process(COMMAND "${CMAKE_COMMAND}" ${ARGN} -P "${SCRIPTS}/${script}" OUTPUT_VARIABLE out ERROR_VARIABLE out
                  RESULT_VARIABLE status)
  string(REGEX REPLACE "[ \n]+" " " out "${out}")
  math(EXPR checks "${checks} + 1")
  if("${expected}" STREQUAL "")
    if(NOT status EQUAL 0)
      list(APPEND failures "${what}: should pass, but: ${out}")
    endif()
  elseif(status EQUAL 0)
    list(APPEND failures "${what}: was not noticed")
  else()
    string(FIND "${out}" "${expected}" at)
    if(at EQUAL -1)
      list(APPEND failures "${what}: should say '${expected}', but: ${out}")
    endif()
  endif()
endmacro()

# ------------------------------------------------------------------------------------------------ includes
set(TREE "${WORK}/tree")
function(make_tree)
  file(REMOVE_RECURSE "${TREE}")
  file(WRITE "${TREE}/vit/backend/engine.cpp" "#include <dnnl.hpp>\n")
  file(WRITE "${TREE}/vit/model.hpp" "#pragma once\n#include <string>\nstruct Model { std::string name; };\n")
  file(WRITE "${TREE}/vit/model.cpp" "#include \"vit/model.hpp\"\n#include \"vit/backend/engine.hpp\"\n")
  file(WRITE "${TREE}/io/image.cpp"
       "#include \"io/image.hpp\"\n#include <opencv2/core.hpp>\n#include <png.h>\n#include <webp/decode.h>\n#include <zip.h>\n"
       "#include <nlohmann/json.hpp>\n#include \"vit/model.hpp\"\n")
  file(WRITE "${TREE}/io/http_client.cpp" "#include <curl/curl.h>\n")
  file(WRITE "${TREE}/io/blob_digest.cpp" "#include <openssl/evp.h>\n")
  file(WRITE "${TREE}/export/graph.cpp" "#include \"export/graph.hpp\"\n#include <onnx/onnx_pb.h>\n")
  file(WRITE "${TREE}/apps/main.cpp" "#include <CLI/CLI.hpp>\n#include \"io/image.hpp\"\n#include \"apps/common.hpp\"\n")
endfunction()

make_tree()
check("a tree that keeps the rules" "" check_includes.cmake "-DROOT=${TREE}")
set(FAULTS
  "vit/layer.cpp"         "#include <opencv2/core.hpp>"
  "vit/layer.cpp"         "#  include \"dnnl.hpp\""
  "vit/layer.hpp"         "#include <oneapi/dnnl/dnnl.hpp>"
  "vit/layer.cpp"         "#include \"io/image.hpp\""
  "vit/layer.cpp"         "#include \"export/graph.hpp\""
  "vit/backend/print.cpp" "#include \"apps/common.hpp\""
  "io/deep/network.cpp"   "#include <dnnl.hpp>"
  "io/save.cpp"           "#include \"export/graph.hpp\""
  "io/save.cpp"           "#include \"vit/backend/engine.hpp\""
  "io/picture.hpp"        "#include <opencv2/core.hpp>"
  "io/picture.hpp"        "#include <png.h>"
  "io/archive.hpp"        "#include <zip.h>"
  "io/archive.cpp"        "#include <curl/curl.h>"
  "io/archive.hpp"        "#include <openssl/evp.h>"
  "io/options.cpp"        "#include <CLI/CLI.hpp>"
  "export/graph.hpp"      "#include <onnx/onnx_pb.h>"
  "export/read.cpp"       "#include \"io/image.hpp\""
  "io/read.cpp"           "#include <google/protobuf/message.h>"
  "apps/show.cpp"         "#include <opencv2/highgui.hpp>"
  "apps/show.cpp"         "#include \"tests/support/compare.hpp\""
)
while(FAULTS)
  list(POP_FRONT FAULTS file line)
  make_tree()
  file(WRITE "${TREE}/${file}" "${line}\n")
  string(REGEX REPLACE "^.*[<\"]([^>\"]+)[>\"]$" "\\1" included "${line}")
  check("${file} with ${line}" "${file} includes ${included}" check_includes.cmake "-DROOT=${TREE}")
endwhile()
make_tree()
file(REMOVE_RECURSE "${TREE}/export")
check("a folder that is not there" "export/: there is no source file" check_includes.cmake "-DROOT=${TREE}")
make_tree()
file(REMOVE "${TREE}/vit/backend/engine.cpp")
check("a rule without a use" "nothing includes ^(oneapi/dnnl/|dnnl)" check_includes.cmake "-DROOT=${TREE}")

# ------------------------------------------------------------------------------------------------ text
make_tree()
check("text without hosts" "" check_text.cmake "-DROOT=${TREE}")
file(WRITE "${TREE}/setup.sh" "curl https://pypi.org/simple\n")
check("a registry's host" "setup.sh: names pypi.org" check_text.cmake "-DROOT=${TREE}")
file(WRITE "${TREE}/setup.sh" "cd /work/somewhere\n")
check("a path of one machine" "setup.sh: names /work/" check_text.cmake "-DROOT=${TREE}")
check("an empty folder" "there is no file" check_text.cmake "-DROOT=${WORK}/nothing")

# ------------------------------------------------------------------------------------------------ headers
set(header_options -DFOLDER=vit "-DCOMPILER=${COMPILER}" "-DWORK=${WORK}/headers" "-DROOT=${TREE}")
make_tree()
check("a header that compiles alone" "" check_headers.cmake ${header_options})
file(WRITE "${TREE}/vit/bad.hpp" "#pragma once\ninline std::string name() { return {}; }\n")
check("a header that forgets an include" "vit/bad.hpp does not compile alone" check_headers.cmake ${header_options})
check("the same as an internal header" "" check_headers.cmake ${header_options} -DINTERNAL=^vit/bad)
file(WRITE "${TREE}/vit/bad.hpp" "inline int twice(int x) { return 2 * x; }\n")
check("a header without a guard" "vit/bad.hpp does not compile alone" check_headers.cmake ${header_options})
file(WRITE "${TREE}/vit/bad.hpp" "#pragma once\ninline int narrow(long x) { return x; }\n")
check("a header with a warning" "vit/bad.hpp does not compile alone" check_headers.cmake ${header_options})
file(WRITE "${TREE}/vit/bad.hpp" "#pragma once\n#include \"opencv2/core.hpp\"\n")
file(WRITE "${TREE}/opencv2/core.hpp" "#pragma once\n")
check("a header that brings in OpenCV" "vit/bad.hpp brings in" check_headers.cmake ${header_options})
file(REMOVE_RECURSE "${TREE}/vit")
check("a folder without headers" "there is no header" check_headers.cmake ${header_options})

# ------------------------------------------------------------------------------------------------ symbols
# check_library(<what> <expected> <object file> <statement>): makes a library of one object file and checks it.
macro(check_library what expected object statement)
  file(MAKE_DIRECTORY "${WORK}/symbols")
  file(REMOVE "${WORK}/symbols/libx.a")
  file(WRITE "${WORK}/symbols/x.cpp" "#include <omp.h>\n#include <cstdio>\n#include <cstdlib>\n#include <iostream>\n#include <vector>\n"
       "void f(std::vector<int>& v) {\n  try { v.push_back(1); } catch (...) { v.clear(); }\n  ${statement};\n}\n")
  execute_process(COMMAND "${COMPILER}" -std=c++20 -O1 -c x.cpp -o ${object} WORKING_DIRECTORY "${WORK}/symbols" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${AR}" rcs libx.a ${object} WORKING_DIRECTORY "${WORK}/symbols" COMMAND_ERROR_IS_FATAL ANY)
  check("${what}" "${expected}" check_symbols.cmake "-DNM=${NM}" "-DLIBRARIES=${WORK}/symbols/libx.a")
endmacro()

check_library("a quiet library" "" x.cpp.o "")
check_library("one that prints" "x.cpp.o: puts" x.cpp.o "std::puts(\"\")")
check_library("one that prints with streams" "x.cpp.o: std::cerr" x.cpp.o "std::cerr << v.size()")
check_library("one that writes to stderr" "x.cpp.o: stderr" x.cpp.o "std::fputs(\"x\", stderr)")
check_library("one that exits" "x.cpp.o: exit" x.cpp.o "std::exit(3)")
check_library("one that aborts" "x.cpp.o: abort" x.cpp.o "std::abort()")
check_library("one that sets the threads" "omp_set_num_threads, outside" x.cpp.o "omp_set_num_threads(2)")
check_library("the one that may" "" context.cpp.o "omp_set_num_threads(2)")
file(WRITE "${WORK}/symbols/empty.c" "")
execute_process(COMMAND "${COMPILER}" -x c++ -c empty.c -o empty.o WORKING_DIRECTORY "${WORK}/symbols" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${AR}" rcs libempty.a empty.o WORKING_DIRECTORY "${WORK}/symbols" COMMAND_ERROR_IS_FATAL ANY)
check("a library without code" "no symbol of C++ code" check_symbols.cmake "-DNM=${NM}" "-DLIBRARIES=${WORK}/symbols/libempty.a")
check("a library that is not there" "nowhere.a" check_symbols.cmake "-DNM=${NM}" "-DLIBRARIES=${WORK}/nowhere.a")
check("no library" "no library was named" check_symbols.cmake "-DNM=${NM}" "-DLIBRARIES=")

if(failures)
  list(JOIN failures "\n  " text)
  message(FATAL_ERROR "the policy checks do not catch what they are for:\n  ${text}\n")
endif()
message(STATUS "${checks} planted cases, all told apart")
