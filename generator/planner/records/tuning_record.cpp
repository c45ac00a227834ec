#include "generator/planner/records/tuning_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

#include "generator/language/language.h"
#include "generator/layer/directions.h"
#include "generator/planner/plan/layer_parameters.h"
#include "generator/planner/table/templates.h"

namespace convtgen {
namespace {

using Json = nlohmann::json;  // members in alphabetical order

struct ValueJson {
  Json operator()(const TypeName& type) const { return type.spelling; }
  template <typename T>
  Json operator()(const T& value) const {
    return value;
  }
};

Json to_json(const TuningRecord& record) {
  Json measured = Json::array();
  for (const Measurement& each : record.measured) {
    measured.push_back({{"plan", Json::parse(each.plan)}, {"milliseconds", each.milliseconds}});
  }
  return {{"layer", record.layer},
          {"direction", name_of(record.direction)},
          {"chip", record.chip},
          {"architecture", record.architecture},
          {"sizes", {{"batch", record.sizes.batch}, {"extents", record.sizes.extents}}},
          {"versions", {{"convtgen", record.version}, {"format", kRecordFormat}}},
          {"measured", std::move(measured)}};
}

Result<Direction> direction_of(const std::string& name) {
  if (const auto direction = direction_named(name)) {
    return *direction;
  }
  return fail(fmt::format("there is no direction '{}'; there are: {}", name, directions_text(all_directions())));
}

// What to do with a record of another format.
std::string other_format(int format, const Json& versions) {
  const std::string advice = format < kRecordFormat
                                 ? "tune again, or convert it with generator/planner/records/migrate.py of the sources"
                                 : "a newer convtgen reads it";
  return fmt::format("a record of format {}, by convtgen {}; this convtgen reads format {}: {}", format,
                     versions.value("convtgen", "of no known version"), kRecordFormat, advice);
}

// Throws nlohmann's exceptions where members are missing or of another type.
Result<InputSizes> sizes_of(const Json& json) {
  InputSizes sizes{.batch = json.at("batch").get<std::int64_t>()};
  const Json& extents = json.at("extents");
  if (!extents.is_array() || extents.size() != kAxes) {
    return fail(fmt::format("its extents are {}; they should be [depth, height, width]", extents.dump()));
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    sizes.extents[axis] = extents[axis].get<std::int64_t>();
  }
  return sizes;
}

// As sizes_of().
Result<TuningRecord> from_json(const Json& json) {
  if (!json.is_object()) {
    return fail("it is no JSON object");
  }
  const Json& versions = json.at("versions");
  if (const int format = versions.at("format").get<int>(); format != kRecordFormat) {
    return fail(other_format(format, versions));
  }
  TuningRecord record;
  record.layer = json.at("layer").get<std::string>();
  const auto direction = direction_of(json.at("direction").get<std::string>());
  if (!direction) {
    return std::unexpected(direction.error());
  }
  record.direction = *direction;
  const auto layer = parse_layer(record.layer);
  if (!layer) {
    return fail(fmt::format("'{}' is no layer: {}", record.layer, layer.error().front().message));
  }
  if (record_layer(*layer, *direction) != record.layer) {
    return fail(fmt::format("the layer '{}' is not in the form of records, '{}'", record.layer,
                            record_layer(*layer, *direction)));
  }
  record.chip = json.at("chip").get<std::string>();
  record.architecture = json.at("architecture").get<std::string>();
  const auto sizes = sizes_of(json.at("sizes"));
  if (!sizes) {
    return std::unexpected(sizes.error());
  }
  record.sizes = *sizes;
  record.version = versions.at("convtgen").get<std::string>();
  for (const Json& each : json.at("measured")) {
    const double milliseconds = each.at("milliseconds").get<double>();
    if (!(milliseconds > 0) || !std::isfinite(milliseconds)) {
      return fail(fmt::format("a time of {} ms; it must be more than 0", milliseconds));
    }
    const Json& plan = each.at("plan");
    if (const auto known = template_named(plan.at("template").get<std::string>()); !known) {
      return std::unexpected(known.error());
    }
    record.measured.push_back({plan.dump(), milliseconds});
  }
  return record;
}

// `read` may throw what nlohmann does.
template <typename Read>
auto guarded(const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const Json::parse_error&) {
    return fail("it is no JSON");
  } catch (const Json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception.out_of_range.403] key 'chip' not found"
    return fail(std::string(what.substr(what.find("] ") + 2)));
  }
}

