"""generator/planner/records/migrate.py makes records of format 4 that name the same plans, and that convtgen takes."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE.parents[1] / "generator" / "planner" / "records" / "migrate.py"
OLD = HERE / "records_of_format_1.json"
CONVTGEN = None  # the program


def migrate(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True)


# Names since format 3 and those before, and what every plan of shift_gemm had that is not one of f32x3_gemm.
NAMES = {"thread_positions": "run", "block_n": "columns", "adjacent_channels": "channel_run", "block_k": "chunk",
         "staged_epilogue": "exchange", "ping_pong": "in_turn"}
RENAMED = {"direct": {"block_k": "chunk"},
           "halo_gemm": {"prefetch_stages": "ahead", "ping_pong": "in_turn", "fused_phases": "joined", "block_n": "columns",
                         "adjacent_channels": "channel_run", "block_k": "chunk"},
           "roll_gemm": {"staged_epilogue": "exchange", "thread_positions": "run", "block_n": "columns",
                         "block_k": "chunk"}}
GONE = {"split": False, "ahead": True, "add_rows": 0}


def by_old_names(plan, before):
    """The plan as it was, if it is of a template whose parameters have new names."""
    if before["template"] in RENAMED:
        names = RENAMED[before["template"]]
        parameters = {names.get(name, name): value for name, value in plan["parameters"].items()}
        return {"template": plan["template"], "parameters": parameters}
    if before["template"] != "shift_gemm":
        return plan
    parameters = {NAMES.get(name, name): value for name, value in plan["parameters"].items()}
    return {"template": plan["template"], "parameters": {**parameters, **GONE}}


class MigrateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "records.json"
        self.file.write_bytes(OLD.read_bytes())

    def tune(self, *arguments):
        environment = {**os.environ, "CONVTGEN_CACHE_DIR": str(self.folder / "store")}
        return subprocess.run([CONVTGEN, "tune", *arguments], capture_output=True, text=True, env=environment)

    def refused(self, *arguments):
        """The words for a call that must fail."""
        done = migrate(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertTrue(done.stderr.endswith("; nothing was written\n"), done.stderr)
        return done.stderr

    def test_each_record_names_the_plans_that_it_named(self):
        self.assertEqual(migrate(self.file).returncode, 0)
        before = json.loads(OLD.read_text())["records"]
        after = json.loads(self.file.read_text())["records"]
        self.assertEqual([len(each["measured"]) for each in before], [len(each["measured"]) for each in after])
        for old, new in zip(before, after):
            self.assertEqual(old["versions"], {"convtgen": "0.1.0", "format": 1})
            self.assertEqual(new.pop("versions"), {"convtgen": "0.1.0", "format": 4})
            sizes = old.pop("sizes")
            self.assertEqual(new.pop("sizes"), {"batch": sizes["batch"], "extents": [1, sizes["height"], sizes["width"]]})
            for before, measured in zip(old["measured"], new["measured"]):
                self.assertIs(measured["plan"]["parameters"].pop("weight_channels_last"), False)
                self.assertEqual(by_old_names(measured.pop("plan"), before["plan"]), before.pop("plan"))
            del old["versions"]
            self.assertEqual(old, new)

    def test_split_plans_are_of_f32x3_gemm(self):
        records = json.loads(OLD.read_text())
        plan = next(each["plan"] for record in records["records"] for each in record["measured"]
                    if each["plan"]["template"] == "shift_gemm")
        plan["parameters"].update({"split": True, "ahead": False, "add_rows": 3, "exchange": False, "Element": "float"})
        old = dict(plan["parameters"])
        self.file.write_text(json.dumps(records))
        self.assertEqual(migrate(self.file).returncode, 0)
        new = next(each["plan"] for record in json.loads(self.file.read_text())["records"] for each in record["measured"]
                   if each["plan"]["template"] == "f32x3_gemm")["parameters"]
        for name, was in (("prefetch", "ahead"), ("promote_rows", "add_rows"), ("block_k", "chunk"), ("block_n", "columns"),
                          ("thread_positions", "run"), ("adjacent_channels", "channel_run"), ("store", "store")):
            self.assertEqual(new.pop(name), old.pop(was))
        self.assertEqual(new.pop("weight_channels_last"), False)
        for name in ("Element", "type", "split", "exchange", "in_turn", "cluster"):
            del old[name]
        self.assertEqual(new, old)

    def test_split_gradients_of_weights_are_of_the_templates_that_they_were_merged_into(self):
        before = {"f32x3_grad_weight": {"type": 0, "shared_totals": True, "scan_slices": 8},
                  "f32x3_grad_weight_pixels": {"type": 0, "chunks": 2, "chunk_images": 4, "scan_slices": 8},
                  "grad_weight_gemm": {"type": 2, "promote_stages": 9, "store": 1},
                  "grad_weight_pixels": {"type": 1, "promote_stages": 0, "store": 1},
                  "grad_weight_rows": {"type": 1}}
        record = json.loads(OLD.read_text())["records"][0]
        record["versions"]["format"] = 3
        record["sizes"] = {"batch": 1, "extents": [1, 2, 3]}
        record["measured"] = [{"milliseconds": 1, "plan": {"template": name, "parameters": values}}
                              for name, values in before.items()]
        self.file.write_text(json.dumps({"records": [record]}))
        self.assertEqual(migrate(self.file).returncode, 0)
        after = json.loads(self.file.read_text())["records"][0]
        self.assertEqual(after["versions"]["format"], 4)
        self.assertEqual(
            [(each["plan"]["template"], each["plan"]["parameters"]) for each in after["measured"]],
            [("grad_weight_gemm", {"Word": "float", "promote_stages": 0, "splits": False, "store": 1,
                                   **before["f32x3_grad_weight"]}),
             ("grad_weight_pixels", {"promote_stages": 0, "store": 1, **before["f32x3_grad_weight_pixels"]}),
             ("grad_weight_gemm", {"Word": "unsigned int", "scan_slices": 1, "shared_totals": False, "splits": False,
                                   **before["grad_weight_gemm"]}),
             ("grad_weight_pixels", {"chunk_images": 0, "chunks": 1, "scan_slices": 1, "shared_totals": False,
                                     **before["grad_weight_pixels"]}),
             ("grad_weight_rows", {"type": 1, "splits": False})])

    def test_convtgen_refuses_the_old_file_and_takes_the_new_one(self):
        refused = self.tune("--import", self.file)
        self.assertEqual(refused.returncode, 1)
        self.assertEqual(
            refused.stderr,
            f"convtgen: error: {self.file}: line 2: record 1: a record of format 1, by convtgen 0.1.0; this convtgen reads "
            "format 4: tune again, or convert it with generator/planner/records/migrate.py of the sources\n")
        self.assertEqual(migrate(self.file).returncode, 0)
        again = self.folder / "again.json"
        taken = self.tune("--import", self.file, "--export", again)
        self.assertEqual((taken.returncode, taken.stderr), (0, ""))
        self.assertIn(": 3 of 3 records taken\n", taken.stdout)
        self.assertEqual(again.read_bytes(), self.file.read_bytes())

    def test_a_new_file_stays_as_it_is(self):
        self.assertEqual(migrate(self.file).returncode, 0)
        laid_out = json.dumps(json.loads(self.file.read_text()), indent=1)
        self.file.write_text(laid_out)
        self.assertEqual(migrate(self.file).returncode, 0)
        self.assertEqual(self.file.read_text(), laid_out)

    def test_with_an_output_the_file_stays_as_it_is(self):
        output = self.folder / "new.json"
        self.assertEqual(migrate(self.file, "--output", output).returncode, 0)
        self.assertEqual(self.file.read_bytes(), OLD.read_bytes())
        self.assertEqual(migrate(self.file).returncode, 0)
        self.assertEqual(output.read_bytes(), self.file.read_bytes())
        self.assertEqual(migrate(output, "-o", self.file).returncode, 0)
        self.assertEqual(output.read_bytes(), self.file.read_bytes())

    def test_other_files_are_refused(self):
        for text, words in (
                ("layer a {}", "no file of tuning records"),
                ("[]", "no file of tuning records"),
                ('{"records": {}}', "no file of tuning records"),
                ('{"records": [1]}', "record 1: it names no format"),
                (OLD.read_text().replace('"format":1', '"format":5', 1), "record 1: it is of format 5; this script makes "),
                (OLD.read_text().replace('"sizes"', '"size"', 1), "record 1: it is no record of format 1: "),
                ("\udcff", "")):
            self.file.write_bytes(text.encode("utf-8", "surrogateescape"))
            self.assertIn(words, self.refused(self.file))
            self.assertEqual(self.file.read_bytes(), text.encode("utf-8", "surrogateescape"))
        self.assertIn("No such file or directory", self.refused(self.folder / "none.json"))
        self.assertIn("Is a directory", self.refused(self.folder))
        self.assertIn("No such file or directory", self.refused(OLD, "-o", self.folder / "no" / "folder"))
        self.assertEqual(sorted(self.folder.iterdir()), [self.file])

    def test_it_says_what_it_is_for(self):
        told = migrate("--help")
        self.assertEqual(told.returncode, 0)
        self.assertIn("from format 1, 2 or 3 to format 4", told.stdout)


if __name__ == "__main__":
    CONVTGEN = sys.argv.pop(1)
    unittest.main()
