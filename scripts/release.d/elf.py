"""Reads which shared libraries an ELF file needs: 64 bits, little endian, as amd64 and arm64 are."""
import struct

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB = 1, 5
MACHINES = {62: "amd64", 183: "arm64"}


def is_elf(data):
    return data[:6] == b"\x7fELF\x02\x01"


def architecture(data):
    return MACHINES.get(struct.unpack_from("<H", data, 18)[0], "unknown")


def segments(data):
    """(type, offset, address, size) of each."""
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for index in range(count):
        kind, _, at, address, _, length = struct.unpack_from("<IIQQQQ", data, offset + index * size)
        yield kind, at, address, length


def text_at(data, offset):
    return data[offset:data.index(b"\0", offset)].decode()


def interpreter(data):
    """The path of the dynamic loader, or "" in a library."""
    return next((text_at(data, at) for kind, at, _, _ in segments(data) if kind == PT_INTERP), "")


def needed(data):
    """The names of the libraries, in the order of the file."""
    all_segments = list(segments(data))
    dynamic = next(((at, size) for kind, at, _, size in all_segments if kind == PT_DYNAMIC), None)
    if dynamic is None:
        return []
    tags = list(struct.iter_unpack("<qQ", data[dynamic[0]:dynamic[0] + dynamic[1] // 16 * 16]))
    strings = next(value for tag, value in tags if tag == DT_STRTAB)
    offset = next(at + strings - address for kind, at, address, size in all_segments
                  if kind == PT_LOAD and address <= strings < address + size)
    return [text_at(data, offset + value) for tag, value in tags if tag == DT_NEEDED]
