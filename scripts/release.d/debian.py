"""Debian packages as files: what an archive (.deb) contains, and in which package a file is. Needs no dpkg."""
import hashlib
import io
import pathlib
import posixpath
import tarfile

import tree

# Since Debian 12 these folders are links, but packages still contain files under the old names.
MERGED = ("bin", "sbin", "lib", "lib64")
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}


class Missing(Exception):
    """A file or package that an image needs is in no package."""


def canonical(path):
    path = posixpath.normpath(path).lstrip("/")
    return f"usr/{path}" if path.split("/")[0] in MERGED else path


def members(archive):
    """(name, bytes) of each member of an ar archive."""
    if archive[:8] != b"!<arch>\n":
        raise Missing("not a Debian package")
    at = 8
    while at + 60 <= len(archive):
        name = archive[at:at + 16].decode().strip().rstrip("/")
        size = int(archive[at + 48:at + 58])
        yield name, archive[at + 60:at + 60 + size]
        at += 60 + size + size % 2


def fields_of(control):
    """The fields of a control file by name, without continuation lines."""
    lines = [line for line in control.splitlines() if line and not line[0].isspace()]
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


class Package:
    def __init__(self, path):
        archive = pathlib.Path(path).read_bytes()
        self.sha256 = hashlib.sha256(archive).hexdigest()
        parts = dict(members(archive))
        self.control = self._control(parts)
        fields = fields_of(self.control)
        self.name, self.version = fields["Package"], fields["Version"]
        self.architecture = fields["Architecture"]
        self.source = fields.get("Source", self.name).split(" ")[0]
        self.maintainer = fields.get("Maintainer", "")
        self.homepage = fields.get("Homepage", "")
        self.entries = self._entries(parts)

    @staticmethod
    def _open(parts, stem):
        name = next((name for name in parts if name.startswith(stem)), None)
        if name is None:
            raise Missing(f"the package has no {stem}")
        return tarfile.open(fileobj=io.BytesIO(parts[name]))

    def _control(self, parts):
        with self._open(parts, "control.tar") as control:
            member = next(one for one in control if posixpath.normpath(one.name) == "control")
            return control.extractfile(member).read().decode()

    def _entries(self, parts):
        """Without folders: an image has those that its files need."""
        found = {}
        with self._open(parts, "data.tar") as data:
            for member in data:
                path = canonical(member.name)
                if member.issym():
                    found[path] = tree.Entry(tree.LINK, 0o777, target=member.linkname)
                elif member.islnk():
                    found[path] = found[canonical(member.linkname)]
                elif member.isfile():
                    # Without the set-user-ID bit of mount: the agent is root already.
                    found[path] = tree.Entry(tree.FILE, member.mode & 0o755, data.extractfile(member).read())
        return found


class Packages:
    """All packages of a folder of archives, which are of one architecture."""

    def __init__(self, folder, architecture):
        self.triplet = TRIPLETS[architecture]
        self.by_name = {}
        self.owner = {}
        for path in sorted(pathlib.Path(folder).glob("*.deb")):
            package = Package(path)
            if package.architecture not in (architecture, "all"):
                raise Missing(f"{path} is for {package.architecture}, not {architecture}")
            self.by_name[package.name] = package
            for name in package.entries:
                self.owner.setdefault(name, package)
        if not self.by_name:
            raise Missing(f"{folder} contains no Debian package (.deb); --packages names the folder above it")

    def package(self, name):
        if name not in self.by_name:
            raise Missing(f"package {name} is not among the {len(self.by_name)} packages")
        return self.by_name[name]

    def chain(self, path):
        """(path, entry, package) of the file and, if it is a link, of all that it leads to."""
        path = canonical(path)
        while True:
            package = self.owner.get(path)
            if package is None:
                raise Missing(f"no package contains /{path}")
            entry = package.entries[path]
            yield path, entry, package
            if entry.kind != tree.LINK:
                return
            path = canonical(posixpath.join("/", posixpath.dirname(path), entry.target))

    def library(self, name):
        return f"usr/lib/{self.triplet}/{name}"
