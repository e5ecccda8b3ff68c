// What a data set calls its classes -> a model's labels.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/labels.hpp"

namespace vit::io {

/// What a class and a label have in common.
enum class MatchedBy {
  name,        ///< the label as it is
  form,        ///< the label, but for upper case and lower case, spaces, "_" and "-"
  synonym,     ///< in that form one of several that the label has, "tabby, tabby cat"
  wordnet_id,  ///< the id that the label begins with, "n02123045 tabby, tabby cat"
  index,       ///< the label's index, "7" or "007"
  map,         ///< somebody said so
};

/// "name", "form", "synonym", "WordNet id", "index", "label map"
std::string_view to_string(MatchedBy matched);

struct MappedClass {
  std::string name;        ///< the data set's
  std::int64_t index = 0;  ///< the model's
  MatchedBy by = MatchedBy::name;
};

/// By class: a label, or an index as text.
using LabelMap = std::map<std::string, std::string>;

/// One for each class, in their order. A class that `map` names is what it says, even where others are the
/// same. The others are mapped by the first kind of match that finds a label; by index only where that holds
/// for all of them. Throws Error(invalid_argument) that names every doubtful class at once, for classes that
/// several labels match or none, two classes of one label, and classes of which some match by name and some
/// by index. `source` begins the message.
std::vector<MappedClass> map_labels(std::span<const std::string> classes, const Labels& labels,
                                    const LabelMap& map, std::string_view source);

/// A CSV or TSV file of lines CLASS,LABEL; the first may be a header. Throws Error(invalid_argument).
LabelMap read_label_map(const std::string& file);

}  // namespace vit::io
