#!/usr/bin/env python3
"""Brings a file of tuning records from format 1, 2 or 3 to format 4, so that its measurements serve on.

Format 2 names the sizes by axes ([depth, height, width]), and every plan has the order in which it reads the weights.
Format 3 has the template f32x3_gemm for what was shift_gemm with `split`, and new names of the parameters of both.
Format 4 has no f32x3_grad_weight and f32x3_grad_weight_pixels: grad_weight_gemm and grad_weight_pixels split values too.
Each plan stays the same kernel. The version that measured it ("versions": "convtgen") stays too.
"""
import argparse
import json
import os
import sys
import tempfile

NEW = 4

# Format 3: the parameters of a template, by their names in format 2; None where there is no such parameter any more.
RENAMED = {
    "direct": {"chunk": "block_k"},
    "halo_gemm": {
        "columns": "block_n",
        "channel_run": "adjacent_channels",
        "chunk": "block_k",
        "ahead": "prefetch_stages",
        "in_turn": "ping_pong",
        "joined": "fused_phases",
    },
    "roll_gemm": {
        "run": "thread_positions",
        "columns": "block_n",
        "chunk": "block_k",
        "exchange": "staged_epilogue",
    },
    "shift_gemm": {
        "run": "thread_positions",
        "columns": "block_n",
        "channel_run": "adjacent_channels",
        "chunk": "block_k",
        "exchange": "staged_epilogue",
        "in_turn": "ping_pong",
        "split": None,
        "ahead": None,
        "add_rows": None,
    },
    "f32x3_gemm": {
        "run": "thread_positions",
        "columns": "block_n",
        "channel_run": "adjacent_channels",
        "chunk": "block_k",
        "ahead": "prefetch",
        "add_rows": "promote_rows",
        "Element": None,
        "type": None,
        "split": None,
        "exchange": None,
        "in_turn": None,
        "cluster": None,
    },
}

# Format 4: templates that take the place of others, and what their plans have besides, with the value of those before.
MERGED = {"f32x3_grad_weight": "grad_weight_gemm", "f32x3_grad_weight_pixels": "grad_weight_pixels"}
ADDED = {
    "f32x3_grad_weight": {"Word": "float", "promote_stages": 0, "splits": False, "store": 1},
    "f32x3_grad_weight_pixels": {"promote_stages": 0, "store": 1},
    "grad_weight_gemm": {"Word": "unsigned int", "scan_slices": 1, "shared_totals": False, "splits": False},
    "grad_weight_rows": {"splits": False},
    "grad_weight_pixels": {"chunk_images": 0, "chunks": 1, "scan_slices": 1, "shared_totals": False},
}


class Refused(Exception):
    pass


def format_of(record):
    try:
        return record["versions"]["format"]
    except (KeyError, TypeError):
        raise Refused("it names no format") from None


def to_format_2(record):
    sizes = record["sizes"]
    record["sizes"] = {"batch": sizes["batch"], "extents": [1, sizes["height"], sizes["width"]]}
    for each in record["measured"]:
        each["plan"]["parameters"]["weight_channels_last"] = False


def to_format_3(record):
    for each in record["measured"]:
        plan = each["plan"]
        if plan["template"] == "shift_gemm" and plan["parameters"]["split"]:
            plan["template"] = "f32x3_gemm"
        names = RENAMED.get(plan["template"], {})
        plan["parameters"] = {
            names.get(name, name): value for name, value in plan["parameters"].items() if names.get(name, name) is not None
        }


def to_format_4(record):
    for each in record["measured"]:
        plan = each["plan"]
        plan["parameters"].update(ADDED.get(plan["template"], {}))
        plan["template"] = MERGED.get(plan["template"], plan["template"])


STEPS = {1: to_format_2, 2: to_format_3, 3: to_format_4}


def migrate_record(record):
    """Changes a record in place; one of the new format stays as it is."""
    found = format_of(record)
    if found != NEW and found not in STEPS:
        raise Refused(f"it is of format {found}; this script makes format {NEW} of formats {min(STEPS)} to {max(STEPS)}")
    for step in range(found, NEW):
        try:
            STEPS[step](record)
        except (KeyError, TypeError, AttributeError) as error:
            raise Refused(f"it is no record of format {step}: {error!r}") from None
    record["versions"]["format"] = NEW


def migrate(text):
    """The text of a file in the new format, as 'convtgen tune --export' writes it."""
    try:
        records = json.loads(text)["records"]
        if not isinstance(records, list):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise Refused('this is no file of tuning records; that is a JSON object {"records": [...]}') from None
    formats = []
    for number, record in enumerate(records, 1):
        try:
            formats.append(format_of(record))
            migrate_record(record)
        except Refused as refused:
            raise Refused(f"record {number}: {refused}") from None
    if all(each == NEW for each in formats):
        return text
    lines = [json.dumps(each, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for each in records]
    return '{"records":[\n' + "\n,".join(lines) + "\n]}\n"


def write(path, text):
    """Written next to its place, and then renamed, so that a file is never half written."""
    descriptor, staged = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)))
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(staged, os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644)
        os.replace(staged, path)
    except BaseException:
        os.unlink(staged)
        raise


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="as 'convtgen tune --export FILE' wrote it; a file of format 4 is left as it is")
    parser.add_argument("-o", "--output", metavar="FILE", help="written instead of the file itself")
    options = parser.parse_args()
    try:
        with open(options.file, encoding="utf-8", newline="") as file:
            text = file.read()
        migrated = migrate(text)
        if options.output or migrated != text:
            write(options.output or options.file, migrated)
    except (Refused, OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else error
        sys.exit(f"{parser.prog}: {options.file}: {words}; nothing was written")


if __name__ == "__main__":
    main()
