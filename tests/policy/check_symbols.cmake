# cmake -DNM=<nm> -DLIBRARIES=<a;b> -P check_symbols.cmake: a library of ours neither prints, nor ends the process, nor changes
# the host's global state. Reads the symbols that its object files ask others for. What this cannot see: what oneDNN,
# OpenCV and the picture libraries do by themselves.
cmake_minimum_required(VERSION 3.25)
set(FORBIDDEN
  # prints
  "printf" "vprintf" "puts" "putchar" "perror" "__printf_chk" "__vprintf_chk" "stdout" "stderr" "stdin"
  "std::cout" "std::cerr" "std::clog" "std::cin" "fmt::.*::v?print(ln)?[(].*"
  # ends the process
  "abort" "exit" "_exit" "_Exit" "quick_exit" "raise" "kill" "std::abort[(][)]" "std::exit[(].*"
  # changes the host
  "setlocale" "std::locale::global[(].*" "signal" "sigaction" "setenv" "putenv" "unsetenv" "chdir" "umask" "srand"
  "omp_set_dynamic" "omp_set_nested" "omp_set_max_active_levels" "cv::setNumThreads[(].*" "cv::redirectError[(].*"
  "feenableexcept" "fesetround" "fesetenv")
list(JOIN FORBIDDEN "|" forbidden)
# One file sets oneDNN's threads, and puts back what it found (ThreadScope).
set(THREADS_SET_IN "context[.]cpp[.]o")

set(problems "")
foreach(library ${LIBRARIES})
  execute_process(COMMAND "${NM}" -A -C --undefined-only "${library}" OUTPUT_VARIABLE output ERROR_VARIABLE errors
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${NM} ${library}: ${errors}")
  endif()
  # A library of C++ code asks for at least the unwinder's personality; otherwise nothing was looked at.
  if(NOT output MATCHES " U __gxx_personality_v0")
    list(APPEND problems "${library}: no symbol of C++ code in it: was the right file looked at?")
  endif()
  string(REPLACE ";" "," output "${output}")
  string(REPLACE "[" "(" output "${output}")  # CMake keeps what is in brackets together
  string(REPLACE "]" ")" output "${output}")
  string(REPLACE "\n" ";" lines "${output}")
  foreach(line ${lines})
    if(line MATCHES ":([^:]*[.]o): +U (.*)$")
      set(object "${CMAKE_MATCH_1}")
      set(symbol "${CMAKE_MATCH_2}")
      if(symbol MATCHES "^(${forbidden})$")
        list(APPEND problems "${library}, ${object}: ${symbol}")
      elseif(symbol STREQUAL "omp_set_num_threads" AND NOT object MATCHES "^${THREADS_SET_IN}$")
        list(APPEND problems "${library}, ${object}: ${symbol}, outside of the scope that puts it back")
      endif()
    endif()
  endforeach()
endforeach()
if(NOT LIBRARIES)
  list(APPEND problems "no library was named")
endif()
if(problems)
  list(JOIN problems "\n  " text)
  message(FATAL_ERROR "symbols that a library must not use:\n  ${text}\n")
endif()
message(STATUS "looked at ${LIBRARIES}")
