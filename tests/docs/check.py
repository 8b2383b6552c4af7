"""Checks the documentation without running its commands; prints each fault with its place."""
import itertools
import re
import subprocess
import sys

import blocks

ROOT = blocks.ROOT

# The folders whose sources define a program's options.
SOURCES = {
    "tangram-extender": ["extender", "http", "kube", "config"], "tangram-node": ["node"],
    "kubectl-tangram": ["cli", "model"], "tangram-replay": ["bench/replay"], "tangram-bench": ["bench/measure"],
    "tangram-demo": ["bench"], "tangram-fault-api": ["tests/tools"],
}
FOLDERS = sorted({path.name for folder in (ROOT, ROOT / "tests") for path in folder.iterdir()
                  if path.is_dir() and path.name not in (".git", "build")})
# A path of this tree, without a placeholder or an ellipsis in it.
TREE_PATH = re.compile(rf"(?<![\w./:$@=<-])(?:\./)?((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*+-]*\w\*?)(?![\w/…$<{{])")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")
PROGRAM = re.compile(r"kubectl[ -]tangram(?![\w-])|(?<![\w/-])(?:build/\w+/bin/)?(tangram-[a-z-]+)(?![\w-])"
                     r"|(?<![\w/-])(?:\./)?(scripts/(?:[a-z]+/)?[a-z0-9-]+|\.ci/run)(?![\w./-])")
INLINE = re.compile(r"`([^`\n]+)`")
# In running text: commands that can be typed as they are. Shorter ones only name a command.
WHOLE = re.compile(r"(kubectl|helm|openssl|docker|ctr|(build/\w+/bin/)?tangram-(extender|node|replay|bench)) "
                   r"(\S+ \S+ \S+.*|.*(?<=\s)-.*)"
                   r"|scripts/\S+ .+")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def bash_fault(commands):
    done = subprocess.run(["bash", "-n"], input=commands + "\n", capture_output=True, text=True)
    return done.stderr.strip().replace("bash: ", "") if done.returncode or done.stderr else ""


def source_text(program, cache={}):
    """All sources that can define an option of that program or script."""
    if program not in cache:
        if program in SOURCES:
            paths = [p for folder in SOURCES[program] for p in (ROOT / folder).rglob("*.[ch]pp")]
        else:
            paths = [ROOT / program]
        cache[program] = "\n".join(p.read_text() for p in paths if p.is_file())
    return cache[program]


def bare_program_faults(text):
    """Only kubectl-tangram is installed in a folder of PATH; docs/cli.md does it."""
    for part in command_parts(text):
        first = re.match(r"\s*(?:\w+=\S*\s+|sudo\s+)*(tangram-[a-z-]+)(?!\S)", part)
        if first and first[1] in SOURCES:
            yield f"{first[1]} is in no folder of PATH: write build/release/bin/{first[1]}"


def demo_options(program):
    # scripts/demo passes its options on.
    return ["tangram-demo"] if program == "scripts/demo" else []


def knows(program, flag):
    return any(re.search(rf"--{flag}(?![\w-])|\"{flag}\"", source_text(name))
               for name in [program, *demo_options(program)])


def command_parts(text):
    """The single commands, so that an option belongs to the program in front of it."""
    joined = text.replace("\\\n", " ")
    return re.split(r"\n|&&|\|\|?|;|(?<=\s)-- | #", joined)


def option_faults(text):
    for part in command_parts(text):
        found = list(PROGRAM.finditer(part))
        for match, following in zip(found, [*found[1:], None]):
            program = match[1] or match[2] or "kubectl-tangram"
            if match[1] and program not in SOURCES:
                continue  # the name of an object in the cluster
            for flag in FLAG.findall(part[match.end():following.start() if following else len(part)]):
                if flag not in ("help", "version") and not knows(program, flag):
                    yield f"{program} has no option --{flag}"


def exists(path):
    """Pages name tests without tests/ and the file ending: e2e/quota_test."""
    return any(next(ROOT.glob(form), None) for form in (path, f"{path}.cpp", f"tests/{path}", f"tests/{path}.cpp"))


def path_faults(text):
    for match in TREE_PATH.finditer(text):
        if not exists(match[1].rstrip(".")):
            yield f"there is no {match[1]}"
    for script in re.findall(r"(?<![\w/-])\.ci/[\w-]+", text):
        if not (ROOT / script).exists():
            yield f"there is no {script}"


def is_shell(path):
    return path.is_file() and re.match(rb"#!.*bash|# shellcheck shell", path.read_bytes()) is not None


def mentions(script, cache={}):
    """The text of a script and of all scripts that it calls or sources."""
    if script not in cache:
        cache[script] = ""
        text = (ROOT / script).read_text()
        text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        for other in re.findall(r"(?:scripts|tests)/[\w./-]*\w|\.ci/run", text):
            if is_shell(ROOT / other):
                text += mentions(other)
        cache[script] = text
    return cache[script]


def run_by_faults(block):
    """The scripts of a "run by" comment must run every program of the block."""
    scripts = [name.strip() for name in block.mark.text.split(",")]
    for name in scripts:
        if not (ROOT / name).is_file():
            yield f"\"run by: {name}\": there is no such script"
            return
    text = "".join(mentions(name) for name in scripts)
    without_comments = re.sub(r"(^|\s)#.*", "", block.commands, flags=re.MULTILINE)
    for part in command_parts(without_comments):
        for program in re.findall(r"^\s*(?:\w+=\S+\s+)*(?:\./)?(\S+)", part):
            name = program if program.startswith(("scripts/", ".ci/")) else program.rsplit("/", 1)[-1]
            if program not in scripts and "/" in program and name not in text:
                yield f"{block.mark.text} does not run {program}"


