"""Shows that the check of the documentation finds each kind of fault."""
import subprocess
import sys

import blocks
import check
import run_blocks

# The text of a page; a part of its only fault, or nothing.
PAGES = [
    ("    kubectl get nodes", "no comment says how"),
    ("```sh\nls\n```", "no comment says how"),
    ("    $ whatever", "no comment says how"),
    ("    X=1 scripts/test", "no comment says how"),
    ("<!-- not run: needs a GPU -->\n\n    nvidia-smi", ""),
    ("<!-- not run: needs a GPU -->\n\n    a-program-that-nobody-knows --x", ""),
    ("<!-- run: tree -->\n\n    for a in b; do ls", "is not valid shell"),
    ("<!-- run: tree -->\n\n    cat <<END\n    text", "is not valid shell"),
    ("<!-- run: tree -->\n\n    $ ls 'a\n    what ls prints isn't read", "is not valid shell"),
    ("<!-- run: tree -->\n\n    build/release/bin/tangram-extender --confg x", "has no option --confg"),
    ("<!-- run: tree -->\n\n    kubectl tangram fit --gpu-share 1", "has no option --gpu-share"),
    ("<!-- run: tree -->\n\n    scripts/test --presets x -- --repeat 3", "has no option --presets"),
    ("<!-- run: tree -->\n\n    scripts/generate/manifests --chekc", "scripts/generate/manifests has no option --chekc"),
    ("<!-- run: tree -->\n\n    ls && kubectl tangram top --namespace a | jq --raw-output .", ""),
    ("<!-- run by: .ci/run -->\n\n    scripts/test", ""),
    ("<!-- run by: .ci/run -->\n\n    scripts/study/policies", "does not run scripts/study/policies"),
    ("<!-- run by: scripts/nothing -->\n\n    scripts/test", "there is no such script"),
    ("<!-- run: cluster after docs/install.md#nowhere -->\n\n    helm list", "no commands run on a cluster there"),
    ("    an output, {not: commands}", ""),
    ("<!-- run: tree -->\n\n    cd x && tangram-extender certificates", "write build/release/bin/tangram-extender"),
    ("<!-- run: tree -->\n\n    kubectl-tangram top; ls tangram-extender", ""),
]
LINES = [
    ("[a](docs/install.md#on-a-cluster) `docs/install.md` `e2e/quota_test`", ""),
    ("[a](docs/nothing.md)", "which does not exist"),
    ("[a](docs/install.md#on-the-moon)", "no such heading"),
    ("see `docs/nothing.md`", "there is no docs/nothing.md"),
    ("run `scripts/nothing`", "there is no scripts/nothing"),
    ("try `kubectl tangram top --colour`", "has no option --colour"),
    ("`tangram-node --help` lists them", "write build/release/bin/tangram-node"),
    ("the Deployment `tangram-extender`, `build/dev/bin/tangram-node --help`", ""),
]
# The text of a page of that name; a part of its only fault, or nothing.
PYTHON = [
    ("<!-- python: compiled -->\n\n```python\nprint(1)\n```", ""),
    ("  <!-- python: compiled -->\n\n  ```python\n  if True:\n      print(1)\n  ```", ""),
    ("<!-- python: compiled -->\n\n```python\nprint(1\n```", "is not valid Python"),
    ("```python\nprint(1)\n```", "no comment says how"),
    ("<!-- python: run by scripts/nothing -->\n\n```python\nprint(1)\n```", "there is no scripts/nothing"),
    ("<!-- python: run by scripts/test -->\n\n```python\nprint(1)\n```", "does not read page.md"),
]


# Commands in running text that can be typed as they are.
INLINE = [
    ("`kubectl get nodes -o yaml`, `helm list` and `kubectl delete pod half`",
     ["kubectl get nodes -o yaml", "kubectl delete pod half"]),
    ("`kubectl describe pod`, `scripts/test`, `kubectl patch node …`, `tangram-node`", []),
    ("`scripts/e2e test 'Soak*'` or `tangram-node --help`", ["scripts/e2e test 'Soak*'", "tangram-node --help"]),
]


# Whether a block of these commands passes.
SCRIPTS = [
    ("true && true\nX=1\necho $X", True),
    ("false && true\ntrue", False),
    ("false | true\ntrue", False),
    ("for x in 1 2; do [ $x = 2 ]; done", False),
    ("$ (exit 3)", True),
    ("$ (exit 1)", False),
]


def faults_of(text):
    return [fault for block in blocks.parse("page.md", text) for fault in check.block_faults(block)]


def wrong_faults():
    cases = [(text, wanted, faults_of(text)) for text, wanted in PAGES]
    cases += [(text, wanted, [fault for _, fault in check.line_faults("README.md", text)]) for text, wanted in LINES]
    cases += [(text, wanted, [fault for _, fault in check.python_faults("page.md", text)]) for text, wanted in PYTHON]
    for text, wanted, found in cases:
        good = len(found) == 1 and wanted in found[0] if wanted else not found
        if not good:
            yield f"{text!r}: wanted {wanted or 'nothing'!r}, found {found}"
    for text, wanted in INLINE:
        if check.inline_commands(text) != wanted:
            yield f"{text!r}: found {check.inline_commands(text)}"
    first = blocks.section_of("deploy/webhook/README.md#install")[0].file
    if first != "deploy/scheduler/README.md":
        yield f"the webhook's installation begins with {first}, without the extender"
    try:
        blocks.parse("page.md", "<!-- run: moon -->")
        yield "an unknown environment is accepted"
    except blocks.Malformed:
        pass


def wrong_scripts():
    commands = "a |\n  b\nfor x in y; do\n  c\ndone\ncat <<END\nd\nEND\ne 'f\n g' \\\n  h"
    if run_blocks.split(commands) != ["a |\n  b", "for x in y; do\n  c\ndone", "cat <<END\nd\nEND", "e 'f\n g' \\\n  h"]:
        yield f"commands are split into {run_blocks.split(commands)}"
    for text, good in SCRIPTS:
        block = blocks.Block("page.md", 1, text, "", blocks.Mark("run", "tree", "tree"))
        status = subprocess.run(["bash", "-c", run_blocks.script_of(block)], capture_output=True).returncode
        if (status == 0) != good:
            yield f"{text!r} ends with {status}"


wrong = [*wrong_faults(), *wrong_scripts()]
if wrong:
    sys.exit("\n".join(["check-docs: its self-test failed", *wrong]))
