"""The examples of harness/README.md for nightly runs, a systemd timer and a workflow of GitHub Actions, held against
those who would read them."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys

import pytest
from conftest import REPOSITORY
from places import lacking, need
from wizloop.cli import app

README = (REPOSITORY / "harness" / "README.md").read_text()
SECONDS = 60.0


def block(language, beginning=""):
    (found,) = re.findall(rf"^```{language}\n({beginning}.*?)^```", README, re.M | re.S)
    return found


def workflow():
    return block("yaml", "name: nightly\n")


def units():
    _, *parts = re.split(r"^# (wizloop-nightly\.\w+)\n", block("ini"), flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def verified(folder, files):
    """What systemd says of units; it ends with 0 whatever is wrong with them."""
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "run").mkdir(mode=0o700, exist_ok=True)
    words = ["systemd-analyze", "verify", "--user", *(str(folder / name) for name in files)]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder / "run")}
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_systemd_takes_the_units(tmp_path):
    need("systemd-analyze", "git")
    assert units().keys() == {"wizloop-nightly.service", "wizloop-nightly.timer"}
    assert verified(tmp_path, units()) == (0, "")


@pytest.mark.parametrize(
    ("right", "wrong"), [("Type=", "Kind="), ("02:00", "26:00"), ("ExecStart=/bin/sh", "ExecStart=/nowhere/sh")]
)
def test_systemd_refuses_units_with_a_mistake(tmp_path, right, wrong):
    need("systemd-analyze")
    assert verified(tmp_path, {name: text.replace(right, wrong) for name, text in units().items()})[1]


def words_of(command):
    """Of a command line with ci/nightly in it, those that the program would get."""
    _, _, words = command.partition("ci/nightly")
    return shlex.split(words)


def test_the_service_runs_a_command_that_there_is(tmp_path):
    command = re.search(r"^ExecStart=(.*)$", units()["wizloop-nightly.service"], re.M)[1]
    shell, option, script = shlex.split(command.replace("%%", "%"))
    assert (shell, option) == ("/bin/sh", "-c")
    said = subprocess.run(
        ["/bin/sh", "-c", script.replace("exec ci/nightly", "printf '%s\\n'")],
        capture_output=True,
        text=True,
        timeout=9,
    ).stdout.split()
    assert said[0] == "--out" and re.fullmatch(r"reports/\d{4}-\d\d-\d\d", said[1])
    assert takes(said)


def takes(words):
    """Whether `wizloop nightly` has these options."""
    import typer

    nightly = typer.main.get_command(app).commands["nightly"]
    options = {name for parameter in nightly.params for name in parameter.opts}
    return {word for word in words if word.startswith("--")} <= options


def test_the_workflow_is_one(tmp_path):
    if importlib.util.find_spec("check_jsonschema") is None:
        lacking("no check-jsonschema: pip install 'wizloop[test]' brings it")
    file = tmp_path / "nightly.yml"
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(file)]
    for text, code in ((workflow(), 0), (workflow().replace("runs-on", "runs_on"), 1)):
        file.write_text(text)
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == code, done.stdout + done.stderr
    from ruamel.yaml import YAML

    loaded = YAML(typ="safe").load(workflow())
    steps = loaded["jobs"]["boards"]["steps"]
    (run,) = [step["run"] for step in steps if "run" in step]
    assert (REPOSITORY / run.split()[0]).exists() and takes(words_of(run))
    (kept,) = [step["with"]["path"] for step in steps if step.get("with", {}).get("path")]
    assert kept == "build/nightly"  # where ci/nightly writes unless told otherwise
