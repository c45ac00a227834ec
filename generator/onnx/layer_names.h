// Names of nodes as names of layers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace convtgen::onnx {

/// Gives each node a name that the layer language takes, and each another one.
class LayerNames {
 public:
  /// The node's name with "_" for other characters than letters, digits and "_" ("/up/ConvTranspose" is
  /// "up_ConvTranspose"), "conv_transpose" where nothing is left; with a number where it is taken.
  [[nodiscard]] std::string name_for(std::string_view node);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> counts_;
};

}  // namespace convtgen::onnx
