"""Packs built programs into the files of a release. scripts/release calls it:

    pack.py --version 0.1.0 --commit HASH --epoch SECONDS --source DIR --chart-fields JSON
            --download-url TEMPLATE --out DIR --build ARCHITECTURE PROGRAMS PACKAGES [--build ...]

PROGRAMS is a folder like build/release with stripped programs, and with compiled-in, which lists the Debian packages
(name, space, version) whose code they contain. PACKAGES is a folder of Debian's archives (.deb).
"""
import argparse
import dataclasses
import datetime
import hashlib
import json
import pathlib
import sys

import chart
import contents
import debian
import images
import plugin
import spdx

MIB = 1024 * 1024


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    commit: str
    epoch: int
    source: pathlib.Path
    download_url: str

    @property
    def created(self):
        return datetime.datetime.fromtimestamp(self.epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def license(self):
        return self.file("LICENSE")

    def file(self, path):
        return (self.source / path).read_bytes()

    def annotations(self, image):
        return {"org.opencontainers.image.title": image.name, "org.opencontainers.image.description": image.title,
                "org.opencontainers.image.version": self.version, "org.opencontainers.image.revision": self.commit,
                "org.opencontainers.image.licenses": "Apache-2.0"}


class Build:
    """The programs of one architecture, and Debian's packages for it."""

    def __init__(self, architecture, folder, packages):
        self.architecture, self.folder = architecture, pathlib.Path(folder)
        self.packages = debian.Packages(packages, architecture)
        self.compiled_in = self._compiled_in()  # (package, version)

    def program(self, path):
        return (self.folder / path).read_bytes()

    def _compiled_in(self):
        path = self.folder / "compiled-in"
        if not path.is_file():
            raise ValueError(f"{path} is missing, which lists the packages whose code the programs contain; "
                             "name the build/programs of a release with --programs")
        return [tuple(line.split()) for line in path.read_text().splitlines()]


class Folder:
    """Writes the files of the release, and their checksums."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        if any(self.path.iterdir()):
            raise ValueError(f"{path} is not empty; remove it, or name another folder with --out")
        self.sums = {}

    def write(self, name, data):
        data = data.encode() if isinstance(data, str) else data
        (self.path / name).write_bytes(data)
        self.sums[name] = hashlib.sha256(data).hexdigest()
        return self.sums[name]

    def write_sums(self):
        lines = [f"{sha256}  {name}\n" for name, sha256 in sorted(self.sums.items())]
        (self.path / "SHA256SUMS").write_text("".join(lines))


def pack_images(out, builds, release):
    """The digests by the image's name, and the lines of the list of sizes."""
    digests, sizes = {}, []
    for image in contents.IMAGES:
        built = [images.Built(image, build, release) for build in builds]
        archive, digests[image.name] = images.archive(built, release)
        out.write(f"{image.name}-{release.version}.oci.tar", archive)
        for one in built:
            architecture = one.build.architecture
            out.write(f"{image.name}-{release.version}-{architecture}.spdx.json",
                      spdx.document(image.name, one.build, one.packages, release, digests[image.name]))
            sizes.append({"image": image.name, "architecture": architecture, "compressed": one.compressed,
                          "unpacked": one.unpacked, "packages": len(one.packages)})
            print(f"{image.name} linux/{architecture}: compressed {one.compressed / MIB:.1f} MiB, unpacked "
                  f"{one.unpacked / MIB:.1f} MiB, files of {len(one.packages)} Debian packages", flush=True)
        print(f"{image.name} {digests[image.name]}")
    return digests, sizes


def pack_chart(out, digests, fields, release):
    content = chart.archive(release.source / "deploy/chart/tangram", digests, release)
    out.write(f"tangram-{release.version}.tgz", content)
    archive, digest = chart.artefact(content, fields, release)
    out.write(f"tangram-chart-{release.version}.oci.tar", archive)
    print(f"chart {digest}", flush=True)
    return digest


def pack_plugin(out, builds, release):
    archives = {}
    for build in builds:
        data, packages = plugin.archive(build, release)
        stem = f"{plugin.NAME}-{release.version}-linux-{build.architecture}"
        archives[build.architecture] = f"{stem}.tar.gz", out.write(f"{stem}.tar.gz", data)
        out.write(f"{stem}.spdx.json", spdx.document(plugin.NAME, build, packages, release,
                                                     archives[build.architecture][1]))
        print(f"{stem}: {len(data) / MIB:.1f} MiB", flush=True)
    out.write("tangram.yaml", plugin.manifest(archives, release))


def pack(arguments):
    release = Release(arguments.version, arguments.commit, arguments.epoch, pathlib.Path(arguments.source),
                      arguments.download_url)
    out = Folder(arguments.out)
    builds = [Build(*build) for build in arguments.build]
    digests, sizes = pack_images(out, builds, release)
    chart_digest = pack_chart(out, digests, json.loads(arguments.chart_fields), release)
    pack_plugin(out, builds, release)
    summary = {"version": release.version, "commit": release.commit, "created": release.created,
               "architectures": [build.architecture for build in builds], "images": digests,
               "chart": chart_digest, "sizes": sizes}
    out.write("release.json", json.dumps(summary, indent=1, sort_keys=True) + "\n")
    out.write_sums()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("version", "commit", "source", "chart-fields", "download-url", "out"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    parser.add_argument("--build", nargs=3, action="append", required=True,
                        metavar=("ARCHITECTURE", "PROGRAMS", "PACKAGES"))
    try:
        pack(parser.parse_args())
    except (debian.Missing, ValueError, OSError) as error:
        sys.exit(f"release: {error}")


if __name__ == "__main__":
    main()
