"""OCI image layouts: writes one as a tar archive. https://github.com/opencontainers/image-spec"""
import hashlib
import json

import tree

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def encode(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Layout:
    def __init__(self):
        self.tree = tree.Tree()
        self.tree.add_file("oci-layout", encode({"imageLayoutVersion": "1.0.0"}))

    def add_blob(self, media_type, data, **more):
        """Its descriptor."""
        name = digest(data)
        self.tree.add_file(f"blobs/{name.replace(':', '/')}", data)
        return {"mediaType": media_type, "digest": name, "size": len(data), **more}

    def add_manifest(self, config, layers, annotations, **more):
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
                    "annotations": annotations}
        return self.add_blob(MANIFEST, encode(manifest), **more)

    def add_index(self, manifests, annotations):
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests, "annotations": annotations}
        return self.add_blob(INDEX, encode(index))

    def tar(self, descriptor, names, epoch):
        """The archive, with one image in it, under these names (annotations)."""
        top = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [{**descriptor, "annotations": names}]}
        self.tree.add_file("index.json", encode(top))
        return self.tree.tar(epoch)
