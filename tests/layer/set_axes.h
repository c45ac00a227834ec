// The axes of a layer, one property at a time.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "generator/layer/layer.h"

namespace convtgen {

/// Gives the last axes these values of a property: {3, 7} is a height of 3 and a width of 7.
template <typename T>
void set_axes(Layer& layer, T Axis::* property, std::initializer_list<std::type_identity_t<T>> values) {
  std::size_t axis = kAxes - values.size();
  for (const T& value : values) {
    layer.axes.at(axis++).*property = value;
  }
}

}  // namespace convtgen
