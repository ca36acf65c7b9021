"""Ansible's modules for the API of RouterOS, unmodified, against a running router.

Arguments: address, user, password. Prints `ok`, or the error.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HOST, USER, PASSWORD = sys.argv[1:4]
BOOKS = Path(__file__).parent / "ansible"
COLLECTIONS = Path(sys.prefix) / "collections"


def play(book, home):
    """Runs a playbook; returns the counters of Ansible's summary."""
    given = {"router": HOST, "user": USER, "password": PASSWORD}
    # The modules need this interpreter, which has librouteros.
    given["ansible_python_interpreter"] = sys.executable
    extra = [word for pair in given.items() for word in ("-e", "=".join(pair))]
    program = Path(sys.prefix) / "bin" / "ansible-playbook"
    environment = {
        **os.environ,
        "HOME": home,
        "ANSIBLE_HOME": home,
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_LOCALHOST_WARNING": "False",
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
    }
    argv = [sys.executable, str(program), *extra, str(BOOKS / book)]
    played = subprocess.run(argv, env=environment, capture_output=True, text=True)
    if played.returncode != 0:
        sys.exit(f"{book}:\n{played.stdout}\n{played.stderr}")
    return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", played.stdout)}


with tempfile.TemporaryDirectory() as home:
    play("once.yml", home)
    first, again = play("wanted.yml", home), play("wanted.yml", home)
if first["changed"] == 0 or again["changed"] != 0:
    sys.exit(f"first {first}, then {again}")
print("ok")
