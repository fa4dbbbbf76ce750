"""The command wizloop with the fake simulator of conftest, to be run as a process of its own.

    python tests/harness/fake_program.py FOLDER_OF_BOARDS list

With the variable ALIVE, each run writes a line into that descriptor and then never ends.
"""

import os
import signal
import sys
from pathlib import Path

from conftest import fake_simulator
from wizloop import boards
from wizloop.cli import main


def endless_run(**_: object) -> None:
    os.write(int(os.environ["ALIVE"]), b"running\n")
    while True:
        signal.pause()


fake = fake_simulator()
if "ALIVE" in os.environ:
    fake.run = endless_run
sys.modules["wizloop._sim"] = fake
folder = Path(sys.argv.pop(1))
boards.folder = lambda: folder
main()
