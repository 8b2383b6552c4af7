"""Bills of materials in SPDX 2.3. https://spdx.github.io/spdx-spec/v2.3/"""
import json
import re
import urllib.parse

NONE = "NOASSERTION"


def identifier(*parts):
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.-]", "-", part) for part in parts)


def debian_package(package):
    purl = (f"pkg:deb/debian/{urllib.parse.quote(package.name)}@{urllib.parse.quote(package.version)}"
            f"?arch={package.architecture}&distro=debian-12")
    entry = {
        "SPDXID": identifier("Package", package.name), "name": package.name, "versionInfo": package.version,
        "supplier": f"Organization: {package.maintainer}" if package.maintainer else NONE,
        "downloadLocation": NONE, "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": package.sha256}],
        "sourceInfo": f"built from Debian's source package {package.source}",
        "licenseConcluded": NONE, "licenseDeclared": NONE, "copyrightText": NONE,
        "comment": f"licences: usr/share/doc/{package.name}/copyright",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": purl}],
    }
    if package.homepage:
        entry["homepage"] = package.homepage
    return entry


def compiled_in(name, version):
    """A library of headers or a static one, of which only our programs show a trace."""
    return {"SPDXID": identifier("Compiled", name), "name": name, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": NONE, "filesAnalyzed": False,
            "licenseConcluded": NONE, "licenseDeclared": NONE, "copyrightText": NONE,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}"}]}


def own_package(name, release):
    return {"SPDXID": identifier("Package", name), "name": name, "versionInfo": release.version,
            "supplier": "Organization: Tangram", "downloadLocation": NONE, "filesAnalyzed": False,
            "sourceInfo": f"built from commit {release.commit}",
            "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": NONE,
            "primaryPackagePurpose": "APPLICATION"}


def document(name, build, packages, release, digest):
    """The text. packages: Debian's; build.compiled_in: what the programs contain of others.
    digest: of what it describes."""
    title = f"{name}-{release.version}-{build.architecture}"
    own = own_package(name, release)
    debian = [debian_package(package) for package in packages]
    inside = [compiled_in(*pair) for pair in build.compiled_in]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", entry["SPDXID"]) for entry in debian]
    relations += [(own["SPDXID"], "STATIC_LINK", entry["SPDXID"]) for entry in inside]
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": title,
        "documentNamespace": f"https://tangram.dev/spdx/{title}-{digest.rpartition(':')[2]}",
        "creationInfo": {"created": release.created, "creators": ["Tool: tangram-scripts-release"]},
        "packages": [own, *debian, *inside],
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations],
    }, indent=1, sort_keys=True) + "\n"
