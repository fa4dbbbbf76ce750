"""A headless Chromium for tests of pages. It is one process tree, ended with the `with` block."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DEADLINE_S = 60.0


class Browser:
    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """A page of a file, until its script has done its work."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get(page.absolute().as_uri())
        self.until(lambda: self.run("return document.documentElement.dataset.ready") == "yes", "the page to be ready")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, condition: Callable[[], Any], what: str) -> None:
        end = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end, f"waited {DEADLINE_S:g} s for {what}"
            time.sleep(0.02)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def shown(self, selector: str) -> int:
        return sum(element.is_displayed() for element in self.all(selector))

    def requested(self) -> list[str]:
        """Every address that was asked for since the last call, whether or not it was let through."""
        entries = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """Of the console: errors of scripts, and what the page's own policy forbade."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def screenshot(self, file: Path, width: int) -> None:
        """Of the whole page."""
        height = self.run("return document.documentElement.scrollHeight")
        size = {"width": width, "height": min(height, 12_000), "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        file.parent.mkdir(parents=True, exist_ok=True)
        assert self.driver.save_screenshot(str(file))


@contextmanager
def started() -> Iterator[Browser]:
    """Missing, it is a skip on a desk and an error in CI."""
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ModuleNotFoundError:
        programs.append(None)
    if not all(programs):
        why = "no headless browser: the Debian packages chromium and chromium-driver, and selenium of the extra [test]"
        assert os.environ.get("CI") != "true", why
        pytest.skip(why)
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0] or ""
    # No sandbox: Chromium has none for root, and none in most containers. The pages are our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(programs[1]))
    try:
        driver.set_page_load_timeout(DEADLINE_S)
        driver.set_script_timeout(DEADLINE_S)
        yield Browser(driver)
    finally:
        driver.quit()
