"""Finds the commands in the documentation, and how each is tested.

A block of commands is an indented block, or a fenced block of "sh". A hidden comment says how the blocks after
it are tested, until the next such comment:

    <!-- run: tree -->                      run in this tree, with its programs built
    <!-- run: tree, goes on -->             each line starts a program that listens and keeps running
    <!-- run: cluster -->                   run on a real control plane without Tangram
    <!-- run: another cluster -->           the same, on a new one instead of that of the file's earlier blocks
    <!-- run: cluster after FILE#HEADING --> run after the commands of that section, or file
    <!-- run by: SCRIPT, SCRIPT -->         these scripts, or scripts that they call, run the same programs
    <!-- not run: needs a container engine --> not tested, with the reason

This comment applies only to the next block, which is the output of the command in this tree, or a part of it:

    <!-- printed by: scripts/demo -->

A fenced block of "python" has one of these comments above it, and must compile:

    <!-- python: compiled -->               nothing runs it, since it needs a card
    <!-- python: run by SCRIPT -->          this script runs it, as it stands in the page

Between blocks, <!-- by hand: NAME --> runs a function of tests/docs/manual_steps.sh, which does what the text
describes without a command.
"""
import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/*.md", "deploy/**/README.md"]
INLINE_PAGE = "tests/docs/inline.md"  # commands in running text

COMMENT = re.compile(r"^\s*<!-- (run|run by|not run|by hand|printed by): (.+?) -->$")
PYTHON = re.compile(r"(?:<!-- python: (?:(compiled)|run by (\S+)) -->\s*\n)?\s*```python\n(.*?)\n\s*```", re.DOTALL)
RUN = re.compile(r"(?P<environment>tree|cluster|another cluster)(?P<goes_on>, goes on)?(?: after (?P<after>\S+))?")

# Possible first words of a block of commands, besides programs of this tree and NAME=VALUE.
COMMAND_WORDS = set("""cd cmake cp ctr curl diff docker export for git go helm if jq kind kubectl ls mkdir mv
    nvidia-ctk nvidia-smi oc openssl printf promtool rm sed sha256sum skopeo source ssh ssh-keygen sudo systemctl tar
    test wget while""".split())
OWN_WORD = re.compile(r"(\./|\.ci/|scripts/|build/\w+/(bin|tests)/|tangram-|kubectl-tangram)\S+|\w+=\S*")


class Malformed(Exception):
    """A comment of none of the forms above."""


@dataclasses.dataclass
class Mark:
    kind: str  # run, run by, not run, printed by
    text: str  # after the colon
    environment: str = ""  # of run
    goes_on: bool = False
    after: str = ""


@dataclasses.dataclass
class Block:
    file: str
    line: int  # of its first line, from 1
    text: str  # without the indentation common to all lines
    section: str  # the anchor of the heading above it
    mark: Mark | None

    @property
    def place(self):
        return f"{self.file}:{self.line}"

    @property
    def is_transcript(self):
        return self.text.startswith("$ ")

    @property
    def commands(self):
        """What the reader types: in a transcript, the lines with a prompt."""
        if self.mark and self.mark.kind == "printed by":
            return self.mark.text
        if not self.is_transcript:
            return self.text
        return "\n".join(line[2:] for line in self.text.splitlines() if line.startswith("$ "))


@dataclasses.dataclass
class ManualStep:
    file: str
    line: int
    name: str
    section: str
    mark: Mark | None


def tracked(*patterns):
    out = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others",
                          "--exclude-standard", "--", *(f":(glob){p}" for p in patterns)],
                         cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in out.splitlines() if (ROOT / name).is_file()})


def pages():
    return [*tracked(*PAGES), INLINE_PAGE]


