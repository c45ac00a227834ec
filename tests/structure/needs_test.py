"""What needs.py finds."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import needs  # noqa: E402

LAYOUT = """#pragma once
constexpr int kRows = 3;
constexpr int kRowBytes = 16;
struct Tile {
  int first;
};
__device__ inline int row_of(int i) {
  return i;
}
"""
SHARED = """// Rows. Not kRowBytes, which a comment names.
#pragma once

#include "layout.h"

#include "device/one.h"

constexpr int kOwn = 2 * kRows;
__device__ __forceinline__ int last_row(const Tile& tile) {
  return row_of(tile.first) + kOwn + one();
}
"""
DEVICE = """#pragma once
__device__ inline int one() {
  return 1;
}
"""


class NeedsTest(unittest.TestCase):
    def tree(self, shared):
        folder = pathlib.Path(tempfile.mkdtemp())
        for path, text in {"shift/layout.h": LAYOUT, "shift/shift.cu": "", "forward_gemm/rows.h": shared,
                           "device/one.h": DEVICE}.items():
            (folder / "templates" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "templates" / path).write_text(text)
        return folder

    def test_names_of_the_template_and_no_own_ones_are_needed(self):
        files = {"shift/layout.h": LAYOUT, "forward_gemm/rows.h": SHARED, "device/one.h": DEVICE}
        self.assertEqual(needs.needs_of(files, "forward_gemm/rows.h"), ["kRows", "row_of()", "Tile"])

    def test_a_list_that_lacks_a_name_is_a_failure_and_is_written(self):
        folder = self.tree(SHARED.replace("#pragma", "// Needs: kRows, Tile\n#pragma", 1))
        self.assertEqual(needs.main(folder, False), 1)
        self.assertEqual(needs.main(folder, True), 0)
        self.assertIn("// Needs: kRows, row_of(), Tile\n#pragma once", (folder / "templates/forward_gemm/rows.h").read_text())
        self.assertEqual(needs.main(folder, False), 0)

    def test_a_list_with_a_name_that_is_gone_is_a_failure(self):
        folder = self.tree(SHARED.replace("#pragma", "// Needs: kGone, kRows, row_of(), Tile\n#pragma", 1))
        self.assertEqual(needs.main(folder, False), 1)

    def test_long_lists_are_read_whole(self):
        names = [f"kSomeLongName{i}" for i in range(20)]
        text = needs.with_block("// Head.\n#pragma once\n", names)
        self.assertEqual(needs.with_block(text, names), text)
        self.assertEqual(needs.with_block(text, []), "// Head.\n#pragma once\n")


if __name__ == "__main__":
    unittest.main()