// A place in a text that counts lines as the JSON parser goes over them.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  int* line;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    *line += *at == '\n' ? 1 : 0;
    ++at;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
};

struct ElementsOfFile {
  Json records;            // an array
  std::vector<int> lines;  // where each begins
};

Result<ElementsOfFile> elements_of_file(std::string_view text) {
  ElementsOfFile file;
  int line = 1;
  std::string member;
  const auto note_line = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key) {
      member = parsed.get<std::string>();
    }
    const bool begins = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start ||
                        event == Json::parse_event_t::value;
    if (depth == 2 && begins && member == "records") {
      file.lines.push_back(line);
    }
    return true;
  };
  const auto whole = guarded([&]() -> Result<Json> {
    return Json::parse(CountingIterator{text.data(), &line}, CountingIterator{text.data() + text.size(), &line},
                       note_line);
  });
  if (!whole || !whole->is_object() || !whole->contains("records") || !whole->at("records").is_array()) {
    return fail(
        fmt::format("line {}: this is no file of tuning records; that is a JSON object {{\"records\": [...]}}, as "
                    "'convtgen tune --export FILE' writes it",
                    whole ? 1 : line));
  }
  file.records = whole->at("records");
  return file;
}

}  // namespace

std::string plan_json(const Plan& plan) {
  Json parameters = Json::object();
  for (const auto& [name, value] : plan.parameters) {
    if (!is_forward_value(name, value) && !is_flat_value(name, value) && !is_plain_input_value(name, value) &&
        !is_slice(name)) {
      parameters[name] = std::visit(ValueJson{}, value);
    }
  }
  return Json{{"template", plan.template_name}, {"parameters", std::move(parameters)}}.dump();
}

std::optional<std::size_t> find_plan(std::span<const Plan> plans, std::string_view json) {
  const auto found = std::ranges::find(plans, json, plan_json);
  return found == plans.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - plans.begin()));
}

std::string record_layer(const Layer& layer, Direction direction) {
  return canonical_form(in_direction(layer, direction));
}

const Measurement* best_of(const TuningRecord& record) {
  const auto best = std::ranges::min_element(record.measured, {}, &Measurement::milliseconds);
  return best == record.measured.end() ? nullptr : &*best;
}

std::string print_record(const TuningRecord& record) {
  return to_json(record).dump();
}

Result<TuningRecord> parse_record(std::string_view text) {
  return guarded([&] { return from_json(Json::parse(text)); });
}

std::optional<int> record_format(std::string_view text) {
  const auto format =
      guarded([&]() -> Result<int> { return Json::parse(text).at("versions").at("format").get<int>(); });
  return format ? std::optional(*format) : std::nullopt;
}

std::string print_records(std::span<const TuningRecord> records) {
  std::vector<const TuningRecord*> sorted;
  for (const TuningRecord& record : records) {
    sorted.push_back(&record);
  }
  std::ranges::sort(sorted, {}, [](const TuningRecord* record) {
    return std::tuple(record->chip, record->architecture, record->layer, record->direction, print_record(*record));
  });
  std::string lines;
  for (const TuningRecord* record : sorted) {
    lines += fmt::format("{}{}\n", lines.empty() ? "" : ",", print_record(*record));
  }
  return fmt::format("{{\"records\":[\n{}]}}\n", lines);
}

Result<std::vector<TuningRecord>> parse_records(std::string_view text) {
  const auto file = elements_of_file(text);
  if (!file) {
    return std::unexpected(file.error());
  }
  std::vector<TuningRecord> records;
  for (const Json& each : file->records) {
    auto record = guarded([&] { return from_json(each); });
    if (!record) {
      return fail(fmt::format("line {}: record {}: {}", file->lines[records.size()], records.size() + 1,
                              record.error().message));
    }
    records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace convtgen
