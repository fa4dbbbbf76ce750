"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// --- plots

// Plotly is half a second of work, which the page does not wait for: it is run when first needed.
function plotly() {
  if (!window.Plotly) {
    const script = document.createElement("script");
    script.textContent = byId("plotly").textContent;
    document.head.append(script);
  }
  return window.Plotly;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 6, useGrouping: true });
const said = (value, unit) => (value === null ? "none" : `${number.format(value)} ${unit}`);

function pointsOf(figure) {
  const { runs, values, predicted } = figure.series;
  const places = figure.drawn ?? values.map((_, place) => place);
  return { places, runs: places.map((p) => runs[p]), values: places.map((p) => values[p]),
           predicted: predicted.length ? places.map((p) => predicted[p]) : [] };
}

// Each level as a line of its own, from its first run to the run before the next step.
function levels(series) {
  const xs = [], ys = [];
  series.steps.forEach((step, place) => {
    const next = series.steps[place + 1];
    const before = place ? series.steps[place - 1].at : series.runs[0];
    if (place === 0) { xs.push(before, step.at, null); ys.push(step.before, step.before, null); }
    xs.push(step.at, next ? next.at : series.runs[series.runs.length - 1], null);
    ys.push(step.after, step.after, null);
  });
  return { xs, ys };
}

function described(figure, place) {
  const { runs, values, predicted } = figure.series;
  const [started, commit, label] = data.runs[runs[place]];
  const model = predicted.length && predicted[place] !== null ? `, model ${said(predicted[place], figure.unit)}` : "";
  return `run ${runs[place]}, ${started} UTC${commit && ", " + commit}${label && ", " + label}: ` +
         said(values[place], figure.unit) + model;
}

function draw(index) {
  const figure = data.figures[index], series = figure.series, points = pointsOf(figure);
  const text = colour("text"), soft = colour("soft"), line = colour("line");
  const few = points.values.length <= 80;
  const traces = [{
    x: points.runs, y: points.values, name: "measured", mode: few ? "lines+markers" : "lines",
    line: { color: colour("byte_gap"), width: 1.3 }, marker: { size: 4, color: colour("byte_gap") },
    text: points.places.map((place) => described(figure, place)), hovertemplate: "%{text}<extra></extra>",
  }];
  if (points.predicted.length) {
    traces.push({ x: points.runs, y: points.predicted, name: "model", mode: "lines", hoverinfo: "skip",
                  line: { color: colour("wire"), width: 1.3, dash: "dash" } });
  }
  if (series.steps.length && series.steps.length < 60) {
    const { xs, ys } = levels(series);
    traces.push({ x: xs, y: ys, name: "level", mode: "lines", hoverinfo: "skip", line: { color: text, width: 1.6 } });
  }
  const shapes = series.steps.map((step) => ({
    type: "line", xref: "x", yref: "paper", x0: step.at, x1: step.at, y0: 0, y1: 1, layer: "below",
    line: { width: 1, dash: step.intended ? "dot" : "solid",
            color: step.intended ? soft : colour(step.slower ? "red" : "green") },
  }));
  const all = [...points.values, ...points.predicted.filter((value) => value !== null)];
  const low = Math.min(...all), high = Math.max(...all);
  const room = Math.max((high - low) * 0.1, 0.02 * Math.max(Math.abs(low), Math.abs(high)), 1e-12);
  const first = series.runs[0], final = series.runs[series.runs.length - 1], margin = Math.max((final - first) * 0.015, 0.5);
  const axis = { color: soft, gridcolor: line, zeroline: false, linecolor: line, fixedrange: false, automargin: true };
  const layout = {
    height: 270, margin: { l: 56, r: 8, t: 8, b: 40 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: soft },
    xaxis: { ...axis, title: { text: "run", standoff: 6 }, range: [first - margin, final + margin], showgrid: false, ticks: "outside", ticklen: 4, tickformat: "d" },
    yaxis: { ...axis, title: { text: figure.unit, standoff: 8 }, range: [low - room, high + room], nticks: 6 },
    showlegend: traces.length > 1,
    legend: { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    hovermode: "closest", shapes, dragmode: "zoom",
    hoverlabel: { bgcolor: colour("raised"), bordercolor: line, font: { color: text, size: 12 }, align: "left" },
  };
  const place = byId(`plot-${index}`);
  plotly().react(place, traces, layout, { displayModeBar: false, displaylogo: false, responsive: true });
  place.dataset.drawn = "yes";
  return points;
}

// Arrows go from run to run; what they reach is read out.
function walk(event) {
  const plot = event.currentTarget, index = Number(plot.id.split("-")[1]), figure = data.figures[index];
  const { places } = pointsOf(figure), last = places.length - 1;
  const at = plot.dataset.at === undefined ? last + 1 : Number(plot.dataset.at);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last, PageUp: at - 10, PageDown: at + 10 }[event.key];
  if (to === undefined) { return; }
  event.preventDefault();
  const point = Math.min(last, Math.max(0, to));
  plot.dataset.at = point;
  window.Plotly.Fx.hover(plot, [{ curveNumber: 0, pointNumber: point }]);
  byId(`reading-${index}`).textContent = described(figure, places[point]);
}

