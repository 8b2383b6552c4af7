"""Unpacks an image of a release, to try its programs: unpack.py ARCHIVE ARCHITECTURE FOLDER"""
import io
import json
import sys
import tarfile
import zlib

import verify


def unpack(path, architecture, folder):
    layout = verify.Layout(path)
    manifests = json.loads(layout.blob(layout.top()))["manifests"]
    manifest = next(one for one in manifests if one["platform"]["architecture"] == architecture)
    for layer in json.loads(layout.blob(manifest))["layers"]:
        with tarfile.open(fileobj=io.BytesIO(zlib.decompress(layout.blob(layer), wbits=31))) as archive:
            archive.extractall(folder)


if __name__ == "__main__":
    unpack(*sys.argv[1:])
