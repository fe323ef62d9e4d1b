# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Texts and files of a release that scripts/make-release writes: the section of the changelog, archives whose bytes depend on their
content alone, and the bill of materials (SPDX 2.3)."""

import gzip
import hashlib
import io
import json
import re
import subprocess
import tarfile
from datetime import datetime, timezone
from pathlib import Path

from treadle_jobs import ROOT

#: What the library is linked with or compiled from: name, license, how the library is related to it, and the remark.
PARTS = (
    ("libffi", "MIT", "DEPENDS_ON", "loaded by the shared library; compiled into that of wheels"),
    ("glibc", "LGPL-2.1-or-later", "DEPENDS_ON", "loaded by the shared library"),
    ("swift-embedded-stdlib", "Apache-2.0 WITH Swift-exception", "CONTAINS", "functions of Embedded Swift's standard library, compiled in"),
)


def digest(data: bytes, kind: str = "sha256") -> str:
    return hashlib.new(kind, data).hexdigest()


def program_of(readme: Path, kind: str) -> "tuple[str, str]":
    """The first program of a kind in a README, and what the README says it prints."""
    text = readme.read_text(encoding="utf-8")
    program, printed = (re.search(rf"^```{each}\n(.*?)^```$", text, re.M | re.S) for each in (kind, "text"))
    if program is None or printed is None:
        raise SystemExit(f"{readme} has no program of the kind {kind}, or does not say what it prints")
    return program[1], printed[1]


def section(text: str, version: str) -> "tuple[str, str]":
    """The changelog's section of a version, or the one of what is not released; and what its heading says."""
    parts = re.split(r"^## (.*)\n", text, flags=re.M)[1:]
    found = dict(zip(parts[::2], parts[1::2]))
    for heading, body in found.items():
        if re.fullmatch(rf"\[?{re.escape(version)}\]? - \d{{4}}-\d\d-\d\d", heading):
            return body.strip() + "\n", heading
    return found.get("Unreleased", "").strip() + "\n", "Unreleased"


def source_archive(name: str, commit: str = "HEAD") -> bytes:
    """The files of a commit, compressed without a name and a time."""
    plain = subprocess.run(["git", "archive", "--format=tar", f"--prefix={name}/", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    return gzip.compress(plain, mtime=0)


def archive_of(folder: Path, name: str, moment: int) -> bytes:
    """The files of a folder, in the order of their names, of one moment and of no user."""
    room = io.BytesIO()
    with tarfile.open(fileobj=room, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            entry = archive.gettarinfo(str(path), f"{name}/{path.relative_to(folder)}")
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = moment, 0, 0, "", ""
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 or entry.issym() else 0o644
            if entry.isreg():
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)
    return gzip.compress(room.getvalue(), mtime=0)


def source_name(name: str) -> str:
    """The source archive's. Python's source distribution has the name without the word."""
    return f"{name}-source.tar.gz"


def bill(name: str, version: str, moment: int, source: bytes, files: "dict[str, bytes]", versions: "dict[str, str]") -> str:
    """The bill of materials: what is released, what it is made of, and by which tools."""

    def package(key: str, title: str, of: str, terms: str, **more: object) -> "dict[str, object]":
        return {
            **{"SPDXID": f"SPDXRef-{key}", "name": title, "versionInfo": of, "licenseConcluded": terms, "licenseDeclared": terms},
            **{"downloadLocation": "NOASSERTION", "filesAnalyzed": False, "copyrightText": "NOASSERTION", **more},
        }

    def relation(one: str, kind: str, other: str) -> "dict[str, str]":
        return {"spdxElementId": f"SPDXRef-{one}", "relationshipType": kind, "relatedSpdxElement": f"SPDXRef-{other}"}

    checksum = [{"algorithm": "SHA256", "checksumValue": digest(source)}]
    packages = [
        package("treadle", "treadle", version, "Apache-2.0", checksums=checksum, packageFileName=source_name(name), supplier="Organization: the Treadle authors")
    ]
    relations = [relation("DOCUMENT", "DESCRIBES", "treadle")]
    for part, terms, kind, remark in PARTS:
        packages.append(package(part, part, versions[part], terms, comment=remark))
        relations.append(relation("treadle", kind, part))
    for tool in sorted(set(versions) - {part for part, *_ in PARTS}):
        packages.append(package(f"tool-{tool}", tool, versions[tool], "NOASSERTION"))
        relations.append(relation(f"tool-{tool}", "BUILD_TOOL_OF", "treadle"))
    listed = []
    for number, (file, data) in enumerate(sorted(files.items())):
        sums = [{"algorithm": kind.upper(), "checksumValue": digest(data, kind)} for kind in ("sha1", "sha256")]
        key = f"SPDXRef-file-{number}"
        listed.append({"SPDXID": key, "fileName": f"./{file}", "checksums": sums, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"})
        relations.append(relation(f"file-{number}", "GENERATED_FROM", "treadle"))
    document = {
        **{"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name},
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest(source)}",
        "creationInfo": {
            "created": datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Organization: the Treadle authors", "Tool: make-release"],
        },
        **{"packages": packages, "files": listed, "relationships": relations},
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def faults(text: str) -> "list[str]":
    """What a bill of materials lacks: ids that two have or none has, sums of another length."""
    document = json.loads(text)
    elements = [document, *document["packages"], *document["files"]]
    ids = [element["SPDXID"] for element in elements]
    found = [f"{each} is the id of several" for each in set(ids) if ids.count(each) > 1]
    for each in document["relationships"]:
        found += [f"{each[end]} is the id of nothing" for end in ("spdxElementId", "relatedSpdxElement") if each[end] not in ids]
    found += [f"{each} is no id" for each in ids if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each)]
    for element in elements:
        for sum_ in element.get("checksums", ()):
            if len(sum_["checksumValue"]) != {"SHA1": 40, "SHA256": 64}[sum_["algorithm"]]:
                found.append(f"{element['SPDXID']} has a sum of another length")
    return found