function open(button, wide) {
  const index = button.dataset.figure;
  button.setAttribute("aria-expanded", String(wide));
  byId(`more-${index}`).hidden = !wide;
  if (wide && !byId(`plot-${index}`).dataset.drawn) {
    draw(index);
    byId(`plot-${index}`).addEventListener("keydown", walk);
  }
}

for (const button of document.querySelectorAll("button.open")) {
  button.addEventListener("click", () => open(button, button.getAttribute("aria-expanded") !== "true"));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const plot of document.querySelectorAll(".plot[data-drawn]")) { draw(plot.id.split("-")[1]); }
});

// --- the table beside each plot: made when it is opened

function cell(row, tag, text, kind) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) { made.className = kind; }
  if (tag === "th") { made.scope = row.parentNode?.tagName === "THEAD" ? "col" : "row"; }
  row.append(made);
}

// As many decimals in each row, so that a column can be read from top to bottom: six digits of the largest.
function aligned(values) {
  const largest = Math.max(...values.map(Math.abs));
  const decimals = largest > 0 ? Math.min(9, Math.max(0, 5 - Math.floor(Math.log10(largest)))) : 0;
  return new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function fill(twin) {
  const figure = data.figures[twin.dataset.figure], { runs, values, predicted, steps } = figure.series;
  const written = aligned([...values, ...predicted]);
  const stepAt = new Map(steps.map((step) => [step.at, step]));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const [text, kind] of [["Run"], ["Started, UTC"], ["Commit"], ["Label"], [`Measured, ${figure.unit}`, "number"],
                              ...(predicted.length ? [[`Model, ${figure.unit}`, "number"]] : []), ["Step"]]) {
    cell(head, "th", text, kind);
  }
  const body = table.createTBody();
  for (let place = runs.length - 1; place >= 0; place -= 1) {
    const row = body.insertRow(), step = stepAt.get(runs[place]);
    cell(row, "th", runs[place]);
    for (const text of data.runs[runs[place]]) { cell(row, "td", text); }
    cell(row, "td", written.format(values[place]), "number");
    if (predicted.length) { cell(row, "td", predicted[place] === null ? "–" : written.format(predicted[place]), "number"); }
    cell(row, "td", step ? (step.intended ? "intended" : step.slower ? "slower" : "faster") : "");
  }
  twin.querySelector(".twin-table").replaceChildren(table);
}

for (const twin of document.querySelectorAll("details.twin[data-figure]")) {
  twin.addEventListener("toggle", () => { if (twin.open && !twin.querySelector("table")) { fill(twin); } });
}

// --- filter, copying

const filter = byId("filter"), moved = byId("moved");
function sift() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const body of document.querySelectorAll(".figures tbody")) {
    let some = false;
    for (const row of body.querySelectorAll("tr.figure")) {
      const fits = words.every((word) => row.dataset.words.includes(word)) && (!moved?.checked || "moved" in row.dataset);
      row.hidden = !fits;
      const more = row.nextElementSibling;
      if (more?.classList.contains("more")) {
        more.hidden = !fits || row.querySelector("button.open").getAttribute("aria-expanded") !== "true";
      }
      some ||= fits;
      shown += fits;
    }
    body.hidden = !some;
  }
  byId("shown").textContent = `${shown} of ${data.figures.length} figures`;
}
filter?.addEventListener("input", sift);
moved?.addEventListener("change", sift);

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {  // a browser that does not let pages at the clipboard: the text is ready for Ctrl-C
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

// What got worse is open from the start, after the page is there.
requestAnimationFrame(() => setTimeout(() => {
  for (const button of [...document.querySelectorAll("tr.figure.red button.open")].slice(0, 2)) { open(button, true); }
  performance.mark("drawn");
  document.documentElement.dataset.ready = "yes";
}));
