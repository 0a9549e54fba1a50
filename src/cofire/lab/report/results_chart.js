"use strict";
/* What the page's script stands on: its data, elements, and a chart of lines as SVG. */

async function unpacked(element) {
  if (element.type === "application/json") return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  element.append(...children);
  return element;
}

function draw(tag, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/* Text or elements beside the pointer; nothing hides it. */
function tip(event, ...content) {
  const box = document.getElementById("tip"), isEmpty = !content.length || content[0] === "";
  box.style.opacity = isEmpty ? 0 : 1;
  if (isEmpty) return;
  box.replaceChildren(...content);
  const left = event.clientX + 14 + box.offsetWidth > innerWidth
    ? event.clientX - 14 - box.offsetWidth : event.clientX + 14;
  const top = Math.min(event.clientY - 44, innerHeight - box.offsetHeight - 4);
  box.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

/* ---- ticks --------------------------------------------------------------------------- */

function evenTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(s => s * power >= rough * .999);
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({length: last - first + 1}, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function logTicks(low, high, count) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const within = steps => Array.from({length: last - first + 1}, (_, i) =>
    steps.map(s => Number(`${s}e${first + i}`))).flat().filter(v => v >= low * .999 && v <= high * 1.001);
  const fine = within([1, 2, 5]), coarse = within([1]);
  return fine.length <= count || coarse.length < 2 ? fine : coarse;
}

function shortTick(v) {
  const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]];
  for (const [size, name] of units) if (Math.abs(v) >= size)
    return `${Number((v / (name === "k" ? 1e3 : size)).toPrecision(4))}${name}`;
  return v === 0 ? "0" : String(Number(v.toPrecision(4)));
}

/* An axis: where values lie between two ends in pixels. */
function axisOf(low, high, isLog, from, to) {
  const f = isLog ? Math.log : v => v;
  const a = f(low), b = f(high);
  return v => from + (to - from) * (f(v) - a) / (b - a || 1);
}

/* ---- the chart ----------------------------------------------------------------------- */

/* lines: {name, chip, colour, dash, x, y, low, high, tips}; hidden: names not to draw. */
function lineChart(box, {lines, xTitle, yTitle, logX, logY, tickY, range, hidden, width, empty}) {
  const shown = lines.filter(line => !hidden.has(line.name)), isNarrow = width < 700;
  const height = isNarrow ? 320 : 400, bottom = height - 44, top = 14;
  const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${yTitle} against ${xTitle}`}, make("div"));
  const isGood = (v, isLog) => v !== null && (!isLog || v > 0);
  const all = key => shown.flatMap(line => line[key] || []);
  const xs = all("x").filter(v => isGood(v, logX));
  const ys = [...all("y"), ...all("low"), ...all("high")].filter(v => isGood(v, logY));
  if (!xs.length || !ys.length) {
    draw("text", {x: width / 2, y: height / 2, "text-anchor": "middle"}, svg,
      lines.length && !shown.length ? "every line is hidden" : empty);
  } else {
    const x0 = Math.min(...xs), x1 = Math.max(...xs);
    let [y0, y1] = range || [Math.min(...ys), Math.max(...ys)];
    const pad = logY ? 1 : .03 * (y1 - y0) || .5;
    if (!range) [y0, y1] = logY ? [y0 / 1.1, y1 * 1.1] : [y0 - pad, y1 + pad];
    const yTicks = logY ? logTicks(y0, y1, 7) : evenTicks(y0, y1, 6);
    const left = 14 + 7 * Math.max(...yTicks.map(v => tickY(v).length)) + (isNarrow ? 0 : 18);
    const px = axisOf(x0, x1, logX, left, width - 14), py = axisOf(y0, y1, logY, bottom, top);
    const grid = draw("g", {class: "grid"}, svg), texts = draw("g", {class: "yticks"}, svg);
    for (const v of yTicks) {
      draw("line", {x1: left, x2: width - 8, y1: py(v), y2: py(v)}, grid);
      draw("text", {x: left - 7, y: py(v) + 4, "text-anchor": "end"}, texts, tickY(v));
    }
    const room = Math.floor((width - left) / 70);
    for (const v of logX ? logTicks(x0, x1, room) : evenTicks(x0, x1, room)) {
      draw("line", {x1: px(v), x2: px(v), y1: bottom, y2: bottom + 4}, grid);
      draw("text", {x: px(v), y: bottom + 18, "text-anchor": "middle"}, svg, shortTick(v));
    }
    const middle = (top + bottom) / 2;
    draw("text", {x: (left + width) / 2, y: height - 6, "text-anchor": "middle", class: "xtitle"}, svg, xTitle);
    if (!isNarrow) draw("text", {x: 12, y: middle, "text-anchor": "middle", class: "ytitle",
      transform: `rotate(-90 12 ${middle})`}, svg, yTitle);
    const clip = draw("clipPath", {id: "plot-area"}, svg);
    draw("rect", {x: left, y: top - 6, width: width - left, height: bottom - top + 8}, clip);
    const ink = draw("g", {"clip-path": "url(#plot-area)"}, svg);
    const path = points => points.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)},${py(y).toFixed(1)}`).join("");
    const points = (line, key) => line.x.map((x, i) => [x, line[key][i]])
      .filter(([x, y]) => isGood(x, logX) && isGood(y, logY));
    for (const line of shown) if (line.low) draw("path", {class: "band", fill: line.colour,
      d: path([...points(line, "high"), ...points(line, "low").reverse()]) + "Z"}, ink);
    for (const line of shown) draw("path", {class: "line", stroke: line.colour,
      "stroke-dasharray": line.dash, d: path(points(line, "y"))}, ink);
    pointAt(svg, {shown, width, left, px, py, top, bottom, logX, isGood, xTitle});
  }
  const title = isNarrow ? [make("p", {class: "ytitle"}, yTitle)] : [];
  const drawn = make("div", {}, ...title, svg), before = box.querySelector(".legend");
  const names = JSON.stringify(lines.map(line => [line.name, line.chip]));
  /* A legend that stays in place takes the second click of two, too. */
  if (before && before.dataset.names === names) {
    box.firstElementChild.replaceWith(drawn);
    [...before.children].forEach((button, i) =>
      button.setAttribute("aria-pressed", String(!hidden.has(lines[i].name))));
    return;
  }
  const legend = legendOf(lines, hidden, box);
  legend.dataset.names = names;
  box.replaceChildren(drawn, ...(lines.length > 1 ? [legend] : []));
}

