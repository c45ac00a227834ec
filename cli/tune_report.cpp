#include "cli/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/terminal.h"

namespace convtgen::cli {
namespace {

using Json = nlohmann::ordered_json;

/// How a table shows the value of a parameter; nothing for lists and types, which say nothing to people.
std::optional<std::string> shown(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return fmt::format("{}", *number);
  }
  if (const auto* flag = std::get_if<bool>(&value)) {
    return *flag ? "yes" : "no";
  }
  return std::nullopt;
}

std::vector<const Plan*> plans_of(const Tuned& tuned) {
  std::vector<const Plan*> plans;
  for (const Candidate& each : tuned.candidates) {
    plans.push_back(&each.plan);
  }
  return plans;
}

Json milliseconds_or_null(const std::optional<double>& seconds) {
  return seconds ? Json(*seconds * 1e3) : Json();
}

Json to_json(const Candidate& candidate, bool best) {
  Json json = Json::parse(plan_json(candidate.plan));  // template and parameters
  json["summary"] = candidate.plan.summary;
  json["predicted_milliseconds"] = milliseconds_or_null(candidate.plan.predicted_seconds);
  json["milliseconds"] = candidate.problem.empty() ? Json(candidate.milliseconds) : Json();
  json["best"] = best;
  json["measured_before"] = candidate.recorded;
  json["problem"] = candidate.problem.empty() ? Json() : Json(candidate.problem);
  return json;
}

Json to_json(const TuneMemory& memory) {
  return {{"device", memory.device()}, {"host", memory.host}};
}

Json to_json(const TunedLayer& layer) {
  const Problem& problem = layer.job.problem;
  const InputSizes& sizes = layer.job.sizes;
  Json json{{"name", layer.name},
            {"layer", record_layer(problem.layer, problem.direction)},
            {"direction", std::string(name_of(problem.direction))},
            {"architecture", problem.target.architecture},
            {"sizes", {{"batch", sizes.batch}, {"extents", sizes.extents}}},
            {"memory", layer.memory ? to_json(*layer.memory) : Json()},
            {"problem", layer.tuned ? Json() : Json(layer.tuned.error().message)},
            {"skipped", !layer.tuned && layer.tuned.error().status == Status::kOutOfMemory},
            {"candidates", Json::array()}};
  for (std::size_t i = 0; layer.tuned && i < layer.tuned->candidates.size(); ++i) {
    json["candidates"].push_back(to_json(layer.tuned->candidates[i], i == layer.tuned->best));
  }
  return json;
}

}  // namespace

std::string differences_of(const Plan& plan, const std::vector<const Plan*>& all) {
  std::string text;
  for (const auto& [name, value] : plan.parameters) {
    const auto differs = [&](const Plan* other) {
      const auto its = other->parameters.find(name);
      return other->template_name == plan.template_name && (its == other->parameters.end() || its->second != value);
    };
    if (const auto words = shown(value); words && std::ranges::any_of(all, differs)) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, *words);
    }
  }
  return text.empty() ? plan.summary : text;
}

std::string tune_table(const Tuned& tuned) {
  const std::vector<const Plan*> plans = plans_of(tuned);
  const bool predicted =
      std::ranges::any_of(plans, [](const Plan* plan) { return plan->predicted_seconds.has_value(); });
  std::size_t width = std::string_view("template").size();
  for (const Plan* plan : plans) {
    width = std::max(width, plan->template_name.size());
  }
  const auto line = [&](char mark, const std::string& measured, const std::string& guess, const std::string& name,
                        const std::string& words) {
    return fmt::format("  {} {:>9}  {}{:<{}}  {}\n", mark, measured, predicted ? fmt::format("{:>9}  ", guess) : "",
                       name, width, words);
  };
  std::string text = line(' ', "measured", "predicted", "template", "plan");
  for (std::size_t i = 0; i < tuned.candidates.size(); ++i) {
    const Candidate& each = tuned.candidates[i];
    const auto& guess = each.plan.predicted_seconds;
    text += line(i == tuned.best ? '*' : ' ', each.problem.empty() ? seconds_text(each.milliseconds / 1e3) : "-",
                 guess ? seconds_text(*guess) : "-", each.plan.template_name,
                 differences_of(each.plan, plans) + (each.recorded ? " (measured before)" : ""));
  }
  return text;
}

std::string memory_line(const Device& device, const std::vector<TunedLayer>& layers) {
  const auto bytes = [](const TunedLayer& layer) { return layer.memory ? layer.memory->device() : -1; };
  const auto most = std::ranges::max_element(layers, {}, bytes);
  if (most == layers.end() || !most->memory) {
    return "";
  }
  const auto text = [](std::int64_t count) { return bytes_text(static_cast<double>(count)); };
  const auto free = device.free_memory();
  return fmt::format("tuning takes up to {} on {}{}, and {} of main memory: layer '{}'\n", text(most->memory->device()),
                     device.name(),
                     free ? fmt::format(", where {} are free", text(static_cast<std::int64_t>(*free))) : "",
                     text(most->memory->host), most->name);
}

std::string tune_json(const std::string& device, const std::vector<TunedLayer>& layers) {
  Json json{{"device", device}, {"layers", Json::array()}};
  for (const TunedLayer& layer : layers) {
    json["layers"].push_back(to_json(layer));
  }
  return json.dump(1) + "\n";
}

}  // namespace convtgen::cli