def anchor(heading):
    """The anchor that GitHub derives from a heading."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)|`", lambda m: m[1] or "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def read_mark(kind, text, place):
    if kind != "run":
        return Mark(kind, text)
    match = RUN.fullmatch(text)
    if not match:
        raise Malformed(f"{place}: \"run: {text}\" names no environment; tests/docs/blocks.py lists them")
    return Mark(kind, text, match["environment"], bool(match["goes_on"]), match["after"] or "")


def looks_like_commands(text):
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return text.startswith("$ ") or first in COMMAND_WORDS or bool(OWN_WORD.fullmatch(first))


def without_indent(lines):
    shared = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[shared:] for line in lines).strip("\n")


def is_indented(lines, i):
    return lines[i].startswith("    ") and lines[i].strip() != "" and (i == 0 or not lines[i - 1].strip())


def read(file):
    """The blocks of commands and the manual steps, in the order of the file."""
    return parse(file, (ROOT / file).read_text())


def parse(file, text):
    lines = text.splitlines()
    found, mark, section, i = [], None, "", 0
    announced = False  # whether a mark is directly above
    printed = None  # the command that prints the next block
    while i < len(lines):
        line = lines[i]
        comment = COMMENT.match(line)
        fence = re.match(r"\s*```(\w*)$", line)
        if comment and comment[1] == "by hand":
            found.append(ManualStep(file, i + 1, comment[2], section, mark))
        elif comment and comment[1] == "printed by":
            printed = Mark(comment[1], comment[2], environment="tree")
        elif comment:
            mark, announced = read_mark(comment[1], comment[2], f"{file}:{i + 1}"), True
        elif fence or is_indented(lines, i):
            start = i + 1 if fence else i
            end = start
            while end < len(lines) and (not lines[end].strip().startswith("```") if fence else
                                        lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            body = lines[start:end]
            text = without_indent(body) if any(part.strip() for part in body) else ""
            shell = fence[1] in ("sh", "bash", "console") if fence else announced or looks_like_commands(text)
            if printed or shell:
                found.append(Block(file, start + 1, text, section, printed or mark))
            printed = None
            i, announced = (end if fence else end - 1), False
        elif line.startswith("#"):
            section, announced = anchor(line.lstrip("#")), False
        elif line.strip():
            announced = False
        i += 1
    return found


@dataclasses.dataclass
class Python:
    """A fenced block of Python, and how its page says that it is tested; script: that runs it."""
    line: int
    text: str
    compiled: bool
    script: str


def python_in(text):
    for match in PYTHON.finditer(text):
        line = text.count("\n", 0, match.start(3)) + 1
        yield Python(line, without_indent(match[3].splitlines()), bool(match[1]), match[2] or "")


@dataclasses.dataclass
class Environment:
    kind: str  # tree or cluster
    name: str
    before: list  # steps that prepare it; they are counted at their own place
    steps: list


def section_of(target):
    """The steps of FILE or FILE#HEADING that run on a cluster, after the steps that they need themselves."""
    file, _, heading = target.partition("#")
    steps = [step for step in read(file) if step.mark and step.mark.kind == "run"
             and step.mark.environment == "cluster" and (not heading or step.section == heading)]
    first = [step for step in steps if not step.mark.after]
    if first or not steps:
        return first
    return [*section_of(steps[0].mark.after), *steps]


def environments(steps):
    """The environments that the steps run in, each with its steps in order."""
    made, another = {}, {}
    for step in steps:
        mark = step.mark
        if mark is None or mark.kind not in ("run", "printed by"):
            continue
        number = another.setdefault(step.file, {})
        if mark.environment == "another cluster":
            number.setdefault(id(mark), len(number) + 2)
        if mark.environment == "tree":
            kind, name = "tree", f"the tree for {step.file}"
        elif mark.after:
            kind, name = "cluster", f"a cluster after {mark.after}"
        else:
            which = number.get(id(mark), 1)
            kind, name = "cluster", f"cluster {which} of {step.file}"
        before = section_of(mark.after) if mark.after else []
        made.setdefault(name, Environment(kind, name, before, [])).steps.append(step)
    return list(made.values())
