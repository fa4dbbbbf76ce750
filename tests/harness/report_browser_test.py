"""The report as a person has it: opened in Chromium, clicked through, in light and dark, on a desk and on a phone."""

from __future__ import annotations

import json
from pathlib import Path

import browser as browsers
import pytest
from conftest import REPOSITORY
from report_example import example
from wizloop.report import page

SCREENSHOTS = REPOSITORY / "build" / "screenshots"
LOAD_MS_MAX = 2000
RUNS, FIGURES = 60, 40


@pytest.fixture(scope="module")
def browser():
    with browsers.started() as started:
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    page.write(folder, example(folder, RUNS, FIGURES), "wizloop nightly")
    return folder / page.HTML


def test_the_page_requests_nothing_and_complains_of_nothing(browser, report):
    browser.requested()
    browser.open(report)
    for button in browser.all("button.open[aria-expanded=false]")[:3]:
        button.click()
    asked = [url for url in browser.requested() if not url.startswith("data:")]
    assert asked == [report.as_uri()]
    assert browser.complaints() == []
    policy = browser.find("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy.startswith("default-src 'none'")


def test_what_a_test_printed_is_text_on_the_page(browser, report):
    browser.open(report)
    browser.find("#failures details summary").click()
    assert "<script>alert(1)</script>" in browser.find("#failures pre").text


def test_each_figure_opens_a_plot_and_a_table_with_its_values(browser, report):
    browser.open(report)
    document = json.loads(report.with_name(page.JSON).read_text())
    assert len(browser.all("button.open")) == FIGURES
    assert len(browser.all(".plot[data-drawn]")) == 2  # what got worse is open already
    for button in browser.all("button.open"):
        number = button.get_attribute("data-figure")
        if button.get_attribute("aria-expanded") == "false":
            browser.run("arguments[0].scrollIntoView({block: 'center'})", button)
            button.click()
        assert browser.find(f"#plot-{number} svg.main-svg").is_displayed()
    browser.find("#more-0 .twin summary").click()
    browser.until(lambda: browser.all("#more-0 .twin-table tbody tr"), "the table")
    values = [float(cell.text) for cell in browser.all("#more-0 .twin-table td.number")]
    assert values[::-1] == pytest.approx(document["figures"][0]["series"]["values"], rel=1e-5)
    button = browser.find("button.open")
    button.click()
    assert not browser.find("#more-0").is_displayed()


def test_the_keyboard_opens_a_plot_and_reads_it_run_by_run(browser, report):
    from selenium.webdriver.common.keys import Keys

    browser.open(report)
    button = browser.find("button.open[aria-expanded=false]")
    number = button.get_attribute("data-figure")
    button.send_keys(Keys.ENTER)
    plot = browser.find(f"#plot-{number}")
    readings = []
    for key in (Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.HOME, Keys.ARROW_RIGHT):
        plot.send_keys(key)
        readings.append(browser.find(f"#reading-{number}").text)
    assert [reading.split(",")[0] for reading in readings] == [f"run {n}" for n in (RUNS, RUNS - 1, 1, 2)]
    assert readings[0].endswith("6 Mbit/s")


def test_every_link_within_the_page_leads_somewhere(browser, report):
    browser.open(report)
    dead = "return [...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.querySelector(a.hash)).length"
    assert browser.run(dead) == 0
    assert browser.find("#failures .captures a").get_attribute("href") == report.with_name("echo.pcapng").as_uri()


def test_the_filter_leaves_what_was_asked_for(browser, report):
    browser.open(report)
    field = browser.find("#filter")
    field.send_keys("seed002 tcp:")
    assert browser.shown("tr.figure") == 1
    assert browser.run("return document.getElementById('shown').textContent") == f"1 of {FIGURES} figures"
    field.clear()
    field.send_keys(" ")
    assert browser.shown("tr.figure") == FIGURES
    browser.find("#moved").click()
    assert browser.shown("tr.figure") == browser.shown("tr.figure[data-moved]") == len(browser.all("tr[data-moved]"))


def test_a_command_can_be_copied(browser, report):
    browser.open(report)
    button = browser.find(".copy")
    button.click()
    browser.until(lambda: button.text in ("Copied", "Selected"), "the button to say so")
    assert button.get_attribute("data-copy") == browser.find(".command code").text


def test_plots_follow_the_theme(browser, report):
    browser.open(report)
    colour = "return document.querySelector('.plot[data-drawn]')._fullLayout.font.color"
    in_light = browser.run(colour)
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.until(lambda: browser.run(colour) != in_light, "the plot to be drawn in the colours of the dark theme")


CONTRASTS = """
const canvas = document.createElement('canvas').getContext('2d');
const style = getComputedStyle(document.documentElement);
const light = (name) => {
  canvas.fillStyle = style.getPropertyValue('--' + name).trim();
  const parts = canvas.fillStyle.match(/[0-9a-f]{2}/g).map((hex) => parseInt(hex, 16) / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
return arguments[0].map(([a, b]) => {
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
});
"""


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark_on_a_desk_and_on_a_phone(browser, report, scheme, width):
    """Nothing is wider than the window, and text stands out from its ground by 4.5 to 1 (WCAG 2.2, AA)."""
    browser.open(report, width, dark=scheme == "dark")
    assert browser.run("return document.documentElement.scrollWidth") == width
    grounds = {"ground": ("text", "soft", "accent", "red", "yellow", "green"), "raised": ("text", "soft")}
    grounds |= {f"{light}-ground": ("text", "soft", light, "accent") for light in ("red", "yellow", "green", "grey")}
    pairs = [(text, ground) for ground, texts in grounds.items() for text in texts]
    measured = dict(zip(pairs, browser.run(CONTRASTS, pairs), strict=True))
    assert {pair: ratio for pair, ratio in measured.items() if ratio < 4.5} == {}
    browser.screenshot(SCREENSHOTS / f"report-{width}-{scheme}.png", width)


def test_a_page_of_1000_runs_and_40_figures_is_there_in_2_s(browser, tmp_path):
    """From navigation to DOMContentLoaded, and until two plots are drawn; the best of three, as others are at work."""
    page.write(tmp_path, example(tmp_path, 1000, 40), "wizloop nightly")
    readable, drawn = [], []
    for _ in range(3):
        browser.open(tmp_path / page.HTML)
        loaded = "const [of] = performance.getEntriesByType('navigation'); return of.domContentLoadedEventEnd"
        readable.append(browser.run(loaded))
        drawn.append(browser.run("return performance.getEntriesByName('drawn')[0].startTime"))
    print(f"\n1000 runs x 40 figures: there in {min(readable):.0f} ms, first plots in {min(drawn):.0f} ms")
    assert min(readable) < LOAD_MS_MAX
