const byId = id => document.getElementById(id);
const isDark = matchMedia("(prefers-color-scheme: dark)");
const isPrinting = () => "printing" in document.documentElement.dataset;
const theme = () => isDark.matches && !isPrinting() ? "dark" : "light";
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = cell => page.methods[cell.method][theme()];
const title = cell => page.methods[cell.method].title + (cell.options ? ` (${cell.options})` : "");
const whole = v => v.toLocaleString("en");
const percent = v => (100 * v).toFixed(1) + " %";
const isShare = task => task !== "regression";
const scoreText = (v, task) => isShare(task) ? percent(v) : v.toFixed(3);
const scoreName = task => isShare(task) ? "accuracy" : "R²";
const debounced = (act, wait = 120) => {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(act, wait); };
};

/* ---- tables: a click on a heading sorts, what is missing stays last ------------------- */

function sortTable(heading) {
  const table = heading.closest("table"), column = heading.cellIndex;
  const isNumber = heading.classList.contains("n");
  const now = heading.getAttribute("aria-sort");
  const next = now ? (now === "ascending" ? "descending" : "ascending")
    : isNumber ? "descending" : "ascending";
  const sign = next === "ascending" ? 1 : -1;
  const compare = (a, b) => isNumber ? Number(a.dataset.v) - Number(b.dataset.v)
    : a.textContent.localeCompare(b.textContent, "en", {numeric: true});
  const rows = [...table.tBodies[0].rows];
  rows.sort((first, second) => {
    const a = first.cells[column], b = second.cells[column];
    const gone = ("missing" in a.dataset) - ("missing" in b.dataset);
    return gone || sign * compare(a, b);
  });
  table.tBodies[0].append(...rows);
  table.querySelectorAll("thead th").forEach(th => th.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", next);
}

document.addEventListener("click", event => {
  const heading = event.target.closest(".sortable thead th");
  if (heading) sortTable(heading);
});

/* Tables say that they scroll: by an arrow where more is to the side, below they fade. */
function markScrolling(scroller) {
  const inner = scroller.firstElementChild, hidden = inner.scrollWidth - inner.clientWidth;
  scroller.classList.toggle("more-right", inner.scrollLeft < hidden - 2);
  scroller.classList.toggle("more-left", inner.scrollLeft > 2);
  const below = inner.scrollHeight - inner.clientHeight - inner.scrollTop;
  scroller.classList.toggle("more-below", below > 2);
}
const markAll = () => document.querySelectorAll(".scroller").forEach(markScrolling);
document.addEventListener("scroll", event => {
  const scroller = event.target.parentElement?.closest?.(".scroller");
  if (scroller) markScrolling(scroller);
}, true);
document.addEventListener("toggle", markAll, true);

/* "mnist seed 1" is two things to look for, and 1 is not to be found in 100. */
const words = text => (text.toLowerCase().match(/(?:seed|split|neurons|epsilon)\s+[\d.]+(?!\S)|\S+/g) || [])
  .map(word => word.replace(/\s+/, " "));
const hasAll = (text, wanted) => wanted.every(word => /^\d| /.test(word)
  ? ` ${text} `.includes(` ${word} `) : text.includes(word));

const textOf = row => [...row.cells].map(cell => cell.textContent).join(" ").toLowerCase();

function filterCells() {
  const wanted = words(byId("cell-filter").value).map(word => word.replace(/^.+ /, ""));
  const rows = [...byId("cells").querySelectorAll("tbody tr")];
  for (const row of rows) row.hidden = !hasAll(textOf(row), wanted);
  const left = rows.filter(row => !row.hidden).length;
  byId("cell-count").textContent = wanted.length ? `${left} of ${rows.length}` : "";
}
if (byId("cell-filter")) byId("cell-filter").addEventListener("input", debounced(filterCells));

/* ---- the choice of a cell ---------------------------------------------------------- */

const parts = ["data", "hidden", "epsilon", "profile", "rows"];
const picked = {};
const isDense = cell => cell.dense;

/* Dense networks have no epsilon: they stand beside those of every epsilon. */
function fits(cell, upTo) {
  return parts.slice(0, upTo).every(part => cell[part] === picked[part] ||
    (part === "epsilon" && isDense(cell)));
}
const chosenCells = () => page.cells.filter(cell => fits(cell, parts.length))
  .sort((a, b) => a.method - b.method || (a.options < b.options ? -1 : 1));

function fillChoices() {
  parts.forEach((part, i) => {
    const found = new Set(page.cells.filter(cell => fits(cell, i)).map(cell => cell[part]));
    /* A choice of epsilon is one of those that sparse networks have; some have a density. */
    const isWithout = !page.cells.some(cell => fits(cell, i) && cell[part] === null && !isDense(cell));
    if (found.size > 1 && isWithout) found.delete(null);
    const values = [...found];  // in the order of the cells, which is that of the paper
    if (typeof values[0] === "number") values.sort((a, b) => a - b);
    if (!found.has(picked[part])) picked[part] = values[0];
    const select = byId("pick-" + part);
    select.replaceChildren(...values.map((value, at) => {
      const option = make("option", {value: at}, value === null ? "–" : String(value));
      option.selected = value === picked[part];
      return option;
    }));
    select.onchange = () => { picked[part] = values[select.value]; fillChoices(); redraw(); };
    /* There is no choice between one thing. */
    select.parentNode.hidden = values.length < 2;
  });
}

/* ---- learning curves ---------------------------------------------------------------- */

const across = {epoch: "epoch", seconds: "seconds of training and rewiring",
  multiply_adds: "multiply-adds of training"};
const upwards = {selected: score => `test ${score}, best validated epoch so far`,
  test: score => `test ${score}`, loss: () => "test loss"};

function spansDecades(cells, x) {
  const ends = cells.map(cell => cell.x[x].at(-1)).filter(end => end > 0);
  return x !== "epoch" && Math.max(...ends) > 8 * Math.min(...ends);
}

/* Values that hardly differ: as they are, they would get an axis from -50 % to 150 %. */
function steadyRange(values, isScore) {
  const low = Math.min(...values), high = Math.max(...values);
  const size = Math.max(Math.abs(low), Math.abs(high));
  const half = isScore ? .05 : .05 * size || 1, middle = (low + high) / 2;
  if (!values.length || high - low >= .4 * half) return null;
  const [bottom, top] = isScore ? [-.005, 1.005] : [-Infinity, Infinity];
  return [Math.max(middle - half, bottom), Math.min(middle + half, top)];
}

const hiddenLines = new Set();

function drawCurves() {
  const box = byId("curve-chart"), x = byId("pick-x").value, y = byId("pick-y").value;
  const cells = chosenCells().filter(cell => cell.x && cell.x[x] && cell.y[y]);
  if (box.dataset.scale !== x + picked.data + picked.hidden) {
    box.dataset.scale = x + picked.data + picked.hidden;
    byId("pick-log").checked = spansDecades(cells, x);
  }
  const all = cells.flatMap(cell => cell.y[y].flat()).filter(v => v !== null);
  const task = cells.length ? cells[0].task : "", isScore = y !== "loss" && isShare(task);
  const digits = isScore && Math.max(...all) - Math.min(...all) < .08 ? 1 : 0;
  const text = (v, cell) => v === null ? "–" : y === "loss" ? Number(v).toPrecision(3) : scoreText(v, cell.task);
  const hasBands = byId("pick-bands").checked;
  lineChart(box, {
    lines: cells.map(cell => {
      const [mean, low, high] = cell.y[y], spread = cell.seeds > 1;
      return {name: title(cell), chip: `m${cell.method}`, colour: colour(cell),
        dash: page.methods[cell.method].dash, x: cell.x[x], y: mean,
        ...(hasBands && spread ? {low, high} : {}),
        tips: mean.map((v, i) => text(v, cell) + (spread ? ` (${text(low[i], cell)} to ${text(high[i], cell)})` : "") +
          (x === "epoch" ? "" : `, epoch ${cell.x.epoch[i]}`))};
    }),
    xTitle: across[x], yTitle: upwards[y](scoreName(task)), logX: byId("pick-log").checked,
    logY: y === "loss" && Math.min(...all) > 0 && Math.max(...all) > 20 * Math.min(...all),
    tickY: isScore ? v => `${(100 * v).toFixed(digits)} %` : shortTick,
    range: steadyRange(all, isScore), hidden: hiddenLines,
    width: isPrinting() ? 680 : Math.max(280, box.clientWidth),  // what paper has room for
    empty: "nothing was recorded for this choice"});
}
byId("curve-chart").addEventListener("legend", drawCurves);

/* ---- connections of the inputs ------------------------------------------------------- */

function hover(element, describe) {
  element.addEventListener("pointermove", event => {
    const frame = element.getBoundingClientRect();
    tip(event, describe((event.clientX - frame.left) / frame.width,
      (event.clientY - frame.top) / frame.height));
  });
  element.addEventListener("pointerleave", event => tip(event, ""));
}

const ramps = {
  light: [[250, 250, 248], [178, 205, 236], [64, 127, 206], [10, 44, 98]],
  dark: [[27, 28, 30], [28, 72, 138], [91, 155, 234], [226, 240, 255]],
};
function ramp(share) {
  const stops = ramps[theme()], at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  return stops[i].map((v, k) => v + (at - i) * (stops[i + 1][k] - v));
}

function paint(canvas, values, width, most) {
  canvas.width = width;
  canvas.height = values.length / width;
  const image = new ImageData(width, canvas.height);
  values.forEach((v, i) => image.data.set([...ramp(v / most), 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function drawImage(cell, most) {
  const {counts, shape: [rows, columns]} = cell.inputs;
  const canvas = make("canvas", {role: "img", "aria-label": `Connections of each pixel, ${title(cell)}`});
  paint(canvas, counts, columns, most);
  hover(canvas, (x, y) => {
    const row = Math.min(rows - 1, Math.floor(y * rows));
    const column = Math.min(columns - 1, Math.floor(x * columns));
    return `row ${row + 1}, column ${column + 1}\n${counts[row * columns + column]} connections`;
  });
  return canvas;
}

function drawBars(cell, most, width) {
  const {counts, numbers} = cell.inputs, useful = new Set(page.useful[picked.data]);
  const number = i => numbers ? numbers[i] : i;
  const height = 150, left = 30, top = 6, bottom = height - 20, high = 1.04 * most;
  const order = counts.map((_, i) => i);
  if (byId("pick-order").value === "rank") order.sort((a, b) => counts[b] - counts[a] || a - b);
  const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Connections of each input, ${title(cell)}`}, make("div"));
  const y = v => bottom - (bottom - top) * v / high, bar = (width - left) / order.length;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find(s => most / s <= 4) || most;
  for (let tick = 0; tick <= high; tick += step) {
    draw("line", {x1: left, x2: width, y1: y(tick), y2: y(tick), stroke: "var(--line)"}, svg);
    draw("text", {x: left - 5, y: y(tick) + 4, "text-anchor": "end"}, svg, tick);
  }
  /* A bar of less than a pixel would fade away: useful inputs keep at least two. */
  for (const isUseful of useful.size ? [false, true] : [true]) {
    const thick = isUseful && useful.size ? Math.max(bar, 2) : bar;
    const bars = order.map((i, k) => [i, left + k * bar])
      .filter(([i]) => !useful.size || useful.has(number(i)) === isUseful)
      .map(([i, x]) => `M${x.toFixed(2)},${bottom}V${y(counts[i]).toFixed(2)}h${thick.toFixed(2)}V${bottom}Z`);
    draw("path", {d: bars.join(""), fill: isUseful ? colour(cell) : "var(--probe)"}, svg);
  }
  draw("text", {x: left, y: height - 5}, svg, byId("pick-order").value === "rank" ? "most" : "first");
  draw("text", {x: width, y: height - 5, "text-anchor": "end"}, svg, `${whole(order.length)} inputs`);
  hover(svg, x => {
    const k = Math.floor((x * width - left) / bar);
    if (k < 0 || k >= order.length) return "";
    const i = order[k], kind = useful.size ? (useful.has(number(i)) ? ", useful" : ", noise") : "";
    return `input ${number(i)}${kind}\n${counts[i]} connections`;
  });
  return svg;
}

function usefulShare({counts}) {
  const useful = page.useful[picked.data];
  const share = useful.reduce((sum, i) => sum + counts[i], 0) / counts.reduce((a, b) => a + b, 0);
  return `${percent(share)} of its connections are on the ${useful.length} useful inputs, ` +
    `even shares would be ${percent(useful.length / counts.length)}.`;
}

function inputsText({n, connected, fullest_tenth: tenth, counts}) {
  if (page.useful[picked.data] && counts.length === n) return usefulShare({counts});
  return `${whole(Math.round(connected))} of ${whole(n)} inputs connected; the tenth with most has ${percent(tenth)}.`;
}

function drawScale(most, isClipped) {
  const canvas = make("canvas");
  paint(canvas, Array.from({length: 64}, (_, i) => i), 64, 63);
  byId("scale").replaceChildren("0", canvas,
    `${isClipped ? "≥ " : ""}${Number(most.toPrecision(3))} connections`);
}

function drawInputs() {
  const cells = chosenCells().filter(cell => cell.inputs);
  const isImage = cells.some(cell => cell.inputs.shape);
  const all = cells.flatMap(cell => cell.inputs.counts).sort((a, b) => a - b);
  const top = all.at(-1) || 1;
  /* A single pixel with very many would leave no colours to the rest. */
  const most = isImage ? all[Math.floor(.997 * (all.length - 1))] || top : top;
  const note = !cells.length ? "Nothing was recorded for this choice."
    : isImage ? "Connections of each pixel at the chosen epoch, the colours of a pixel together."
    : page.useful[picked.data] ? "Connections of each input at the chosen epoch. Coloured: inputs that carry the class; grey: noise. No method was told which are which."
    : "Connections of each input at the chosen epoch" + (cells[0].inputs.numbers
      ? `: of ${whole(cells[0].inputs.n)} the ${whole(cells[0].inputs.counts.length)} with most.` : ".");
  const amount = picked.epsilon === null ? "" : `, epsilon\u00a0${picked.epsilon}`;
  const setting = `${picked.data}, ${picked.hidden}\u00a0neurons per layer${amount}`;
  byId("inputs-note").textContent = cells.length
    ? `${note} Mean of the seeds, the same scale for all; ${setting}, as chosen above.` : note;
  byId("order-label").hidden = isImage || !cells.length;
  byId("scale").hidden = !isImage;
  if (isImage) drawScale(most, most < top);
  const panels = byId("panels");
  panels.classList.toggle("images", isImage);
  panels.replaceChildren(...cells.map(cell => {
    const chip = make("span", {class: `chip m${cell.method}`});
    return make("div", {}, make("h3", {}, chip, title(cell)), make("p", {}, inputsText(cell.inputs)));
  }));
  cells.forEach((cell, i) => panels.children[i].append(cell.inputs.shape
    ? drawImage(cell, most) : drawBars(cell, most, panels.children[i].clientWidth)));
}

/* ---- receipts ------------------------------------------------------------------------ */

const runs = page.runs.rows.map(row => {
  const run = Object.fromEntries(page.runs.fields.map((name, i) => [name, row[i]]));
  for (const name of page.runs.named) run[name] = page.runs.texts[run[name]];
  const width = run.epsilon === null ? "" : ` epsilon ${run.epsilon}`;
  run.isNetwork = run.connections > 0;  // and no model of scikit-learn
  run.which = `${run.isNetwork ? `neurons ${run.hidden}${width} ` : ""}seed ${run.seed}`;
  run.setting = run.profile + (run.epochs ? `, ${run.epochs} epochs` : "");
  run.title = page.methods[run.method].title;
  run.found = [run.data, run.title, run.which, run.setting.replace(",", ""), run.options, run.cofire,
    run.finished, run.split === null ? "" : `split ${run.split}`].join(" ").toLowerCase();
  return run;
});
const shortNumber = v => v === null || v === undefined ? "–"
  : v < 1e6 ? whole(v) : v.toLocaleString("en",
    {notation: "compact", compactDisplay: "long", maximumSignificantDigits: 3});
const seconds = v => v === null || v === undefined ? "–" : v.toPrecision(3) + " s";

function terms(pairs) {
  return make("dl", {}, ...pairs.filter(([, text]) => text !== "" && text !== null)
    .flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, String(text))]));
}

function twin(run) {
  const line = (name, own, dense) => make("tr", {}, make("th", {scope: "row"}, name),
    ...[shortNumber(own), shortNumber(dense), own && dense ? (dense / own).toFixed(1) + " ×" : "–"]
      .map(text => make("td", {class: "n"}, text)));
  const head = ["", "this network", "dense network", "times less"].map((text, i) =>
    make("td", {class: i ? "n" : ""}, text));
  return make("div", {class: "wide"}, make("table", {}, make("tbody", {}, make("tr", {}, ...head),
    line("connections", run.connections, run.dense_connections),
    line("bytes", run.bytes, run.dense_bytes),
    line("multiply-adds", run.multiply_adds, run.dense_multiply_adds))));
}

function openReceipt(details, run) {
  if (details.querySelector(".receipt")) return;
  details.append(make("div", {class: "receipt"}, terms([
    ["settings", run.setting + (run.split === null ? "" : `, split ${run.split}`)],
    ["options", run.options],
    [`test ${scoreName(run.task)}`, scoreText(run.score, run.task) +
      (run.isNetwork ? ` after epoch ${run.best_epoch}` : "")],
    ["validation", run.validation_score === null ? null : scoreText(run.validation_score, run.task)],
    ["seconds", seconds(run.seconds) + (run.isNetwork ? `: training ${seconds(run.train_seconds)}, ` +
      `rewiring ${seconds(run.rewire_seconds)}, evaluation ${seconds(run.evaluate_seconds)}` : "")],
    ["multiply-adds of training", run.isNetwork ? shortNumber(run.training_multiply_adds) : null],
    ...page.runs.more.map(([name, heading, unit]) =>
      [heading, run[name] === null ? null : Number((unit * run[name]).toPrecision(4))]),
    ["machine", run.machine], ["cofire", run.cofire], ["finished", run.finished],
    ["notes", run.notes]]), ...(run.isNetwork ? [twin(run)] : [])));
}

let shown = 200;
function listRuns() {
  const wanted = words(byId("run-filter").value);
  const found = runs.filter(run => hasAll(run.found, wanted));
  byId("run-list").replaceChildren(...found.slice(0, shown).map(run => {
    const chip = make("span", {class: `chip m${run.method}`});
    const details = make("details", {}, make("summary", {},
      make("span", {class: "which"}, chip, run.title), make("span", {class: "which"}, run.data),
      make("span", {class: "which"}, run.which), make("small", {class: "which"}, run.setting),
      make("small", {class: "costs"},
        (run.isNetwork ? `${whole(run.connections)} connections, ` : "") + seconds(run.seconds)),
      make("b", {}, `${isShare(run.task) ? "" : "R² "}${scoreText(run.score, run.task)}`)));
    details.addEventListener("toggle", () => openReceipt(details, run), {once: true});
    return details;
  }));
  byId("run-count").textContent = `${whole(Math.min(shown, found.length))} of ${whole(found.length)} shown` +
    (found.length < runs.length ? `, ${whole(runs.length)} in all` : "");
  byId("run-more").hidden = found.length <= shown;
  byId("run-more").textContent = `show ${whole(Math.min(200, found.length - shown))} more`;
}
byId("run-filter").addEventListener("input", debounced(() => { shown = 200; listRuns(); }));
byId("run-more").addEventListener("click", () => { shown += 200; listRuns(); });

/* ---- all together -------------------------------------------------------------------- */

function redraw() { drawCurves(); drawInputs(); markAll(); }
/* Without validation rows no epoch was chosen by them. */
if (!page.validated) byId("pick-y").querySelector("[value=selected]").remove();
for (const id of ["pick-x", "pick-y", "pick-log", "pick-bands"])
  byId(id).addEventListener("change", drawCurves);
byId("pick-order").addEventListener("change", drawInputs);
isDark.addEventListener("change", redraw);
addEventListener("beforeprint", () => {
  document.documentElement.dataset.printing = "";
  document.querySelectorAll("details.given").forEach(details => { details.open = true; });
  redraw();
});
addEventListener("afterprint", () => { delete document.documentElement.dataset.printing; redraw(); });

fillChoices();
listRuns();
let width = 0;
new ResizeObserver(debounced(() => {
  if (document.body.clientWidth !== width) { width = document.body.clientWidth; redraw(); }
}, 60)).observe(document.body);
