"""What the search is to have run: so many layers of each class. A class is a cell (direction, template, mode, layout), or
of a cell the layers with one property. Besides these there are classes across cells, of many layers."""

import dataclasses

from draw import CELLS, PROPERTIES, TEMPLATES

OF_A_CLASS = 40
PATIENCE = 100  # drawn layers, one after the other, that the planner serves by another template: the class is given up


@dataclasses.dataclass(frozen=True)
class Goal:
    cell: object  # a Cell; None: any
    wanted: str = ""  # of PROPERTIES; "": any
    layers: int = OF_A_CLASS
    mode: str = ""  # of goals across cells
    direction: str = ""

    def __str__(self):
        of = str(self.cell) if self.cell else f"all {self.direction or self.mode}"
        return f"{of}: {self.wanted}" if self.wanted else of


OF_A_CELL = ("", *PROPERTIES)
GOALS = [Goal(cell, wanted) for cell in CELLS for wanted in OF_A_CELL]
GOALS += [Goal(None, layers=4_000, mode="f16"), Goal(None, "strided", 1_500, direction="grad_input")]
NUMBERS = {str(goal): number for number, goal in enumerate(GOALS)}


def cell_of(case, template):
    """None where the template is not in the table: what the planner would choose by no legal layer."""
    known = (case.direction(), template, case.property("compute"), case.property("layout"))
    return next((cell for cell in CELLS if (cell.direction, cell.template, cell.mode, cell.layout) == known), None)


def goals_of(case, template):
    """The numbers of the goals that a case counts for where this template serves it."""
    cell = cell_of(case, template)
    layer = case.layer()
    return [number for number, goal in enumerate(GOALS) if cell and goal.cell in (cell, None)
            and (not goal.wanted or PROPERTIES[goal.wanted](layer))
            and goal.mode in ("", cell.mode) and goal.direction in ("", cell.direction)]


def aims(counts, misses, chance, most, may_aim):
    """The numbers of up to `most` goals that are the farthest from being reached, of those that `may_aim` takes. Of goals
    that are about as far random ones, so that workers take different ones."""
    def distance(number):
        return int(10 * counts[number] / GOALS[number].layers), chance.random()

    open_goals = [number for number, goal in enumerate(GOALS) if misses[number] < PATIENCE and may_aim(goal)]
    return sorted(open_goals, key=distance)[:most]


def cell_for(goal, chance):
    """A cell to draw a layer for."""
    return goal.cell or chance.choice([cell for cell in CELLS if goal.mode in ("", cell.mode)
                                       and goal.direction in ("", cell.direction)])


def as_json(counts, misses):
    return {str(goal): {"layers": counts[number], "misses": misses[number]} for number, goal in enumerate(GOALS)}


def add_earlier(earlier, counts, misses):
    """Adds the counts of an earlier search. Goals that are no more are passed over."""
    for name, of in earlier.items():
        if name in NUMBERS:
            counts[NUMBERS[name]] += of["layers"]
            misses[NUMBERS[name]] = max(misses[NUMBERS[name]], of["misses"])


_SHORT = {"odd channels": "odd c.", "odd width": "odd w."}  # in the table's head


def _mark(counts, misses, number):
    """"57"; "12-" where it was given up; "-" where the planner serves none."""
    given_up = "-" if misses[number] >= PATIENCE and counts[number] < GOALS[number].layers else ""
    return f"{counts[number] or ('' if given_up else 0)}{given_up}"


def table(counts, misses):
    """Lines: of each cell the layers, and those with each property."""
    direction = None
    for first, cell in enumerate(CELLS):
        if cell.direction != direction:
            direction = cell.direction
            yield f"{direction:<36}{'layers':>8}" + "".join(f"{_SHORT.get(name, name):>8}" for name in PROPERTIES)
        marks = [_mark(counts, misses, len(OF_A_CELL) * first + i) for i in range(len(OF_A_CELL))]
        yield f"{cell.template:<24} {cell.mode:<5} {cell.layout:<5}" + "".join(f"{mark:>8}" for mark in marks)


def summary(counts, misses):
    """Lines: layers by direction, goals across cells, and how many classes have enough layers."""
    for direction in TEMPLATES:
        cells = [number for number, goal in enumerate(GOALS) if goal.cell and goal.cell.direction == direction and not goal.wanted]
        yield f"{direction}: {sum(counts[number] for number in cells)} layers"
    for number, goal in enumerate(GOALS):
        if not goal.cell:
            yield f"{goal}: {counts[number]} of {goal.layers} layers"
    classes = [number for number, goal in enumerate(GOALS) if goal.cell]
    enough = [number for number in classes if counts[number] >= GOALS[number].layers]
    given_up = [number for number in classes if number not in set(enough) and misses[number] >= PATIENCE]
    none = [number for number in given_up if not counts[number]]
    few = [number for number in given_up if counts[number]]
    short = [number for number in classes if number not in {*enough, *given_up}]
    yield (f"{len(classes)} classes: {len(enough)} have {OF_A_CLASS} layers or more; the planner serves {len(none)} by no drawn "
           f"layer (-), and {len(few)} by few (12-); {len(short)} have fewer and were not given up")