def block_faults(block):
    if block.mark is None:
        yield ("no comment says how these commands are tested: put <!-- run: … --> above them; "
               "tests/docs/blocks.py lists the forms")
        return
    fault = bash_fault(block.commands)
    if fault:
        yield f"is not valid shell: {fault}"
    if block.mark.kind == "run by":
        yield from run_by_faults(block)
    if block.mark.after and not blocks.section_of(block.mark.after):
        yield f"\"after {block.mark.after}\": no commands run on a cluster there"
    yield from option_faults(block.commands)
    yield from bare_program_faults(block.commands)


def anchors(path, cache={}):
    if path not in cache:
        seen, fenced = [], False
        for line in path.read_text().splitlines():
            fenced ^= line.strip().startswith("```")
            if line.startswith("#") and not fenced:
                seen.append(blocks.anchor(line.lstrip("#")))
        cache[path] = seen
    return cache[path]


def link_fault(file, target):
    if re.match(r"[a-z]+:", target):
        return ""
    name, _, heading = target.partition("#")
    path = (ROOT / file).parent / name if name else ROOT / file
    if not path.exists():
        return f"links to {target}, which does not exist"
    if heading and path.suffix == ".md" and heading not in anchors(path):
        return f"links to {target}, but the page has no such heading"
    return ""


def line_faults(file, text):
    """Faults of links, and of code in running text."""
    for number, line in enumerate(text.splitlines(), 1):
        for target in LINK.findall(line):
            fault = link_fault(file, target)
            if fault:
                yield number, fault
        if line.startswith("    "):
            for fault in path_faults(line):
                yield number, fault
        for code in INLINE.findall(line):
            faults = [*path_faults(code), *option_faults(code)]
            if WHOLE.fullmatch(code):
                faults += bare_program_faults(code)
            for fault in faults:
                yield number, fault


def compile_fault(text):
    try:
        compile(text, "the page", "exec")
    except SyntaxError as error:
        return f"is not valid Python: line {error.lineno}: {error.msg}"
    return ""


def python_faults(file, text):
    """Faults of blocks of Python. A script that runs one reads it from its page."""
    for block in blocks.python_in(text):
        fault = compile_fault(block.text)
        if fault:
            yield block.line, fault
        if not block.compiled and not block.script:
            yield block.line, "no comment says how this Python is tested: put <!-- python: … --> above it"
        elif block.script and not (ROOT / block.script).is_file():
            yield block.line, f"there is no {block.script}"
        elif block.script and file not in (ROOT / block.script).read_text():
            yield block.line, f"{block.script} does not read {file}"


def python_of_manifests():
    """The programs in the manifests for people: of `python3 -c`, and of here-documents of a shell."""
    for file in blocks.tracked("deploy/examples/*.yaml"):
        text = (ROOT / file).read_text()
        for start in re.finditer(r"command: \[python3, -c\]\n +args:\n( +)- \|\n", text):
            lines = text[start.end():].splitlines()
            inside = itertools.takewhile(lambda line: not line.strip() or line.startswith(start[1] + " "), lines)
            yield file, blocks.without_indent([*inside])
        for document in re.finditer(r"python3 - <<'END'\n(.*?)\n +END\n", text, re.DOTALL):
            yield file, blocks.without_indent(document[1].splitlines())


def manifest_faults():
    found = [*python_of_manifests()]
    if len(found) < 3:
        yield f"deploy/examples: {len(found)} programs were found: this check is broken"
    for file, text in found:
        fault = compile_fault(text)
        if fault:
            yield f"{file}: {fault}"


def inline_commands(text):
    return [code for line in text.splitlines() if not line.startswith("    ")
            for code in INLINE.findall(line) if WHOLE.fullmatch(code) and "…" not in code]


def inline_faults(files):
    """blocks.INLINE_PAGE must have a line for each command in running text, and no block without one."""
    spoken = {code: file for file in files for code in inline_commands((ROOT / file).read_text())}
    listed = [block for block in blocks.read(blocks.INLINE_PAGE)]
    lines = {line.removesuffix(" &") for block in listed for line in block.commands.splitlines()}
    for code, file in spoken.items():
        if code not in lines:
            yield f"{file}: `{code}` has no line in {blocks.INLINE_PAGE}"
    for block in listed:
        if not any(line.removesuffix(" &") in spoken for line in block.commands.splitlines()[-2:]):
            yield f"{block.place}: no page has this command"


def main():
    files = blocks.pages()
    faults, count = [*inline_faults(files[:-1]), *manifest_faults()], 0
    for file in files:
        try:
            found = [step for step in blocks.read(file) if isinstance(step, blocks.Block)]
        except blocks.Malformed as malformed:
            faults.append(str(malformed))
            continue
        count += len(found)
        faults += [f"{block.place}: {fault}" for block in found for fault in block_faults(block)]
        text = (ROOT / file).read_text()
        faults += [f"{file}:{number}: {fault}" for number, fault in [*line_faults(file, text), *python_faults(file, text)]]
    if not count:
        faults.append(f"no commands in {len(files)} pages: this check is broken")
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        sys.exit(f"check-docs: {len(faults)} faults")
    print(f"check-docs: {len(files)} pages; each of {count} blocks of commands names its test")


if __name__ == "__main__":
    main()
