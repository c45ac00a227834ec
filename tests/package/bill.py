"""Whether a release's bill of materials has all its files, with their sums, and what is linked in: bill.py DIR"""

import hashlib
import json
import sys
from pathlib import Path


def problems(folder, bill):
    said = []
    listed = {entry["fileName"]: {each["algorithm"]: each["checksumValue"] for each in entry["checksums"]}
              for entry in bill["files"]}
    there = {"./" + path.relative_to(folder).as_posix() for path in folder.rglob("*")
             if path.is_file() and path.name != "SHA256SUMS" and not path.name.endswith(".spdx.json")}
    if set(listed) != there:
        said.append(f"listed are {sorted(listed)}, and there are {sorted(there)}")
    for name in there & set(listed):
        content = (folder / name).read_bytes()
        if listed[name] != {"SHA1": hashlib.sha1(content).hexdigest(), "SHA256": hashlib.sha256(content).hexdigest()}:
            said.append(f"{name} has other sums than {listed[name]}")
    named = {entry["SPDXID"]: entry["name"] for entry in bill["packages"]}
    for entry in bill["files"]:
        linked = {named[each["relatedSpdxElement"]] for each in bill["relationships"]
                  if each["spdxElementId"] == entry["SPDXID"] and each["relationshipType"].endswith("_LINK")}
        expected = set(named.values()) - {"convtgen"} if entry["fileName"].endswith((".whl", ".deb")) else set()
        if linked != expected:
            said.append(f"{entry['fileName']} links {sorted(linked)}; should be {sorted(expected)}")
    for entry in bill["packages"]:
        if not entry["versionInfo"][:1].isdigit() or entry["licenseDeclared"] in ("", "NOASSERTION"):
            said.append(f"{entry['name']} has no version or no licence")
    return said


def main(folder):
    (path,) = folder.glob("*.spdx.json")
    bill = json.loads(path.read_text())
    found = problems(folder, bill)
    print("\n".join(found) or f"{path.name}: {len(bill['files'])} files, {len(bill['packages'])} packages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
