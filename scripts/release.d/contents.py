"""What is in the images: our programs, the files of Debian packages that they need, and nothing else."""
import dataclasses
import posixpath

import debian
import elf
import tree

NONROOT = "65532:65532"
BASE_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
                  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
                  "nonroot:x:65532:65532:nonroot:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\nnonroot:x:65532:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
    # NVIDIA's runtime runs the host's ldconfig over the image.
    "etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n",
}
# What glibc loads by name when a thread is cancelled.
UNNAMED_LIBRARIES = ["libgcc_s.so.1"]


@dataclasses.dataclass(frozen=True)
class Image:
    name: str
    title: str
    user: str
    ports: tuple
    programs: dict  # where in the image: which file of the build
    debian_files: tuple = ()  # beyond what the programs link; {triplet} stands for the architecture's

    @property
    def entrypoint(self):
        return "/" + next(iter(self.programs))


EXTENDER = Image(
    name="tangram-extender", title="The service that places GPU pods", user=NONROOT,
    ports=("9898/tcp", "9443/tcp", "9090/tcp"),
    programs={"usr/bin/tangram-extender": "bin/tangram-extender"})
NODE = Image(
    # Root, as deploy/node/README.md says why: kubelet's sockets and CDI's folder are root's.
    name="tangram-node", title="The agent on GPU nodes", user="0:0", ports=("9899/tcp",),
    programs={
        "usr/bin/tangram-node": "bin/tangram-node",
        "usr/bin/tangram-launcher": "bin/tangram-launcher",
        # Not for the agent itself: it copies these to the host, for containers.
        "usr/bin/tangram-memory-hook": "bin/tangram-memory-hook",
        "usr/lib/tangram/libcuda.so.1": "shim/stand_in_cuda/libcuda.so.1",
        "usr/lib/tangram/libnvidia-ml.so.1": "shim/stand_in_nvml/libnvidia-ml.so.1",
    },
    debian_files=(
        # What the agent has the launcher run, and the launcher of hosts with systemd.
        "bin/sh", "bin/grep", "bin/mount", "bin/umount", "bin/true", "usr/bin/unshare", "usr/bin/nsenter",
        # What the memory hook gets on the host: node/vendor/nvidia/driver_limiter.cpp.
        *(f"lib/{{triplet}}/{name}" for name in ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                                                 "librt.so.1")),
    ))
IMAGES = (EXTENDER, NODE)


class Collector:
    """Copies files of packages into a tree, with all that they link, and remembers the packages."""

    def __init__(self, packages):
        self.packages = packages
        self.tree = tree.Tree()
        self.used = {}  # by name

    def add(self, path):
        for name, entry, package in self.packages.chain(path):
            if name in self.tree.entries:
                continue
            self.tree.add(name, entry)
            self.used[package.name] = package
            if entry.kind == tree.FILE and elf.is_elf(entry.data):
                self.add_needs_of(entry.data)

    def add_needs_of(self, data):
        loader = elf.interpreter(data)
        if loader:
            self.add(loader)
        for name in elf.needed(data):
            self.add(self.packages.library(name))

    def add_all_of(self, package, folder):
        """Every file of the package in a folder."""
        owner = self.packages.package(package)
        names = [name for name in owner.entries if name.startswith(folder)]
        for name in names:
            self.add(name)
        return names

    def add_papers(self):
        """Licences, and the records by which scanners find the packages."""
        for package in list(self.used.values()):
            self.add_copyright(package)
        for package in self.used.values():
            self.tree.add_file(f"var/lib/dpkg/status.d/{package.name}", package.control.encode())

    def add_copyright(self, package):
        folder = f"usr/share/doc/{package.name}"
        # Packages of one source may share a folder by a link.
        link = package.entries.get(folder)
        if link is not None and link.kind == tree.LINK:
            self.tree.add(folder, link)
            target = posixpath.basename(link.target)
            self.used.setdefault(target, self.packages.package(target))
            return self.add_copyright(self.packages.package(target))
        self.add(f"{folder}/copyright")


def debian_layer(image, programs, packages):
    """(tree, packages) of the files that are not ours. programs: their bytes."""
    collector = Collector(packages)
    for folder in debian.MERGED:
        if folder != "lib64" or packages.triplet.startswith("x86_64"):
            collector.tree.add_link(folder, f"usr/{folder}")
            collector.tree.add_directory(f"usr/{folder}")
    for path, text in BASE_FILES.items():
        collector.tree.add_file(path, text.encode())
    collector.tree.add_directory("tmp", 0o1777)
    for data in programs:
        collector.add_needs_of(data)
    for name in UNNAMED_LIBRARIES:
        collector.add(packages.library(name))
    for path in image.debian_files:
        collector.add(path.format(triplet=packages.triplet))
    add_certificates(collector)
    collector.add_all_of("base-files", "usr/share/common-licenses/")
    collector.add("etc/os-release")
    collector.add("etc/debian_version")
    collector.add_all_of("libc6", "etc/ld.so.conf.d/")
    collector.add_papers()
    return collector.tree, sorted(collector.used.values(), key=lambda package: package.name)


def add_certificates(collector):
    """One file, as update-ca-certificates makes it."""
    owner = collector.packages.package("ca-certificates")
    names = sorted(name for name in owner.entries if name.endswith(".crt"))
    if not names:
        raise debian.Missing("ca-certificates contains no certificate")
    collector.tree.add_file("etc/ssl/certs/ca-certificates.crt", b"".join(owner.entries[name].data for name in names))
    collector.used[owner.name] = owner


def program_layer(programs, license_text):
    """programs: {where: bytes}."""
    layer = tree.Tree()
    for path, data in programs.items():
        layer.add_file(path, data, 0o644 if path.startswith("usr/lib/") else 0o755)
    layer.add_file("usr/share/doc/tangram/LICENSE", license_text)
    return layer
