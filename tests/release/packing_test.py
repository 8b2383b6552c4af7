"""Packs a release of tiny programs and packages, and breaks it: scripts/release.d. Takes two seconds."""
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True

from small_release import PACK, files_of_image, make_release, program, write_programs  # noqa: E402
# Its import also makes these of scripts/release.d known.
import contents  # noqa: E402
import debian  # noqa: E402
import oci  # noqa: E402
import pack  # noqa: E402
import tree  # noqa: E402
import verify  # noqa: E402


class ReleaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.work.name)
        cls.out, done = make_release(cls.folder / "first")
        cls.said = done.stdout
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def image(self, name="tangram-node", architecture="amd64"):
        return files_of_image(self.out / f"{name}-1.2.3.oci.tar", architecture)

    def test_two_folders_give_the_same_bytes(self):
        other, done = make_release(self.folder / "a-folder-with-another-name")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = sorted(path.name for path in self.out.iterdir())
        self.assertEqual(names, sorted(path.name for path in other.iterdir()))
        for name in names:
            self.assertEqual((self.out / name).read_bytes(), (other / name).read_bytes(), name)

    def test_a_sound_release_has_no_faults(self):
        self.assertEqual(list(verify.faults(self.out)), [])

    def test_it_prints_the_sizes_of_each_image(self):
        for name in ("tangram-extender", "tangram-node"):
            for architecture in ("amd64", "arm64"):
                self.assertRegex(self.said, rf"{name} linux/{architecture}: compressed [\d.]+ MiB, unpacked [\d.]+ MiB")

    def test_an_image_has_what_its_programs_link_and_nothing_else(self):
        for architecture, triplet in debian.TRIPLETS.items():
            names = self.image("tangram-extender", architecture).keys()
            self.assertTrue({"usr/bin/tangram-extender", f"usr/lib/{triplet}/libfmt.so.9", f"usr/lib/{triplet}/libfmt.so.9.1.0",
                             f"usr/lib/{triplet}/libdeep.so.1", f"usr/lib/{triplet}/libgcc_s.so.1"} <= names)
            for absent in (f"usr/lib/{triplet}/unused.so.1", "usr/bin/unused", "usr/bin/dash"):
                self.assertNotIn(absent, names)

    def test_the_loader_is_found_where_programs_look_for_it(self):
        files = self.image()
        self.assertEqual(files["lib64"][0].linkname, "usr/lib64")
        self.assertEqual(files["usr/lib64/ld-linux-x86-64.so.2"][0].linkname, "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
        self.assertIn("usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", files)
        self.assertIn("usr/lib/ld-linux-aarch64.so.1", self.image(architecture="arm64"))

    def test_layers_are_sorted_and_have_one_owner_and_date(self):
        layout = verify.Layout(self.out / "tangram-node-1.2.3.oci.tar")
        index = json.loads(layout.blob(layout.top()))
        for layer in json.loads(layout.blob(index["manifests"][0]))["layers"]:
            packed = layout.blob(layer)
            self.assertEqual(packed[4:8], bytes(4), "gzip's date")
            with tarfile.open(fileobj=io.BytesIO(zlib.decompress(packed, wbits=31))) as archive:
                members = archive.getmembers()
            self.assertEqual([one.name for one in members], sorted(one.name for one in members))
            for one in members:
                self.assertEqual((one.uid, one.gid, one.uname, one.gname, one.mtime), (0, 0, "", "", 1700000000), one.name)

    def test_no_file_is_set_user_id(self):
        for name, (member, _) in self.image().items():
            self.assertEqual(member.mode & 0o6000, 0, name)

    def test_an_image_has_certificates_users_and_papers(self):
        files = self.image()
        self.assertEqual(files["etc/ssl/certs/ca-certificates.crt"][1], b"A\nB\n")
        self.assertIn(b"nonroot:x:65532:65532:", files["etc/passwd"][1])
        self.assertEqual(files["usr/share/doc/tangram/LICENSE"][1], b"the licence\n")
        self.assertEqual(files["usr/share/doc/libdeep1/copyright"][1], b"licence of libdeep1\n")
        self.assertIn(b"Version: 1:2.3+b1\n", files["var/lib/dpkg/status.d/libdeep1"][1])

    def test_images_run_as_their_users(self):
        users = {}
        for image in contents.IMAGES:
            layout = verify.Layout(self.out / f"{image.name}-1.2.3.oci.tar")
            manifest = json.loads(layout.blob(layout.top()))["manifests"][0]
            config = json.loads(layout.blob(json.loads(layout.blob(manifest))["config"]))
            users[image.name] = config["config"]["User"]
            self.assertEqual(config["config"]["Entrypoint"], [f"/usr/bin/{image.name}"])
        self.assertEqual(users, {"tangram-extender": "65532:65532", "tangram-node": "0:0"})

    def test_the_bill_of_materials_lists_what_is_there(self):
        bill = json.loads((self.out / "tangram-extender-1.2.3-arm64.spdx.json").read_text())
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        versions = {entry["name"]: entry["versionInfo"] for entry in bill["packages"]}
        self.assertEqual(versions["tangram-extender"], "1.2.3")
        self.assertEqual(versions["libdeep1"], "1:2.3+b1")
        self.assertEqual(versions["libboost1.81-dev"], "1.81.0-5+arm64")
        self.assertNotIn("unused", versions)
        purl = next(entry for entry in bill["packages"] if entry["name"] == "libdeep1")["externalRefs"][0]["referenceLocator"]
        self.assertEqual(purl, "pkg:deb/debian/libdeep1@1%3A2.3%2Bb1?arch=arm64&distro=debian-12")
        known = {entry["SPDXID"] for entry in bill["packages"]} | {"SPDXRef-DOCUMENT"}
        for relation in bill["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, known)

    def test_the_chart_names_the_images_by_digest(self):
        digests = json.loads((self.out / "release.json").read_text())["images"]
        with tarfile.open(self.out / "tangram-1.2.3.tgz") as archive:
            values = archive.extractfile("tangram/values.yaml").read().decode()
            self.assertNotIn("tangram/.helmignore", archive.getnames())
        for digest in digests.values():
            self.assertEqual(values.count(f"digest: {digest}"), 1)
        self.assertEqual(values.count('digest: ""'), 2, "those of Kubernetes' own images")

    def test_the_tool_brings_its_libraries_but_not_glibc(self):
        with tarfile.open(self.out / "kubectl-tangram-1.2.3-linux-amd64.tar.gz") as archive:
            names = set(archive.getnames())
        self.assertEqual(names, {"LICENSE", "kubectl-tangram", "kubectl_complete-tangram", "lib", "lib/libfmt.so.9",
                                 "lib/libdeep.so.1", "licences", "licences/libfmt9", "licences/libdeep1"})

    def test_krew_finds_both_archives(self):
        text = (self.out / "tangram.yaml").read_text()
        self.assertIn("  version: v1.2.3\n", text)
        for architecture in ("amd64", "arm64"):
            self.assertIn(f"uri: https://example.org/1.2.3/kubectl-tangram-1.2.3-linux-{architecture}.tar.gz\n", text)


def with_config(path, **fields):
    """(archive, digest) of the image with these fields in its configuration, and all digests made right."""
    read, written, manifests = verify.Layout(path), oci.Layout(), []
    index = json.loads(read.blob(read.top()))
    for descriptor in index["manifests"]:
        manifest = json.loads(read.blob(descriptor))
        config = json.loads(read.blob(manifest["config"])) | fields
        layers = [written.add_blob(oci.LAYER, read.blob(layer)) for layer in manifest["layers"]]
        manifests.append(written.add_manifest(written.add_blob(oci.CONFIG, oci.encode(config)), layers,
                                              manifest["annotations"], platform=descriptor["platform"]))
    top = written.add_index(manifests, index["annotations"])
    return written.tar(top, {}, 0), top["digest"]


class BrokenReleaseTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.folder = pathlib.Path(self.work.name)

    def release(self):
        out, done = make_release(self.folder / "release", ["amd64"])
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def change(self, out, name, change):
        """And makes SHA256SUMS right again, as who changes a file on purpose would."""
        path = out / name
        path.write_bytes(change(path.read_bytes()))
        lines = [f"{verify.sha256((out / line[66:]).read_bytes())}  {line[66:]}"
                 for line in (out / "SHA256SUMS").read_text().splitlines()]
        (out / "SHA256SUMS").write_text("\n".join(lines) + "\n")

    def change_summary(self, out, **fields):
        self.change(out, "release.json", lambda data: json.dumps(json.loads(data) | fields).encode())

    def assert_fault(self, out, part):
        self.assertIn(part, "\n".join(verify.faults(out)))

    def test_every_changed_file_is_noticed(self):
        out = self.release()
        for path in sorted(out.iterdir()):
            if path.name == "SHA256SUMS":
                continue
            data = path.read_bytes()
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            self.assert_fault(out, f"{path.name}: is not the file")
            path.write_bytes(data)
        self.assertEqual(list(verify.faults(out)), [])

    def test_a_missing_and_an_extra_file_are_noticed(self):
        out = self.release()
        (out / "tangram.yaml").rename(out / "extra.yaml")
        self.assert_fault(out, "tangram.yaml: is missing")
        self.assert_fault(out, "extra.yaml: is not in SHA256SUMS")

    def test_a_corrupted_blob_is_noticed_by_its_digest(self):
        out = self.release()
        self.change(out, "tangram-node-1.2.3.oci.tar", lambda data: data.replace(b'"os":"linux"', b'"os":"minix"'))
        self.assert_fault(out, "has other contents than its name says")

    def test_a_replaced_image_is_noticed(self):
        out = self.release()
        name = "tangram-node-1.2.3.oci.tar"
        other = (out / "tangram-extender-1.2.3.oci.tar").read_bytes()
        self.change(out, name, lambda _: other)
        self.assert_fault(out, f"{name}: its digest is")

    def test_an_image_for_another_architecture_is_noticed(self):
        out = self.release()
        name = "tangram-node-1.2.3.oci.tar"
        archive, digest = with_config(out / name, architecture="arm64")
        before = json.loads((out / "release.json").read_text())["images"]["tangram-node"]
        self.change(out, name, lambda _: archive)
        self.change(out, "release.json", lambda data: data.replace(before.encode(), digest.encode()))
        self.assert_fault(out, f"{name}: its index says architecture amd64, but the image's configuration says arm64")

    def test_the_charts_digest_is_compared(self):
        out = self.release()
        self.change_summary(out, chart="sha256:" + "0" * 64)
        self.assert_fault(out, "tangram-chart-1.2.3.oci.tar: its digest is sha256:")

    def test_a_summary_without_an_image_is_noticed(self):
        out = self.release()
        images = json.loads((out / "release.json").read_text())["images"]
        self.change_summary(out, images={"tangram-node": images["tangram-node"]})
        self.assert_fault(out, "release.json: has no digest of tangram-extender")
        self.change_summary(out, images={**images, "tangram-other": "sha256:0"})
        self.assert_fault(out, "release.json: names tangram-other, which is no image of Tangram")

    def test_a_summary_without_architectures_is_noticed(self):
        out = self.release()
        for architectures in ([], ["amd64", "amd64"]):
            self.change_summary(out, architectures=architectures)
            self.assert_fault(out, "release.json: its architectures are")

    def test_a_missing_and_an_extra_file_are_noticed_where_the_list_agrees(self):
        out = self.release()
        (out / "kubectl-tangram-1.2.3-linux-amd64.spdx.json").rename(out / "tangram-node-1.2.2-amd64.spdx.json")
        sums = (out / "SHA256SUMS").read_text()
        (out / "SHA256SUMS").write_text(sums.replace("kubectl-tangram-1.2.3-linux-amd64.spdx.json",
                                                     "tangram-node-1.2.2-amd64.spdx.json"))
        self.assertEqual(list(verify.faults(out)), [
            "kubectl-tangram-1.2.3-linux-amd64.spdx.json: is missing, and not in SHA256SUMS",
            "tangram-node-1.2.2-amd64.spdx.json: is no file of a release 1.2.3 for amd64"])

    def test_a_second_line_for_a_file_is_noticed(self):
        out = self.release()
        with open(out / "SHA256SUMS", "r+", encoding="utf-8") as sums:
            first = sums.readline()
            sums.seek(0, io.SEEK_END)
            sums.write(first)
        self.assertEqual(list(verify.faults(out)), [f"{first[66:-1]}: SHA256SUMS has 2 lines for it, not 1"])

    def test_a_package_that_the_bill_conceals_is_noticed(self):
        out = self.release()
        self.change(out, "tangram-node-1.2.3-amd64.spdx.json", lambda data: data.replace(b"1:2.3+b1", b"1:2.4+b1"))
        self.assert_fault(out, "image and bill of materials for amd64 differ in libdeep1")

    def test_krews_checksum_is_compared(self):
        out = self.release()
        self.change(out, "tangram.yaml", lambda data: data.replace(b"sha256: ", b"sha256: 0"))
        self.assert_fault(out, "does not name kubectl-tangram-1.2.3-linux-amd64.tar.gz")

    def test_an_unreadable_archive_is_a_fault_not_a_crash(self):
        out = self.release()
        self.change(out, "tangram-chart-1.2.3.oci.tar", lambda data: data[:700])
        self.assert_fault(out, "tangram-chart-1.2.3.oci.tar: ")

    def test_lists_that_cannot_be_read_are_faults_not_crashes(self):
        out = self.release()
        for name, text in [("release.json", "{"), ("release.json", "[]"), ("release.json", "{}"), ("SHA256SUMS", "x\n"),
                           ("SHA256SUMS", "\0" * 80)]:
            before = (out / name).read_text()
            (out / name).write_text(text)
            self.assert_fault(out, "release.json")
            (out / name).write_text(before)

    def test_a_library_that_no_package_has_ends_it(self):
        write = self.folder / "release"
        out, _ = make_release(write, ["amd64"])
        for path in (write / "packages/amd64").glob("libdeep1*"):
            path.unlink()
        packages = debian.Packages(write / "packages/amd64", "amd64")
        with self.assertRaisesRegex(debian.Missing, "no package contains /usr/lib/x86_64-linux-gnu/libdeep.so.1"):
            contents.debian_layer(contents.EXTENDER, [program("amd64", ["libfmt.so.9"])], packages)

    def test_a_program_for_another_machine_ends_it(self):
        folder = self.folder / "mixed"
        make_release(folder, ["amd64"])
        write_programs(folder / "programs/amd64", "arm64")
        for path in (folder / "out").iterdir():
            path.unlink()
        done = subprocess.run([*PACK, "--version", "1.2.3", "--commit", "c",
                               "--epoch", "1", "--source", str(folder / "source"), "--chart-fields", "{}",
                               "--download-url", "u", "--out", str(folder / "out"), "--build", "amd64",
                               str(folder / "programs/amd64"), str(folder / "packages/amd64")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not a program for amd64", done.stderr)

    def test_a_folder_with_files_is_not_written_to(self):
        out = self.release()
        with self.assertRaisesRegex(ValueError, "is not empty"):
            pack.Folder(out)


class TreeTest(unittest.TestCase):
    def test_a_path_outside_is_refused(self):
        with self.assertRaises(ValueError):
            tree.Tree().add_file("../passwd", b"")

    def test_one_path_has_one_content(self):
        one = tree.Tree()
        one.add_file("a", b"1")
        one.add_file("a", b"1")
        with self.assertRaises(ValueError):
            one.add_file("a", b"2")

    def test_a_digest_is_that_of_the_bytes(self):
        self.assertEqual(oci.digest(b""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")


if __name__ == "__main__":
    unittest.main()
