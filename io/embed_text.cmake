# vitrine_embed_text(FILE SYMBOL RESULT): a source that defines `const std::string_view vit::io::SYMBOL`, FILE's text.
function(vitrine_embed_text file symbol result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  set(content "// From ${name}.\n#include <string_view>\n\nnamespace vit::io {\nextern const std::string_view ${symbol};\n")
  string(APPEND content "const std::string_view ${symbol} = R\"~~(${text})~~\";\n}  // namespace vit::io\n")
  file(CONFIGURE OUTPUT ${source} CONTENT "${content}" @ONLY)  # leaves the source alone where nothing changed
  set(${result} ${source} PARENT_SCOPE)
endfunction()
