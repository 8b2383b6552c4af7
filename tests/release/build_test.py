"""Runs the build of scripts/release, with a compiler and a mirror of Debian that only copy files."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from small_release import make_clone, package, write_packages, write_programs, write_source  # noqa: E402

HEADER = "usr/include/rapidjson/rapidjson.h"
# Each program that a build calls, as a shell script. $PARTS is the folder of programs and of the mirror.
COMMANDS = {
    "aarch64-linux-gnu-g++-12": "true",
    "aarch64-linux-gnu-strip": 'cp "$3" "$2"',
    "strip": 'cp "$3" "$2"',
    # As CMake's, a build does not notice another header with an old date. The programs end with the header.
    "cmake": f'''
        [ "$1" = --build ] || exit 0
        [ ! -e "build/$3" ] || exit 0
        mkdir -p "build/$3"
        case $3 in *-arm64) architecture=arm64 root=build/sysroot/arm64 ;; *) architecture=amd64 root=$PARTS/amd64 ;; esac
        cp -r "$PARTS/programs/$architecture/." "build/$3"
        for file in build/"$3"/bin/*; do cat "$root/{HEADER}" >>"$file"; done''',
    "dpkg-query": '''
        for argument; do case $argument in -*|'$'*) ;; *) echo "$argument 12.2.0-1" ;; esac; done''',
    "apt-get": '''
        for argument; do
          case $argument in
            indextargets) echo "Packages|Debian|main|http://example.org/ bookworm" ;;
            Dir::Cache::archives=*) archives=${argument#*=} ;;
            install) cp "$PARTS"/mirror/*.deb "$archives" ;;
          esac
        done''',
}


class BuildTest(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = pathlib.Path(work.name)
        self.clone = self.folder / "clone"
        write_source(self.clone)
        make_clone(self.clone)
        for architecture in ("amd64", "arm64"):
            write_programs(self.folder / "programs" / architecture, architecture)
            (self.folder / "programs" / architecture / "compiled-in").unlink()
        (self.folder / "commands").mkdir()
        for name, text in COMMANDS.items():
            (self.folder / "commands" / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.folder / "commands" / name).chmod(0o755)

    def write_mirror(self, architecture, version):
        """All packages for it; the version of the headers is also what they contain."""
        mirror = self.folder / "mirror"
        shutil.rmtree(mirror, ignore_errors=True)
        write_packages(mirror, architecture)
        package(mirror, "rapidjson-dev", "all", {HEADER: f"// rapidjson {version}\n".encode()}, version)
        for name in ("libboost1.81-dev", "libcli11-dev"):
            package(mirror, name, architecture, {}, version)

    def release(self, name, architecture, *arguments):
        """The folder of a release that the clone makes."""
        done = self.run_release(name, architecture, *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.folder / name

    def run_release(self, name, architecture, *arguments):
        path = f"{self.folder / 'commands'}:{os.environ['PATH']}"
        return subprocess.run([self.clone / "scripts/release", "1.2.3", "--arch", architecture, "--out", self.folder / name,
                               *arguments], cwd=self.folder, env={**os.environ, "PATH": path, "PARTS": str(self.folder)},
                              capture_output=True, text=True)

    def compiled_in(self, out, architecture):
        """{package: version} of those that have no archive in the image."""
        bill = json.loads((out / f"tangram-node-1.2.3-{architecture}.spdx.json").read_text())
        return {entry["name"]: entry["versionInfo"] for entry in bill["packages"]
                if entry["SPDXID"].startswith("SPDXRef-Compiled-")}

    def assert_contains_header(self, architecture, version):
        """The programs of the latest release, that is."""
        program = self.clone / "build/programs" / architecture / "bin/tangram-node"
        self.assertTrue(program.read_bytes().endswith(f"// rapidjson {version}\n".encode()))

    def test_arm64_is_built_with_the_packages_of_its_release(self):
        self.write_mirror("arm64", "1.0-1")
        first = self.release("first", "arm64")
        self.assert_contains_header("arm64", "1.0-1")
        self.assertEqual(self.compiled_in(first, "arm64"), {
            "libboost1.81-dev": "1.0-1", "rapidjson-dev": "1.0-1", "libcli11-dev": "1.0-1",
            "libstdc++-12-dev-arm64-cross": "12.2.0-1"})
        shutil.copytree(self.clone / "build/packages", self.folder / "kept")

        self.write_mirror("arm64", "2.0-1")
        newer = self.release("newer", "arm64")
        self.assert_contains_header("arm64", "2.0-1")
        self.assertEqual(self.compiled_in(newer, "arm64")["rapidjson-dev"], "2.0-1")

        again = self.release("again", "arm64", "--packages", "kept")
        self.assert_contains_header("arm64", "1.0-1")
        for path in first.iterdir():
            self.assertEqual(path.read_bytes(), (again / path.name).read_bytes(), path.name)

    def test_amd64_is_built_anew(self):
        self.write_mirror("amd64", "1.0-1")
        for version in ("1.0-1", "2.0-1"):
            header = self.folder / "amd64" / HEADER
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text(f"// rapidjson {version}\n")
            out = self.release(version, "amd64")
            self.assert_contains_header("amd64", version)
            self.assertEqual(self.compiled_in(out, "amd64"), {name: "12.2.0-1" for name in (
                "libboost1.81-dev", "rapidjson-dev", "libcli11-dev", "libstdc++-12-dev")})

    def test_two_versions_of_a_header_are_refused(self):
        self.write_mirror("arm64", "1.0-1")
        package(self.folder / "mirror", "rapidjson-dev", "all", {}, "2.0-1")
        done = self.run_release("out", "arm64")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there are 2 archives of rapidjson-dev for arm64, not 1", done.stderr)

    def test_packages_without_those_to_build_with_are_refused(self):
        write_packages(self.folder / "packages/arm64", "arm64")
        done = self.run_release("out", "arm64", "--packages", "packages")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("packages/sysroot-arm64 contains no Debian package (.deb) to build for arm64 with", done.stderr)
        self.assertFalse((self.clone / "build").exists())

    def test_programs_that_do_not_say_what_they_contain_are_refused(self):
        write_packages(self.folder / "packages/arm64", "arm64")
        done = self.run_release("out", "arm64", "--packages", "packages", "--programs", "programs")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("programs/arm64/compiled-in is missing", done.stderr)


if __name__ == "__main__":
    unittest.main()
