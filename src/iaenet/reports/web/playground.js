// The page: a model, an input, sensors on it, and what the model answers.
"use strict";
(async () => {
  const $ = (id) => document.getElementById(id);
  const MODELS = JSON.parse($("models").textContent);
  const bytes = (id) => Uint8Array.from(atob($(id).textContent.trim()), (c) => c.charCodeAt(0));
  async function unpacked(id) {
    const stream = new Blob([bytes(id)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }
  const numbers = (text, Kind) => new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const rows = (flat, d) => Array.from({ length: flat.length / d }, (_, i) => Array.from(flat.subarray(i * d, i * d + d)));

  const state = { model: 0, preset: 0, place: "uniform", count: 16, noise: 0, mode: "move", show: "answer", inputChannel: 0, outputChannel: 0, seed: 1, selected: -1, sensors: [] };
  let model, preset, view, session, base, full, answer, dirty = { input: false, sensors: false }, busy = false;
  const sessions = new Map(), listeners = [];
  const FIRST = { line: 16, grid: 256, mesh: 64 }; // sensors until the reader chooses a number

  // ---------------------------------------------------------------- the model

  async function start() {
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.wasmBinary = (await unpacked("wasm")).buffer;
    ort.env.wasm.wasmPaths = { mjs: URL.createObjectURL(new Blob([bytes("glue")], { type: "text/javascript" })) };
    ort.env.logLevel = "error";
    setup();
    await choose(0);
  }

  async function choose(k) {
    state.model = k; model = MODELS[k];
    if (!sessions.has(k)) sessions.set(k, await ort.InferenceSession.create(await unpacked("model" + k), { executionProviders: ["wasm"], logSeverityLevel: 3 }));
    session = sessions.get(k);
    full = answer = undefined;
    state.inputChannel = state.outputChannel = 0; state.sensorsOf = null;
    describe();
    usePreset(0);
  }

  function usePreset(k) {
    state.preset = k;
    const raw = model.presets[k];
    if (!raw.ready) raw.ready = {
      kind: raw.kind, label: raw.label,
      axes: raw.axes && raw.axes.map((a) => numbers(a, Float64Array)),
      points: raw.points && rows(numbers(raw.points, Float64Array), 2),
      weights: raw.weights && numbers(raw.weights, Float64Array),
      cells: raw.cells && numbers(raw.cells, Int32Array), boundary: raw.boundary && numbers(raw.boundary, Float64Array),
      input: numbers(raw.input, Float32Array), truth: raw.truth && numbers(raw.truth, Float32Array),
    };
    preset = raw.ready; view = Views.of(preset);
    base = Float32Array.from(preset.input);
    state.drawn = false;
    const c = model.metadata.inputs.length, n = base.length / c;
    preset.spread = Array.from({ length: c }, (_, j) => {
      let s = 0, q = 0;
      for (let i = 0; i < n; i++) { s += base[i * c + j]; q += base[i * c + j] ** 2; }
      return Math.sqrt(Math.max(q / n - (s / n) ** 2, 0));
    });
    if (!state.chosen) { state.count = FIRST[preset.kind]; $("count").value = Math.log2(state.count); }
    if (preset.kind === "mesh" || state.sensorsOf !== preset.kind + state.model) { place(); state.sensorsOf = preset.kind + state.model; }
    refresh(true);
  }

  // Values (n, c) of the input at sensors, with noise that stays with each sensor.
  function sense(sensors) {
    const c = model.metadata.inputs.length, found = new Float32Array(sensors.length * c), next = Maths.random(77);
    sensors.forEach((p, i) => {
      for (let j = 0; j < c; j++) found[i * c + j] = at(p, j) + (state.noise ? state.noise * preset.spread[j] * Maths.normal(next) : 0);
    });
    return found;
  }
  function at(p, j) {
    const c = model.metadata.inputs.length;
    if (preset.kind === "mesh") return base[p[2] * c + j];
    if (preset.kind === "line") {
      if (!preset.taps || preset.taps.x !== p[0]) { const t = Maths.axisTaps(preset.axes[0], [p[0]], model.metadata.periodic[0]); preset.taps = { x: p[0], ...t }; }
      let s = 0;
      for (let k = 0; k < preset.taps.count; k++) s += preset.taps.shares[k] * base[preset.taps.near[k] * c + j];
      return s;
    }
    const cell = preset.axes.map((axis, a) => {
      const n = axis.length, t = p[a] * (model.metadata.periodic[a] ? n : n - 1), i = Math.min(Math.floor(t), model.metadata.periodic[a] ? n - 1 : n - 2);
      return [i, (i + 1) % n, t - i];
    });
    const m = preset.axes[1].length, [[i, k, s], [l, q, r]] = cell, v = (a, b) => base[(a * m + b) * c + j];
    return (1 - s) * ((1 - r) * v(i, l) + r * v(i, q)) + s * ((1 - r) * v(k, l) + r * v(k, q));
  }

  // What the model answers to values at points, at the points of the picture; the numbers that went in come back, too.
  async function ask(points, values, axes, own) {
    const meta = model.metadata, d = meta.dim, c = meta.inputs.length, grid = meta.latent_grid, size = grid.reduce((a, b) => a * b, 1);
    const wraps = meta.periodic, n = points.length, query = view.query, flat = (p) => Float64Array.from(p.flatMap((x) => x.slice(0, d)));
    const weights = preset.kind === "mesh" ? (own ? preset.weights : Maths.nearestSums(preset.points, preset.weights, points.map((p) => p[2])))
      : d === 1 ? Maths.trapezoid(points.map((p) => p[0]), wraps[0]) : axes ? null : Maths.voronoi(points, wraps);
    const product = weights || (() => { const [a, b] = axes.map((x, i) => Maths.trapezoid(Array.from(x), wraps[i])); return Float64Array.from(a.length ? Array.from(a).flatMap((u) => Array.from(b, (v) => u * v)) : []); })();
    const gridded = axes && (d === 2 || (axes[0].length <= grid[0] && Maths.isUniform(Array.from(axes[0]), wraps[0])));
    const latent = gridded ? Maths.encodeGrid(meta.projection, axes.map((x) => Array.from(x)), grid, wraps, values, c) : new Float32Array(size * c);
    const told = meta.geometry.length > 0, bare = gridded && !meta.head && !told; // then nothing but the function on the grid is used
    const T = ort.Tensor, begin = performance.now();
    const feeds = {
      points: new T("float64", bare ? new Float64Array(4 * d).map((_, i) => ((i * 7) % 11) / 11) : flat(points), [bare ? 4 : n, d]),
      values: new T("float32", bare ? new Float32Array(4 * c) : values, [1, bare ? 4 : n, c]),
      weights: new T("float64", bare ? new Float64Array(4).fill(0.25) : product, [bare ? 4 : n]),
      query: new T("float64", flat(query), [query.length, d]),
      bounds: new T("float64", Float64Array.from({ length: 2 * d }, (_, i) => i % 2), [d, 2]),
      use_latent: new T("bool", Uint8Array.of(gridded ? 1 : 0), []),
      latent: new T("float32", latent, [1, size, c]),
    };
    if (told) { // the domain is the preset's, wherever the sensors are
      const facets = preset.boundary || new Float64Array(2 * d * d);
      feeds.use_boundary = new T("bool", Uint8Array.of(preset.boundary ? 1 : 0), []);
      feeds.boundary = new T("float64", facets, [facets.length / (d * d), d, d]);
      if (d > 1 && meta.geometry.includes("measure")) feeds.curve = new T("bool", Uint8Array.of(0), []); // it shows none
    }
    if (meta.head) {
      const taps = own ? { near: Int32Array.from({ length: n }, (_, i) => i), shares: new Float64Array(n).fill(1), count: 1 }
        : d === 1 ? Maths.axisTaps(points.map((p) => p[0]), query.map((p) => p[0]), wraps[0]) : Maths.simplexTaps(points, query, wraps);
      feeds.near = new T("int64", BigInt64Array.from(taps.near, BigInt), [query.length, taps.count]);
      feeds.shares = new T("float64", taps.shares, [query.length, taps.count]);
    }
    const found = await session.run(feeds);
    return { output: found.output.data, ms: performance.now() - begin, points: points.map((p) => p.slice(0, d)), values: Array.from(values), weights: Array.from(product), gridded: Boolean(gridded) };
  }

  // ---------------------------------------------------------------- sensors

  function place() {
    const d = model.metadata.dim, n = state.count, next = Maths.random(31 * state.seed + n), wraps = model.metadata.periodic;
    state.axes = null; state.selected = -1;
    if (preset.kind === "mesh") state.sensors = chooseNodes(Math.min(n, preset.points.length), next);
    else if (state.place === "uniform") {
      const along = d === 1 ? n : Math.max(3, Math.round(Math.sqrt(n)));
      state.axes = wraps.map((w) => Maths.uniformNodes(along, w));
      state.sensors = d === 1 ? Array.from(state.axes[0], (x) => [x]) : Array.from(state.axes[0]).flatMap((x) => Array.from(state.axes[1], (y) => [x, y]));
    } else {
      const centres = Array.from({ length: 3 }, () => Array.from({ length: d }, () => 0.15 + 0.7 * next()));
      state.sensors = Array.from({ length: n }, (_, i) => Array.from({ length: d }, (_, a) => {
        if (state.place === "random" || i % 4 === 0) return next();
        for (;;) { const v = centres[i % 3][a] + 0.09 * Maths.normal(next); if (v >= 0 && v <= 1) return v; }
      }));
      if (d === 1) state.sensors.sort((a, b) => a[0] - b[0]);
    }
  }
  function chooseNodes(n, next) {
    const all = preset.points.map((p, i) => [p[0], p[1], i]);
    if (state.place === "uniform" && n < all.length) { // the node furthest from those chosen, again and again
      const gap = new Float64Array(all.length).fill(Infinity), chosen = [];
      for (let k = 0, last = 0; k < n; k++) {
        chosen.push(all[last]);
        let best = 0;
        for (let i = 0; i < all.length; i++) {
          gap[i] = Math.min(gap[i], (all[i][0] - all[last][0]) ** 2 + (all[i][1] - all[last][1]) ** 2);
          if (gap[i] > gap[best]) best = i;
        }
        last = best;
      }
      return chosen;
    }
    const centre = all[Math.floor(next() * all.length)], key = (p) => (state.place === "clustered" ? (p[0] - centre[0]) ** 2 + (p[1] - centre[1]) ** 2 + 0.15 * next() : next());
    return all.map((p) => [key(p), p]).sort((a, b) => a[0] - b[0]).slice(0, n).map((p) => p[1]);
  }
  function half() {
    const every = (n, wraps) => Array.from({ length: n }, (_, i) => i).filter((i) => i % 2 === 0 || (!wraps && i === n - 1));
    if (state.axes && preset.kind !== "mesh") {
      const kept = state.axes.map((x, a) => every(x.length, model.metadata.periodic[a])), m = state.axes[state.axes.length - 1].length;
      const index = kept.length === 1 ? kept[0] : kept[0].flatMap((i) => kept[1].map((j) => i * m + j));
      return { index, axes: kept.map((k, a) => Float64Array.from(k, (i) => state.axes[a][i])) };
    }
    const next = Maths.random(5), order = state.sensors.map((_, i) => [next(), i]).sort((a, b) => a[0] - b[0]);
    return { index: order.slice(0, Math.ceil(order.length / 2)).map((p) => p[1]).sort((a, b) => a - b), axes: null };
  }

  // ---------------------------------------------------------------- updates

  function refresh(input) {
    dirty.input = dirty.input || input; dirty.sensors = true;
    draw();
    if (!busy) work();
  }
  async function work() {
    busy = true;
    try {
      while (dirty.input || dirty.sensors) {
        const { input } = dirty;
        dirty = { input: false, sensors: false };
        const values = sense(state.sensors);
        if (!session.warm) { await ask(state.sensors, values, state.axes, false); session.warm = true; } // compiles
        const found = await ask(state.sensors, values, state.axes, false);
        answer = { ...found, of: state.sensors };
        if (state.first === undefined) state.first = answer.ms;
        if (input || !full || full.of !== preset) {
          const all = preset.kind === "mesh" ? preset.points.map((p, i) => [p[0], p[1], i]) : view.query;
          full = { ...(await ask(all, Float32Array.from(base), preset.axes || null, true)), of: preset };
        }
        draw(); report(null);
        await new Promise((next) => setTimeout(next));
        if (dirty.input || dirty.sensors) continue;
        const less = half(), c = model.metadata.inputs.length;
        const some = Float32Array.from(less.index.flatMap((i) => Array.from(values.subarray(i * c, i * c + c))));
        const part = less.index.length >= 4 ? await ask(less.index.map((i) => state.sensors[i]), some, less.axes, false) : null;
        report(part && distance(part.output, answer.output));
        listeners.splice(0).forEach((done) => done());
      }
    } catch (error) {
      $("status").textContent = String(error); $("status").hidden = false;
      listeners.splice(0).forEach((done) => done());
      throw error;
    } finally { busy = false; }
  }
  function distance(found, wanted) { // relative L2, with the weights of the picture's points
    const c = model.metadata.outputs.length, n = wanted.length / c;
    let gap = 0, size = 0;
    for (let i = 0; i < n; i++) for (let j = 0; j < c; j++) {
      const w = preset.weights ? preset.weights[i] : 1, k = i * c + j;
      gap += w * (found[k] - wanted[k]) ** 2; size += w * wanted[k] ** 2;
    }
    return Math.sqrt(gap / size);
  }
  const percent = (v) => (v === null || !isFinite(v) ? "–" : v === 0 ? "0" : v < 1e-4 ? v.toExponential(1) : (100 * v).toPrecision(v < 0.1 ? 2 : 3) + " %");
  function report(mismatch) {
    if (mismatch !== null) { $("mismatch").textContent = percent(mismatch); state.mismatch = mismatch; }
    const known = full && full.of === preset;
    $("gap").textContent = known ? percent(distance(answer.output, full.output)) : "–";
    $("error").textContent = preset.truth && !state.drawn ? percent(distance(answer.output, preset.truth)) : "–";
    $("time").textContent = answer.ms.toFixed(answer.ms < 10 ? 1 : 0) + " ms";
    $("number").textContent = state.sensors.length;
  }
  const channel = (flat, count, j) => flat && (count === 1 ? flat : Float32Array.from({ length: flat.length / count }, (_, i) => flat[i * count + j]));
  function picture() {
    const meta = model.metadata, a = meta.inputs.length, b = meta.outputs.length, known = full && full.of === preset;
    return {
      bounds: meta.bounds, base: channel(base, a, state.inputChannel), sensors: state.sensors, selected: state.selected, show: state.show,
      sensorValues: channel(sense(state.sensors), a, state.inputChannel), truth: state.drawn ? null : channel(preset.truth, b, state.outputChannel),
      full: known ? channel(full.output, b, state.outputChannel) : null, answer: answer && known ? channel(answer.output, b, state.outputChannel) : null,
    };
  }
  let waiting = false;
  function draw() {
    if (waiting || !preset) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const s = picture();
      view.input($("input"), s);
      view.output($("output"), s);
      $("legend").replaceChildren(...view.legend(s).map(([name, text]) => {
        const item = document.createElement("span"), mark = document.createElement("i");
        mark.style.background = `var(${name})`; item.append(mark, text);
        return item;
      }));
    });
  }

  // ---------------------------------------------------------------- what the reader does

  function describe() {
    const meta = model.metadata, unit = (c) => c.name + (c.unit && c.unit !== "1" ? ` [${c.unit}]` : "");
    $("about").textContent = `${meta.model || "network"} · ${meta.parameters.toLocaleString("en")} parameters · trained on ${trained(meta.trained)}` + (meta.certificate ? ` · certificate of invariance: ${meta.certificate.verdict}` : "");
    for (const [side, id] of [["inputs", "inputChannel"], ["outputs", "outputChannel"]]) {
      $(id).replaceChildren(...meta[side].map((c, i) => new Option(unit(c), i)));
      $(id).disabled = meta[side].length < 2;
    }
    $("presets").replaceChildren(...model.presets.map((p, k) => button(p.label, () => usePreset(k), () => state.preset === k)));
    $("show").hidden = meta.dim === 1;
    $("help").textContent = meta.dim === 1 ? "Drag a sensor along the curve, or draw a curve of your own." : "Drag a sensor to another place, or paint with the brush (Shift paints lower).";
    mark();
  }
  function trained(t) {
    if (!t || !t.points) return "unknown points";
    const [a, b] = t.points;
    return `${a === b ? a : a + " to " + b} points`;
  }
  function button(text, action, pressed) {
    const made = document.createElement("button");
    made.type = "button"; made.textContent = text; made.pressed = pressed;
    made.onclick = () => { action(); mark(); };
    return made;
  }
  function mark() { document.querySelectorAll("button").forEach((b) => { if (b.pressed) b.setAttribute("aria-pressed", b.pressed()); }); }

  function setup() {
    const group = (id, options, key, then) => $(id).append(...Object.entries(options).map(([value, text]) => button(text, () => { state[key] = value; then(); }, () => state[key] === value)));
    const replace = () => { state.seed++; place(); refresh(false); };
    group("place", { uniform: "Uniform", random: "Random", clustered: "Clustered" }, "place", replace);
    group("mode", { move: "Move sensors", draw: "Draw input" }, "mode", () => { $("input").dataset.mode = state.mode; });
    group("show", { answer: "Answer", full: "From all points", truth: "Truth", difference: "Difference" }, "show", draw);
    $("models-tabs").append(...(MODELS.length > 1 ? MODELS.map((m, k) => button(m.name, () => choose(k), () => state.model === k)) : []));
    $("count").oninput = () => { state.chosen = true; state.count = Math.round(2 ** $("count").value); place(); refresh(false); };
    $("noise").oninput = () => { state.noise = Number($("noise").value) / 100; $("noiseValue").textContent = $("noise").value + " %"; refresh(false); };
    $("again").onclick = () => usePreset(state.preset);
    for (const id of ["inputChannel", "outputChannel"]) $(id).onchange = () => { state[id] = Number($(id).value); draw(); };
    $("theme").onclick = () => {
      const dark = (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
      document.documentElement.dataset.theme = dark ? "light" : "dark"; draw();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    new ResizeObserver(draw).observe($("input"));
    pointer($("input"));
    mark();
  }
  function moveSensor(i, x) {
    state.axes = null; // no grid any more
    if (preset.kind === "mesh") { const k = view.nearest(x); if (!state.sensors.some((s) => s[2] === k)) state.sensors[i] = [...preset.points[k], k]; } else state.sensors[i] = x;
    refresh(false);
  }
  function pointer(canvas) {
    let drag = null;
    const where = (e) => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
    canvas.onpointerdown = (e) => {
      const [px, py] = where(e);
      canvas.setPointerCapture(e.pointerId);
      if (state.mode === "draw") { drag = { last: view.place(px, py) }; stroke(view.place(px, py), e); return; }
      let best = -1, least = 32 ** 2;
      const shown = picture();
      state.sensors.forEach((_, i) => { const [x, y] = view.pixel(shown, i); const s = (x - px) ** 2 + (y - py) ** 2; if (s < least) { least = s; best = i; } });
      state.selected = best; drag = best >= 0 ? { sensor: best } : null; draw();
    };
    function stroke(to, e) {
      const c = model.metadata.inputs.length, values = channel(base, c, state.inputChannel), own = c === 1 ? values : Float32Array.from(values);
      view.paint(own, drag.last, to, e.shiftKey ? -1 : 1);
      own.forEach((v, i) => { base[i * c + state.inputChannel] = v; });
      drag.last = to; state.drawn = true; preset.taps = null;
      refresh(true);
    }
    canvas.onpointermove = (e) => {
      if (!drag) return;
      const to = view.place(...where(e));
      if (drag.sensor !== undefined) moveSensor(drag.sensor, to.x); else stroke(to, e);
    };
    canvas.onpointerup = canvas.onpointercancel = () => { drag = null; };
    canvas.onkeydown = (e) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key], n = state.sensors.length;
      if (e.key === "." || e.key === ",") state.selected = (state.selected + (e.key === "." ? 1 : n - 1) + n) % n;
      else if (step && state.selected >= 0) moveSensor(state.selected, state.sensors[state.selected].slice(0, model.metadata.dim).map((v, a) => Math.min(Math.max(v + 0.01 * step[a], 0), 1)));
      else return;
      e.preventDefault(); draw();
    };
  }
  // For tests and for the curious: the numbers behind the picture.
  window.playground = {
    settled: () => new Promise((done) => (busy || dirty.sensors ? listeners.push(done) : done())),
    numbers: () => ({ ...answer, output: Array.from(answer.output), full: Array.from(full.output), query: view.query.map((p) => p.slice(0, model.metadata.dim)), mismatch: state.mismatch, first: state.first, base: Array.from(base) }),
    sensor: (i) => { const box = $("input").getBoundingClientRect(), [x, y] = view.pixel(picture(), i); return [x + box.left, y + box.top]; },
    choose, maths: Maths,
  };
  window.playground.ready = start().then(() => window.playground.settled()).then(() => { $("status").hidden = true; document.body.dataset.ready = "true"; });
})();
