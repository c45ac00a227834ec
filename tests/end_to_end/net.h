// The net: layers in which, for each template, compute mode and layout, all pairs of property classes that its planner
// accepts occur, and every kind of plan that it makes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/planner/plan/plan.h"
#include "generator/support/error.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {

/// A layer of the net, at sizes, and which of its plans are run. As text: "LAYER | BATCHxHEIGHTxWIDTH | PLANS"; with
/// three axes the sizes are BATCHxDEPTHxHEIGHTxWIDTH.
struct NetLine {
  RandomLayer drawn;
  std::string plans;  // "plan 3": the fourth of each template, in turn where it has fewer; "roll_gemm": all of it
};
/// The line as a file of layers holds it: canonical.
[[nodiscard]] std::string text_of(const NetLine& line);
/// Errors: what is wrong with the line.
[[nodiscard]] Result<NetLine> parse_net_line(std::string_view text);
/// The lines of a file; those that are empty or begin with '#' are passed over. Errors: as above, with the line.
[[nodiscard]] Result<std::vector<NetLine>> read_net_lines(const std::string& path);

/// The plans of a layer's first direction on sm_90a. Errors: the planner's.
[[nodiscard]] Result<std::vector<Plan>> net_plans(const Layer& layer);
/// Of these plans those that the line is run with: the first, which is what is served, and the line's.
[[nodiscard]] std::vector<Plan> plans_to_run(const NetLine& line, const std::vector<Plan>& plans);

/// A template with a compute mode and a layout: "roll_gemm f16 nhwc".
[[nodiscard]] std::string mode_of(const Layer& layer, const Plan& plan);
/// All of them, of the forward templates.
[[nodiscard]] std::set<std::string> all_modes();
/// What the plan is among those of its template: "bulk", "not bulk", "positions 4", and the steps of the fuse chain.
[[nodiscard]] std::vector<std::string> kinds_of(const Layer& layer, const Plan& plan);

/// Which pairs of classes, and which kinds of plans, were seen in each mode.
class Coverage {
 public:
  /// A class of a property: their indices in properties().
  using Class = std::pair<std::size_t, int>;

  void add_pairs(const std::string& mode, const Classes& classes);
  void add_kinds(const std::string& mode, const std::vector<std::string>& kinds);
  /// What these have that was not seen yet.
  [[nodiscard]] std::vector<std::pair<Class, Class>> missing_pairs(const std::string& mode,
                                                                   const Classes& classes) const;
  [[nodiscard]] std::vector<std::string> missing_kinds(const std::string& mode,
                                                       const std::vector<std::string>& kinds) const;
  [[nodiscard]] bool has(const std::string& mode, Class first, Class second) const;

  /// The modes, each with how many pairs and kinds were seen.
  [[nodiscard]] std::map<std::string, std::pair<std::size_t, std::size_t>> counts() const;

 private:
  struct Seen {
    std::vector<bool> pairs;
    std::set<std::string, std::less<>> kinds;
  };
  std::map<std::string, Seen, std::less<>> seen_;
};
/// Adds what a run of the line covers.
void add_line(Coverage& coverage, const NetLine& line, const std::vector<Plan>& plans);

/// Two classes, a mode and a layout at random, and what a template changes that may take them.
[[nodiscard]] Wanted random_wish(std::mt19937_64& random);
/// Layers of such wishes, about a hundred: part `part` of those that the planner is asked about, which nobody runs.
inline constexpr std::uint64_t kQuestionParts = 100;
[[nodiscard]] std::vector<RandomLayer> questions(std::uint64_t part);

/// A layer at its sizes, and one of its plans.
struct DrawnPlan {
  RandomLayer layer;
  Plan plan;
};
/// A random layer that `has` is true of and that this template takes, with one of the template's plans of it. In
/// another direction than forward the layer has this one alone and no fuse chain.
[[nodiscard]] DrawnPlan draw_plan(std::mt19937_64& random, std::string_view template_name,
                                  const std::function<bool(Layer&)>& has, Direction direction = Direction::kForward,
                                  Use use = Use::kRun);

/// "stride_h=2 & padding_w=at the reach".
[[nodiscard]] std::string words(const std::pair<Coverage::Class, Coverage::Class>& pair);

}  // namespace convtgen::testing
