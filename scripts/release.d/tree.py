"""A tree of files in memory, and its archive: the same files always give the same bytes."""
import dataclasses
import io
import posixpath
import tarfile
import zlib

DIRECTORY, FILE, LINK = "directory", "file", "link"


@dataclasses.dataclass(frozen=True)
class Entry:
    kind: str
    mode: int = 0o755
    data: bytes = b""
    target: str = ""  # of a symbolic link


class Tree:
    """Paths are relative and without "." or ".."; missing parent folders are added in the archive."""

    def __init__(self):
        self.entries = {}

    def add(self, path, entry):
        path = posixpath.normpath(path).lstrip("/")
        if path.startswith("..") or path == ".":
            raise ValueError(f"{path} is outside of the tree")
        if self.entries.get(path, entry) != entry:
            raise ValueError(f"{path} is in the tree already, with other contents")
        self.entries[path] = entry

    def add_file(self, path, data, mode=0o644):
        self.add(path, Entry(FILE, mode, data))

    def add_link(self, path, target):
        self.add(path, Entry(LINK, 0o777, target=target))

    def add_directory(self, path, mode=0o755):
        self.add(path, Entry(DIRECTORY, mode))

    def size(self):
        return sum(len(entry.data) for entry in self.entries.values())

    def tar(self, epoch):
        """Sorted by name, owned by root, dated by the release's commit."""
        entries = dict(self.entries)
        for path in self.entries:
            while path := posixpath.dirname(path):
                entries.setdefault(path, Entry(DIRECTORY))
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(entries):
                archive.addfile(header(path, entries[path], epoch), io.BytesIO(entries[path].data))
        return out.getvalue()


def header(path, entry, epoch):
    info = tarfile.TarInfo(path)
    info.mode, info.mtime = entry.mode, epoch
    if entry.kind == DIRECTORY:
        info.type = tarfile.DIRTYPE
    elif entry.kind == LINK:
        info.type, info.linkname = tarfile.SYMTYPE, entry.target
    else:
        info.size = len(entry.data)
    return info


def gzip(data):
    """Without a name or a date in the header."""
    compressor = zlib.compressobj(9, wbits=31)
    return compressor.compress(data) + compressor.flush()