/* Under the pointer: the values of all lines there, the highest first. */
function pointAt(svg, {shown, width, px, top, bottom, py, logX, isGood, xTitle}) {
  const cursor = draw("g", {class: "cursor"}, svg);
  svg.addEventListener("pointermove", event => {
    const frame = svg.getBoundingClientRect(), at = (event.clientX - frame.left) / frame.width * width;
    const near = shown.map(line => {
      let best = -1;
      line.x.forEach((x, i) => {
        if (isGood(x, logX) && line.y[i] !== null &&
          (best < 0 || Math.abs(px(x) - at) < Math.abs(px(line.x[best]) - at))) best = i;
      });
      return [line, best];
    }).filter(([line, i]) => i >= 0 && Math.abs(px(line.x[i]) - at) < 60);  // not one that ended
    cursor.replaceChildren();
    if (!near.length) return tip(event);
    near.sort(([a, i], [b, j]) => b.y[j] - a.y[i]);
    const [first, i] = near.reduce((a, b) => Math.abs(px(b[0].x[b[1]]) - at) < Math.abs(px(a[0].x[a[1]]) - at) ? b : a);
    draw("line", {x1: px(first.x[i]), x2: px(first.x[i]), y1: top, y2: bottom}, cursor);
    for (const [line, k] of near) draw("circle", {cx: px(line.x[k]), cy: py(line.y[k]), r: 3.5,
      fill: line.colour}, cursor);
    tip(event, make("div", {}, `${xTitle} ${shortTick(first.x[i])}`), ...near.slice(0, 12).map(([line, k]) =>
      make("div", {}, make("span", {class: `chip ${line.chip}`}), `${line.name}: ${line.tips[k]}`)));
  });
  svg.addEventListener("pointerleave", event => { cursor.replaceChildren(); tip(event); });
}

/* A click hides a line or shows it; a double click leaves it alone, or brings all back. */
function legendOf(lines, hidden, box) {
  const again = () => box.dispatchEvent(new CustomEvent("legend"));
  return make("div", {class: "legend"}, ...lines.map(line => {
    const button = make("button", {type: "button", "aria-pressed": String(!hidden.has(line.name))},
      make("span", {class: `chip ${line.chip}`}), line.name);
    button.addEventListener("click", event => {
      if (event.detail > 1) {
        const others = lines.map(l => l.name).filter(name => name !== line.name);
        const isAlone = others.every(name => hidden.has(name));
        hidden.clear();
        if (!isAlone) others.forEach(name => hidden.add(name));
      } else if (!hidden.delete(line.name)) hidden.add(line.name);
      again();
    });
    return button;
  }));
}
