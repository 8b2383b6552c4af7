"""A release of tiny programs and packages, for the tests beside this file: scripts/release.d."""
import io
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/release.d"))
sys.dont_write_bytecode = True
PACK = [sys.executable, "-B", str(ROOT / "scripts/release.d/pack.py")]

import contents  # noqa: E402
import debian  # noqa: E402
import elf  # noqa: E402
import tree  # noqa: E402
import verify  # noqa: E402

MACHINES = {"amd64": 62, "arm64": 183}
LOADERS = {"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}


def program(architecture, needed, loader=""):
    """An ELF file that has no code, but says which libraries it needs."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in needed) + loader.encode() + b"\0"
    offsets, at = [], 1
    for name in needed:
        offsets.append(at)
        at += len(name) + 1
    dynamic = b"".join(struct.pack("<qQ", elf.DT_NEEDED, offset) for offset in offsets)
    kinds = [elf.PT_LOAD, elf.PT_DYNAMIC] + [elf.PT_INTERP] * bool(loader)
    begin = 64 + 56 * len(kinds)
    end = begin + len(strings)
    dynamic += struct.pack("<qQqQ", elf.DT_STRTAB, begin, 0, 0)
    places = {elf.PT_LOAD: (0, end + len(dynamic)), elf.PT_DYNAMIC: (end, len(dynamic)),
              elf.PT_INTERP: (begin + at, len(loader) + 1)}
    headers = b"".join(struct.pack("<IIQQQQQQ", kind, 4, places[kind][0], places[kind][0], 0, places[kind][1],
                                   places[kind][1], 8) for kind in kinds)
    start = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, MACHINES[architecture], 1, 0, 64, 0, 0,
                                                            64, 56, len(kinds), 0, 0, 0)
    return start + headers + strings + dynamic


def package(folder, name, architecture, files, version="1.0-1"):
    """A Debian package. files: {path: bytes, or the target of a link}."""
    data = tree.Tree()
    for path, content in {f"usr/share/doc/{name}/copyright": f"licence of {name}\n".encode(), **files}.items():
        if isinstance(content, str):
            data.add_link(path, content)
        else:
            data.add_file(path, content, 0o4755)
    control = tree.Tree()
    control.add_file("control", f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n"
                                f"Maintainer: Some One <some@example.org>\nDescription: a test\n more\n".encode())
    archive = b"!<arch>\n"
    for member, content in [("debian-binary", b"2.0\n"), ("control.tar.gz", tree.gzip(control.tar(0))),
                            ("data.tar.gz", tree.gzip(data.tar(0)))]:
        archive += f"{member:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        archive += content + b"\n" * (len(content) % 2)
    (folder / f"{name}_{version}_{architecture}.deb").write_bytes(archive)


def write_packages(folder, architecture):
    triplet = debian.TRIPLETS[architecture]
    library = lambda *needed: program(architecture, needed)
    folder.mkdir(parents=True)
    package(folder, "libc6", architecture, {
        f"lib/{triplet}/{name}": library() for name in ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                                                        "librt.so.1", pathlib.Path(LOADERS[architecture]).name)
    } | ({LOADERS[architecture]: f"/lib/{triplet}/{pathlib.Path(LOADERS[architecture]).name}"})
      | {f"etc/ld.so.conf.d/{triplet}.conf": b"/usr/lib\n", f"usr/lib/{triplet}/unused.so.1": library()})
    package(folder, "libgcc-s1", architecture, {f"lib/{triplet}/libgcc_s.so.1": library("libc.so.6")})
    package(folder, "libfmt9", architecture, {
        f"usr/lib/{triplet}/libfmt.so.9": "libfmt.so.9.1.0",
        f"usr/lib/{triplet}/libfmt.so.9.1.0": library("libdeep.so.1")})
    package(folder, "libdeep1", architecture, {f"usr/lib/{triplet}/libdeep.so.1": library("libc.so.6")}, "1:2.3+b1")
    package(folder, "unused", architecture, {"usr/bin/unused": library()})
    package(folder, "tools", architecture, {
        f"{path}": program(architecture, ["libc.so.6"]) for path in
        ("bin/dash", "bin/grep", "bin/mount", "bin/umount", "bin/true", "usr/bin/unshare", "usr/bin/nsenter")
    } | {"bin/sh": "dash"})
    package(folder, "base-files", "all", {
        "etc/os-release": "../usr/lib/os-release", "usr/lib/os-release": b"ID=debian\n", "etc/debian_version": b"12\n",
        "usr/share/common-licenses/GPL-3": b"GPL\n"})
    package(folder, "ca-certificates", "all", {"usr/share/ca-certificates/b.crt": b"B\n",
                                               "usr/share/ca-certificates/a.crt": b"A\n"})


def write_programs(folder, architecture):
    wanted = {path for image in contents.IMAGES for path in image.programs.values()} | {"bin/kubectl-tangram"}
    for path in wanted:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(program(architecture, ["libfmt.so.9", "libc.so.6"], LOADERS[architecture]))
    (folder / "compiled-in").write_text(f"libboost1.81-dev 1.81.0-5+{architecture}\n")


def write_source(folder):
    chart = folder / "deploy/chart/tangram"
    (chart / "templates").mkdir(parents=True)
    (folder / "LICENSE").write_text("the licence\n")
    (folder / "deploy/cli").mkdir()
    (folder / "deploy/cli/kubectl_complete-tangram").write_text("#!/bin/sh\n")
    (chart / "Chart.yaml").write_text("name: tangram\n")
    (chart / ".helmignore").write_text(".*\n")
    (chart / "templates/a.yaml").write_text("a: 1\n")
    # The chart's own values, so that a change of their form is noticed.
    (chart / "values.yaml").write_bytes((ROOT / "deploy/chart/tangram/values.yaml").read_bytes())


def make_release(folder, architectures=("amd64", "arm64")):
    """A folder with all that a release needs, and the release in out/."""
    write_source(folder / "source")
    arguments = [*PACK, "--version", "1.2.3", "--commit", "c0ffee",
                 "--epoch", "1700000000", "--source", str(folder / "source"), "--chart-fields",
                 '{"name": "tangram", "version": "1.2.3", "description": "d"}',
                 "--download-url", "https://example.org/VERSION/FILE", "--out", str(folder / "out")]
    for architecture in architectures:
        write_packages(folder / "packages" / architecture, architecture)
        write_programs(folder / "programs" / architecture, architecture)
        arguments += ["--build", architecture, str(folder / "programs" / architecture),
                      str(folder / "packages" / architecture)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    return folder / "out", done


def make_clone(folder):
    """Makes a repository, with scripts/release in it, of a folder that write_source() filled."""
    (folder / "scripts").mkdir()
    for name in ("release", "verify-release", "build-arm64", "lib.sh", "packages.sh"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
    shutil.copytree(ROOT / "scripts/release.d", folder / "scripts/release.d")
    (folder / "CMakeLists.txt").write_text("project(tangram VERSION 1.2.3 LANGUAGES CXX)\n")
    (folder / ".gitignore").write_text("/build/\n*.orig\n")
    (folder / "deploy/chart/tangram/Chart.yaml").write_text(
        "name: tangram\nversion: 1.2.3\nappVersion: 1.2.3\ndescription: d\n")
    for command in (["init", "--quiet"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@example.org",
                                                        "commit", "--quiet", "--message", "All"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def files_of_image(path, architecture):
    """{name: member} of all layers, and the archives by name."""
    layout = verify.Layout(path)
    index = json.loads(layout.blob(layout.top()))
    descriptor = next(one for one in index["manifests"] if one["platform"]["architecture"] == architecture)
    found = {}
    for layer in json.loads(layout.blob(descriptor))["layers"]:
        with tarfile.open(fileobj=io.BytesIO(zlib.decompress(layout.blob(layer), wbits=31))) as archive:
            found |= {member.name: (member, archive.extractfile(member).read() if member.isfile() else b"")
                      for member in archive}
    return found
