"""Packs the Helm chart, with the digests of the images in its values."""
import pathlib
import re

import oci
import tree

CONFIG = "application/vnd.cncf.helm.config.v1+json"
CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def with_digests(values, digests):
    """The text of values.yaml. digests: by repository."""
    for repository, digest in digests.items():
        pattern = rf'(^ +repository: {re.escape(repository)}\n(?: +\w+:.*\n)*? +digest: )""'
        values, count = re.subn(pattern, rf'\1{digest}', values, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"values.yaml has {count} empty digests after \"repository: {repository}\", not 1")
    return values


def archive(folder, digests, release):
    """The chart as `helm package` packs it."""
    folder, packed = pathlib.Path(folder), tree.Tree()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or path.name.startswith("."):  # as .helmignore
            continue
        data = path.read_bytes()
        if inside.as_posix() == "values.yaml":
            data = with_digests(data.decode(), digests).encode()
        packed.add_file(f"{folder.name}/{inside.as_posix()}", data)
    packed.add_file(f"{folder.name}/LICENSE", release.license)
    return tree.gzip(packed.tar(release.epoch))


def artefact(content, description, release):
    """(archive, digest): the chart as `helm push` puts it into a registry. description: Chart.yaml's fields."""
    layout = oci.Layout()
    config = layout.add_blob(CONFIG, oci.encode(description))
    annotations = {"org.opencontainers.image.title": description["name"],
                   "org.opencontainers.image.version": description["version"],
                   "org.opencontainers.image.description": description["description"],
                   "org.opencontainers.image.created": release.created}
    manifest = layout.add_manifest(config, [layout.add_blob(CONTENT, content)], annotations)
    return (layout.tar(manifest, {"org.opencontainers.image.ref.name": release.version}, release.epoch),
            manifest["digest"])
