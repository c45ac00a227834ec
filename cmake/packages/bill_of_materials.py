"""The bill of materials of a release, in SPDX 2.3: bill_of_materials.py DIR COMMIT TIME

DIR has the files of the release, and gets convtgen-VERSION.spdx.json. COMMIT is what they are made of, TIME when it was
committed (seconds since 1970). What is linked in, and under which licence, stands in python/licenses/LINKED_IN.txt; the
versions are those of this machine's Debian packages.
"""

import datetime
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
# What LINKED_IN.txt lists: the Debian package that it comes from, and how the programs of the Debian packages have it.
SOURCES = {
    "fmt": ("libfmt-dev", "DYNAMIC_LINK"),
    "JSON for Modern C++": ("nlohmann-json3-dev", "STATIC_LINK"),
    "CLI11": ("libcli11-dev", "STATIC_LINK"),
    "protozero": ("libprotozero-dev", "STATIC_LINK"),
    "libsodium": ("libsodium-dev", "DYNAMIC_LINK"),
    "Boost.Context": ("libboost-context-dev", "DYNAMIC_LINK"),
    "libstdc++ and libgcc": ("g++", "DYNAMIC_LINK"),
}
LICENCE = "Apache-2.0 WITH LLVM-exception"


def project_version(header):
    """Of the text of convtgen.h: "0.2.0"."""
    return ".".join(re.findall(r"^#define CONVTGEN_VERSION_[A-Z]+ (\d+)$", header, re.M))


def linked_in(text):
    """Of LINKED_IN.txt: (name, address, licence) of each."""
    return re.findall(r"^== (.+?) \((\S+)\), (.+)$", text, re.M)


def package_version(package):
    """Of a Debian package that is installed: (its version, that of its upstream)."""
    asked = ["dpkg-query", "-W", "-f", "${Version} ${source:Upstream-Version}", package]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def package(name, version, address, licence, **more):
    return {"SPDXID": identifier("Package-" + name), "name": name, "versionInfo": version, "downloadLocation": address,
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", **more}


def file_entry(path, name):
    content = path.read_bytes()
    sums = [{"algorithm": algorithm, "checksumValue": hashlib.new(algorithm, content).hexdigest()}
            for algorithm in ("sha1", "sha256")]
    return {"SPDXID": identifier("File-" + name), "fileName": "./" + name,
            "checksums": [{**each, "algorithm": each["algorithm"].upper()} for each in sums],
            "licenseConcluded": LICENCE, "copyrightText": "NOASSERTION"}


def document(folder, commit, time, version):
    """The bill of the files in a folder."""
    parts = linked_in((PROJECT / "python/licenses/LINKED_IN.txt").read_text())
    names = [name for name, _, _ in parts]
    if set(names) != set(SOURCES):
        sys.exit(f"bill_of_materials.py: LINKED_IN.txt lists {names}, and SOURCES {list(SOURCES)}")
    packages = [package("convtgen", version, "NOASSERTION", LICENCE, sourceInfo=f"made of the commit {commit}")]
    for name, address, licence in parts:
        debian, upstream = package_version(SOURCES[name][0])
        purl = f"pkg:deb/debian/{SOURCES[name][0].replace('+', '%2B')}@{debian.replace(':', '%3A').replace('+', '%2B')}"
        packages.append(package(name, upstream, address, licence, externalRefs=[
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]))

    files, relationships = [], []

    def relate(one, kind, other):
        relationships.append({"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other})

    relate("SPDXRef-DOCUMENT", "DESCRIBES", packages[0]["SPDXID"])
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        entry = file_entry(path, path.relative_to(folder).as_posix())
        files.append(entry)
        relate(entry["SPDXID"], "GENERATED_FROM", packages[0]["SPDXID"])
        for part in packages[1:]:
            if path.suffix == ".whl":
                relate(entry["SPDXID"], "STATIC_LINK", part["SPDXID"])
            elif path.suffix == ".deb":
                relate(entry["SPDXID"], SOURCES[part["name"]][1], part["SPDXID"])
    when = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"convtgen-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/convtgen-{version}-{commit}",
            "creationInfo": {"created": when, "creators": [f"Tool: convtgen-release-{version}"]},
            "packages": packages, "files": files, "relationships": relationships}


def main(folder, commit, time):
    version = project_version((PROJECT / "runtime/include/convtgen/convtgen.h").read_text())
    bill = document(folder, commit, int(time), version)
    (folder / f"convtgen-{version}.spdx.json").write_text(json.dumps(bill, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
