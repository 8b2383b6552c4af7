"""Checks the files of a release against each other; scripts/verify-release says what."""
import hashlib
import io
import json
import pathlib
import re
import sys
import tarfile
import zlib

import contents
import plugin

STATUS = "var/lib/dpkg/status.d/"


class Fault(Exception):
    """A file of the release is not what another one says."""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def names_found(folder):
    return {path.name for path in folder.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig"}


def lines_of_sums(folder):
    """(name, checksum) of each line."""
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return [(name, one) for one, name in (line.split("  ", 1) for line in lines)]


def check_sums(folder):
    lines, found = lines_of_sums(folder), names_found(folder)
    wanted = dict(lines)
    names = [name for name, _ in lines]
    for name in sorted(wanted):
        if names.count(name) > 1:
            yield f"{name}: SHA256SUMS has {names.count(name)} lines for it, not 1"
    for name in sorted(found ^ wanted.keys()):
        yield f"{name}: " + ("is not in SHA256SUMS" if name in found else "is missing")
    for name in sorted(found & wanted.keys()):
        if sha256((folder / name).read_bytes()) != wanted[name]:
            yield f"{name}: is not the file that SHA256SUMS names; download it again"


def expected_names(version, architectures):
    names = {"release.json", "tangram.yaml", f"tangram-{version}.tgz", f"tangram-chart-{version}.oci.tar"}
    names |= {f"{image.name}-{version}.oci.tar" for image in contents.IMAGES}
    for architecture in architectures:
        names |= {f"{image.name}-{version}-{architecture}.spdx.json" for image in contents.IMAGES}
        names |= {f"{plugin.NAME}-{version}-linux-{architecture}.{ending}" for ending in ("tar.gz", "spdx.json")}
    return names


def check_names(folder, summary):
    """Beyond check_sums: a list that agrees with the folder can still lack a file, or have one too many."""
    listed, found = set(dict(lines_of_sums(folder))), names_found(folder)
    expected = expected_names(summary["version"], summary["architectures"])
    for name in sorted(((listed & found) ^ expected) - (listed ^ found)):
        yield f"{name}: " + ("is missing, and not in SHA256SUMS" if name in expected else
                             f"is no file of a release {summary['version']} for {', '.join(summary['architectures'])}")


def check_summary(summary):
    architectures, images = summary["architectures"], {image.name for image in contents.IMAGES}
    if not architectures or len(set(architectures)) != len(architectures):
        yield f"release.json: its architectures are {architectures}; each must be there once, and at least one"
    for name in sorted(images ^ summary["images"].keys()):
        yield "release.json: " + (f"has no digest of {name}" if name in images else
                                  f"names {name}, which is no image of Tangram")


class Layout:
    """An OCI layout in a tar archive; every blob that is read is checked."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        if json.loads(self.files.get("oci-layout", b"{}")).get("imageLayoutVersion") != "1.0.0":
            raise Fault("is not an OCI image layout of version 1.0.0")
        self.read = {"oci-layout", "index.json"}

    def blob(self, descriptor):
        name = f"blobs/{descriptor['digest'].replace(':', '/')}"
        data = self.files.get(name)
        if data is None:
            raise Fault(f"{name} is missing")
        if f"sha256:{sha256(data)}" != descriptor["digest"] or len(data) != descriptor["size"]:
            raise Fault(f"{name} has other contents than its name says")
        self.read.add(name)
        return data

    def top(self):
        descriptors = json.loads(self.files["index.json"])["manifests"]
        if len(descriptors) != 1:
            raise Fault(f"index.json names {len(descriptors)} images, not 1")
        return descriptors[0]

    def check_complete(self):
        unread = sorted(set(self.files) - self.read)
        if unread:
            raise Fault(f"{unread[0]} belongs to nothing")


def packages_in_image(layout, descriptor):
    """{name: version} of Debian's packages, from the layers, whose digests are checked."""
    manifest = json.loads(layout.blob(descriptor))
    config = json.loads(layout.blob(manifest["config"]))
    for key, value in descriptor["platform"].items():
        if config[key] != value:
            raise Fault(f"its index says {key} {value}, but the image's configuration says {config[key]}")
    identities, packages = [], {}
    for descriptor in manifest["layers"]:
        archive = zlib.decompress(layout.blob(descriptor), wbits=31)
        identities.append(f"sha256:{sha256(archive)}")
        with tarfile.open(fileobj=io.BytesIO(archive)) as layer:
            for member in layer:
                if member.name.startswith(STATUS) and member.isfile():
                    control = layer.extractfile(member).read().decode()
                    packages[member.name.removeprefix(STATUS)] = re.search(r"^Version: (.*)$", control, re.M)[1]
    if identities != config["rootfs"]["diff_ids"]:
        raise Fault("the layers are not those that the image's configuration names")
    return packages


def packages_in_bill(path):
    """Those whose archive was packed, which has a checksum."""
    return {entry["name"]: entry["versionInfo"] for entry in json.loads(path.read_text())["packages"]
            if "checksums" in entry}


def check_image(folder, name, summary):
    layout = Layout(folder / f"{name}-{summary['version']}.oci.tar")
    top = layout.top()
    if top["digest"] != summary["images"][name]:
        raise Fault(f"its digest is {top['digest']}, but release.json says {summary['images'][name]}")
    found = []
    for descriptor in json.loads(layout.blob(top))["manifests"]:
        architecture = descriptor["platform"]["architecture"]
        found.append(architecture)
        packages = packages_in_image(layout, descriptor)
        bill = packages_in_bill(folder / f"{name}-{summary['version']}-{architecture}.spdx.json")
        different = sorted(set(packages.items()) ^ set(bill.items()))
        if different:
            raise Fault(f"image and bill of materials for {architecture} differ in {different[0][0]}")
    if found != summary["architectures"]:
        raise Fault(f"it is for {', '.join(found)}, but release.json says {', '.join(summary['architectures'])}")
    layout.check_complete()


def check_chart(folder, summary):
    content = (folder / f"tangram-{summary['version']}.tgz").read_bytes()
    layout = Layout(folder / f"tangram-chart-{summary['version']}.oci.tar")
    top = layout.top()
    if top["digest"] != summary["chart"]:
        raise Fault(f"its digest is {top['digest']}, but release.json says {summary['chart']}")
    manifest = json.loads(layout.blob(top))
    layout.blob(manifest["config"])
    if layout.blob(manifest["layers"][0]) != content:
        raise Fault("it contains another chart than the .tgz")
    layout.check_complete()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        values = archive.extractfile("tangram/values.yaml").read().decode()
    for name, digest in summary["images"].items():
        if not re.search(rf"repository: {name}\n(?: +\w+:.*\n)*? +digest: {digest}", values):
            raise Fault(f"its values do not name the digest of {name}")


def check_plugin(folder, summary):
    text = (folder / "tangram.yaml").read_text()
    for architecture in summary["architectures"]:
        name = f"kubectl-tangram-{summary['version']}-linux-{architecture}.tar.gz"
        if not re.search(rf"uri: \S*{re.escape(name)}\n +sha256: {sha256((folder / name).read_bytes())}\n", text):
            raise Fault(f"it does not name {name} with its checksum")


# What reading a damaged file can raise.
UNREADABLE = (OSError, KeyError, IndexError, TypeError, ValueError, AttributeError, tarfile.TarError, zlib.error)


def faults(folder):
    try:
        yield from check_sums(folder)
        summary = json.loads((folder / "release.json").read_text())
        yield from check_summary(summary)
        yield from check_names(folder, summary)
    except UNREADABLE as error:
        yield f"SHA256SUMS or release.json: cannot be read ({error or type(error).__name__}); download both again"
        return
    names = [image.name for image in contents.IMAGES if image.name in summary["images"]]
    checks = [(f"{name}-{summary['version']}.oci.tar", check_image, name) for name in names]
    checks += [(f"tangram-chart-{summary['version']}.oci.tar", check_chart), ("tangram.yaml", check_plugin)]
    for name, check, *more in checks:
        try:
            check(folder, *more, summary)
        except Fault as fault:
            yield f"{name}: {fault}"
        except UNREADABLE as error:
            yield f"{name}: cannot be read ({error or type(error).__name__}); download it again"


def main(path):
    folder = pathlib.Path(path)
    for name in ("SHA256SUMS", "release.json"):
        if not (folder / name).is_file():
            sys.exit(f"verify-release: {path} has no {name}; name the folder that scripts/release wrote")
    found = list(faults(folder))
    for fault in found:
        print(fault)
    if found:
        sys.exit(f"verify-release: {len(found)} faults in {path}; do not install from it")
    summary = json.loads((folder / "release.json").read_text())
    files = len((folder / "SHA256SUMS").read_text().splitlines())
    print(f"verify-release: {files} files of Tangram {summary['version']} for {' and '.join(summary['architectures'])} are sound")


if __name__ == "__main__":
    main(sys.argv[1])
