"""Packs an image for all architectures into one OCI archive."""
import contents
import elf
import oci
import tree


class Built:
    """An image of one architecture."""

    def __init__(self, image, build, release):
        self.image, self.build = image, build
        programs = {path: build.program(source) for path, source in image.programs.items()}
        for path, data in programs.items():
            if not elf.is_elf(data) or elf.architecture(data) != build.architecture:
                raise ValueError(f"{image.programs[path]} in {build.folder} is not a program for {build.architecture}")
        self.debian, self.packages = contents.debian_layer(image, programs.values(), build.packages)
        self.own = contents.program_layer(programs, release.license)
        self.unpacked = self.debian.size() + self.own.size()
        self.compressed = 0

    def add_to(self, layout, release):
        """The descriptor of its manifest."""
        layers, identities = [], []
        for layer in (self.debian, self.own):
            archive = layer.tar(release.epoch)
            packed = tree.gzip(archive)
            self.compressed += len(packed)
            identities.append(oci.digest(archive))
            layers.append(layout.add_blob(oci.LAYER, packed))
        config = layout.add_blob(oci.CONFIG, oci.encode(self.config(release, identities)))
        return layout.add_manifest(config, layers, release.annotations(self.image),
                                   platform={"os": "linux", "architecture": self.build.architecture})

    def config(self, release, identities):
        history = [{"created": release.created, "created_by": text}
                   for text in ("files of Debian packages", "programs of Tangram")]
        return {
            "architecture": self.build.architecture, "os": "linux", "created": release.created,
            "config": {
                "User": self.image.user, "Entrypoint": [self.image.entrypoint],
                "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
                "ExposedPorts": {port: {} for port in self.image.ports},
                "Labels": release.annotations(self.image),
            },
            "rootfs": {"type": "layers", "diff_ids": identities}, "history": history,
        }


def archive(built, release):
    """(archive, digest of its index) of one image, from its builds for some architectures."""
    layout, image = oci.Layout(), built[0].image
    manifests = [one.add_to(layout, release) for one in built]
    index = layout.add_index(manifests, release.annotations(image))
    # The first name is for containerd and Docker, the second for skopeo.
    names = {"io.containerd.image.name": f"docker.io/library/{image.name}:{release.version}",
             "org.opencontainers.image.ref.name": release.version}
    return layout.tar(index, names, release.epoch), index["digest"]
