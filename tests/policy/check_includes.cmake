# cmake -DROOT=<tree> -P check_includes.cmake: reads every #include of vit/, io/, export/ and apps/ and fails where a folder
# includes what is another's business. Each rule: what is included (regex), who may (regex over the file's path), and
# whether somebody must: a rule that nothing matches any more checks nothing, and fails too.
cmake_minimum_required(VERSION 3.25)
set(RULES
  # included                                          allowed in                              use
  "^(oneapi/dnnl/|dnnl)"                              "^vit/backend/"                         needed
  "^omp[.]h$"                                         "^vit/backend/"                         optional
  "^opencv2/"                                         "^io/.*[.]cpp$|^io/opencv[.]hpp$"       needed
  "^(png|jpeglib|gif_lib|tiff|tiffio|zlib)[.]h$"      "^io/.*[.]cpp$"                         needed
  "^webp/"                                            "^io/.*[.]cpp$"                         needed
  "^nlohmann/"                                        "^(io|apps)/.*[.]cpp$|^io/json[.]hpp$"  needed
  "^zip[.]h$"                                         "^io/.*[.]cpp$"                         needed
  "^curl/"                                            "^io/http_client[.]cpp$"                needed
  "^openssl/"                                         "^io/.*[.]cpp$"                         needed
  "^(onnx|google/protobuf)/"                          "^export/.*[.]cpp$|^export/onnx_proto[.]hpp$"  needed
  "^CLI/"                                             "^apps/"                                needed
  "^vit/backend/"                                     "^vit/"                                 needed
  "^vit/"                                             "^(vit|io|export|apps)/"                needed
  "^io/"                                              "^(io|apps)/"                           needed
  "^export/"                                          "^(export|apps)/"                       needed
  "^apps/"                                            "^apps/"                                needed
  "^tests/"                                           "^$"                                    optional
)
set(FOLDERS vit io export apps)

set(problems "")
set(used "")  # numbers of the rules that something matched
set(include_count 0)
foreach(folder ${FOLDERS})
  file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/${folder}/*.cpp" "${ROOT}/${folder}/*.hpp" "${ROOT}/${folder}/*.h")
  if(NOT files)
    list(APPEND problems "${folder}/: there is no source file to look at")
  endif()
  foreach(file ${files})
    file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line ${lines})
      if(NOT line MATCHES "include[ \t]*[<\"]([^>\"]+)[>\"]")
        list(APPEND problems "${file}: cannot read: ${line}")
        continue()
      endif()
      set(included "${CMAKE_MATCH_1}")
      math(EXPR include_count "${include_count} + 1")
      if(included MATCHES "[.][.]/")
        list(APPEND problems "${file} includes ${included}: paths start at the root of the tree")
      endif()
      set(rules ${RULES})
      set(number 0)
      while(rules)
        list(POP_FRONT rules what allowed use)
        math(EXPR number "${number} + 1")
        if(included MATCHES "${what}")
          list(APPEND used ${number})
          if(NOT file MATCHES "${allowed}")
            list(APPEND problems "${file} includes ${included}, which only ${allowed} may")
          endif()
        endif()
      endwhile()
    endforeach()
  endforeach()
endforeach()

set(rules ${RULES})
set(number 0)
while(rules)
  list(POP_FRONT rules what allowed use)
  math(EXPR number "${number} + 1")
  if(use STREQUAL "needed" AND NOT number IN_LIST used)
    list(APPEND problems "nothing includes ${what}: the rule about it checks nothing any more")
  endif()
endwhile()

if(problems)
  list(JOIN problems "\n  " text)
  message(FATAL_ERROR "include rules broken:\n  ${text}\n")
endif()
message(STATUS "${include_count} includes looked at, all where they belong")
