"""Packs kubectl-tangram, with the libraries that other systems may lack, and its manifest for krew."""
import posixpath

import contents
import tree

NAME = "kubectl-tangram"
DESCRIPTION = "Show who shares which GPU, and why pods wait"


def names_of_libraries(collected):
    """One path for each library, by which the loader looks for it: not the files that links lead to."""
    ends = {posixpath.join(posixpath.dirname(path), entry.target)
            for path, entry in collected.entries.items() if entry.kind == tree.LINK}
    return [path for path in collected.entries if path not in ends]


def archive(build, release):
    """(tar.gz, packages). The program finds lib/ beside itself: cli/CMakeLists.txt."""
    program = build.program(f"bin/{NAME}")
    packed = tree.Tree()
    packed.add_file(NAME, program, 0o755)
    packed.add_file("kubectl_complete-tangram", release.file("deploy/cli/kubectl_complete-tangram"), 0o755)
    packed.add_file("LICENSE", release.license)
    collector = contents.Collector(build.packages)
    collector.add_needs_of(program)
    # glibc must be the system's own: it belongs to the loader.
    glibc = build.packages.package("libc6")
    for path in names_of_libraries(collector.tree):
        *_, (_, entry, package) = build.packages.chain(path)
        if package is not glibc:
            packed.add_file(f"lib/{posixpath.basename(path)}", entry.data)
    collector.used.pop("libc6")
    used = list(collector.used.values())
    for package in used:
        papers = contents.Collector(build.packages)
        papers.add_copyright(package)
        text = next(entry.data for path, entry in papers.tree.entries.items() if path.endswith("/copyright"))
        packed.add_file(f"licences/{package.name}", text)
    return tree.gzip(packed.tar(release.epoch)), sorted(used, key=lambda package: package.name)


def manifest(archives, release):
    """krew's YAML. archives: {architecture: (file name, sha256)}."""
    lines = [
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2", "kind: Plugin", "metadata:", "  name: tangram",
        "spec:", f"  version: v{release.version}", f"  shortDescription: {DESCRIPTION}", "  description: |",
        "    Shows the pods on every GPU that Tangram shares, why a pod is pending, what would fit,",
        "    and what is wrong with an installation.",
        "  caveats: |", "    Needs a glibc of 2.36 or newer: Debian 12, Ubuntu 22.10, Fedora 37.", "  platforms:",
    ]
    for architecture, (name, sha256) in sorted(archives.items()):
        uri = release.download_url.replace("VERSION", release.version).replace("FILE", name)
        lines += ["  - selector:", f"      matchLabels: {{os: linux, arch: {architecture}}}",
                  f"    uri: {uri}", f"    sha256: {sha256}", f"    bin: {NAME}"]
    return "\n".join(lines) + "\n"
