"""Runs scripts/release in a repository of its own."""
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True

from small_release import ROOT, make_clone, make_release  # noqa: E402
# Its import also makes this one of scripts/release.d known.
import verify  # noqa: E402


class CommandTest(unittest.TestCase):
    """scripts/release in a repository of its own, with tiny programs."""

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.work.name)
        make_release(cls.folder / "parts", ["amd64"])
        cls.clone = cls.folder / "parts/source"
        make_clone(cls.clone)

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def release(self, *arguments, cwd=None):
        parts = self.folder / "parts"
        return subprocess.run([self.clone / "scripts/release", *arguments, "--programs", parts / "programs", "--packages",
                               parts / "packages"], cwd=cwd or self.clone, capture_output=True, text=True)

    def assert_refused(self, done, part):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(part, done.stderr)

    def test_it_makes_a_signed_release_that_verifies_and_counts_architectures(self):
        out = self.folder / "signed"
        done = self.release("1.2.3", "--out", out, "--sign-with", "sha256sum")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("arm64: left out, since there is no", done.stdout)
        self.assertRegex(done.stdout, r"verify-release: \d+ files of Tangram 1.2.3 for amd64 are sound")
        self.assertRegex(done.stdout, r"release: 1\.2\.3 of \w{12} for 1 of 2 architectures")
        self.assertEqual((out / "SHA256SUMS.sig").read_text().split()[0], verify.sha256((out / "SHA256SUMS").read_bytes()))

    def test_the_command_that_signs_runs_where_the_caller_is(self):
        caller = self.folder / "caller"
        caller.mkdir()
        (caller / "release-key").write_text("key\n")
        done = self.release("1.2.3", "--out", "signed", "--sign-with", "cat release-key -", cwd=caller)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        out = caller / "signed"
        self.assertEqual((out / "SHA256SUMS.sig").read_text(), "key\n" + (out / "SHA256SUMS").read_text())

    @unittest.skipUnless(shutil.which("ssh-keygen"), "ssh-keygen is missing")
    def test_the_command_of_the_page_signs(self):
        page = (ROOT / "docs/release.md").read_text()
        command = re.search(r"scripts/release \S+ --sign-with '(.*)'$", page, re.MULTILINE)[1]
        key = self.clone / re.search(r"-f (\S+)", command)[1]
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        out = self.folder / "signed-by-ssh"
        done = self.release("1.2.3", "--out", out, "--sign-with", command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (self.folder / "allowed-signers").write_text("release@example.com " + key.with_suffix(".pub").read_text())
        with open(out / "SHA256SUMS", encoding="utf-8") as sums:
            subprocess.run(["ssh-keygen", "-Y", "verify", "-f", self.folder / "allowed-signers", "-I", "release@example.com",
                            "-n", "tangram-release", "-s", out / "SHA256SUMS.sig"], stdin=sums, check=True,
                           capture_output=True)

    def test_a_signature_that_fails_is_an_error(self):
        self.assert_refused(self.release("1.2.3", "--out", self.folder / "unsigned", "--sign-with", "false"), "not signed")
        self.assert_refused(self.release("1.2.3", "--out", self.folder / "empty", "--sign-with", "true"), "printed nothing")

    def test_versions_that_are_none_or_another_are_refused(self):
        for version in ("v1.2.3", "1.2", "1.2.03", "1.2.3-rc.1", "1.2.3+build"):
            self.assert_refused(self.release(version), "is not a version like 1.2.3")
        self.assert_refused(self.release("1.2.4"), "CMakeLists.txt has version 1.2.3; commit 1.2.4 there")
        self.assert_refused(self.release("--out"), "the first argument is the version")

    def test_a_changed_tree_is_refused(self):
        extra = self.clone / "extra"
        extra.write_text("")
        self.addCleanup(extra.unlink)
        self.assert_refused(self.release("1.2.3", "--out", self.folder / "dirty"), "the tree is not clean")
        self.assertFalse((self.folder / "dirty").exists())

    def test_files_that_git_ignores_are_not_in_the_chart(self):
        ignored = self.clone / "deploy/chart/tangram/templates/a.yaml.orig"
        ignored.write_text("a: 2\n")
        self.addCleanup(ignored.unlink)
        out = self.folder / "ignored"
        done = self.release("1.2.3", "--out", out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with tarfile.open(out / "tangram-1.2.3.tgz") as archive:
            names = {member.name for member in archive if member.isfile()}
        self.assertEqual(names, {f"tangram/{name}" for name in ("Chart.yaml", "LICENSE", "values.yaml", "templates/a.yaml")})

    def test_a_folder_with_files_and_an_unknown_architecture_are_refused(self):
        self.assert_refused(self.release("1.2.3", "--out", self.folder), "is not empty")
        self.assert_refused(self.release("1.2.3", "--arch", "riscv64"), "write amd64 or arm64")

    def test_a_folder_without_packages_is_refused(self):
        empty = self.folder / "no-packages"
        (empty / "amd64").mkdir(parents=True)
        done = subprocess.run(["scripts/release", "1.2.3", "--out", self.folder / "none", "--programs",
                               self.folder / "parts/programs", "--packages", empty],
                              cwd=self.clone, capture_output=True, text=True)
        self.assert_refused(done, "contains no Debian package (.deb)")

    def test_help_teaches(self):
        done = subprocess.run(["scripts/release", "--help"], cwd=self.clone, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        for option in ("--arch", "--out", "--packages", "--programs", "--sign-with", "--download-url"):
            self.assertIn(option, done.stdout)

if __name__ == "__main__":
    unittest.main()
