#!/usr/bin/env python3
"""Brings a file of tuning records from format 1 to format 2, so that its measurements serve on.

Format 2 names the sizes by axes ([depth, height, width]), and every plan says in which order it reads the weights, which was
none of its choices before. Each plan stays the same kernel. What measured it ("versions": "convtgen") stays too.
"""
import argparse
import json
import os
import sys
import tempfile

OLD, NEW = 1, 2


class Refused(Exception):
    pass


def format_of(record):
    try:
        return record["versions"]["format"]
    except (KeyError, TypeError):
        raise Refused("it names no format") from None


def migrate_record(record):
    """Changes a record in place; one of the new format stays as it is."""
    found = format_of(record)
    if found == NEW:
        return
    if found != OLD:
        raise Refused(f"it is of format {found}; this script makes format {NEW} of format {OLD}")
    try:
        sizes = record["sizes"]
        record["sizes"] = {"batch": sizes["batch"], "extents": [1, sizes["height"], sizes["width"]]}
        for each in record["measured"]:
            each["plan"]["parameters"]["weight_channels_last"] = False
    except (KeyError, TypeError) as error:
        raise Refused(f"it is no record of format {OLD}: {error!r}") from None
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
    if OLD not in formats:
        return text
    lines = [json.dumps(each, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for each in records]
    return '{"records":[\n' + "\n,".join(lines) + "\n]}\n"


def write(path, text):
    """Beside its place, and then renamed, so that a file is never half written."""
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
    parser.add_argument("file", help="as 'convtgen tune --export FILE' wrote it; a file of format 2 is left as it is")
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
