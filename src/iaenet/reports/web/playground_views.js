// Pictures of functions: curves on a line, images on a square, meshes with their cells.
"use strict";
const Views = (() => {
  const STOPS = { // light at one end and dark at the other, even in lightness; and a diverging one
    value: [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]],
    difference: [[33, 102, 172], [103, 169, 207], [209, 229, 240], [247, 247, 247], [253, 219, 199], [239, 138, 98], [178, 24, 43]],
  };
  function color(name, t) {
    const stops = STOPS[name], s = Math.min(Math.max(t, 0), 1) * (stops.length - 1), i = Math.min(Math.floor(s), stops.length - 2);
    return stops[i].map((v, k) => v + (s - i) * (stops[i + 1][k] - v));
  }
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (v) => (v === 0 ? "0" : Math.abs(v) >= 1e4 || Math.abs(v) < 1e-3 ? v.toExponential(1) : String(+v.toPrecision(3)));

  function ticks(low, high) { // round numbers, about five of them
    const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw)), step = power * [1, 2, 5, 10].find((k) => k * power >= raw);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
    return found;
  }

  function range(...arrays) {
    let low = Infinity, high = -Infinity;
    for (const a of arrays) if (a) for (const v of a) { if (v < low) low = v; if (v > high) high = v; }
    if (!(high > low)) { low -= 0.5; high = low + 1; }
    return [low, high];
  }

  // A canvas with as many pixels as the screen has, and its size in CSS pixels.
  function prepare(canvas) {
    const ratio = window.devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = canvas;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
    }
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = "12px " + css("--font");
    return { g, w, h };
  }

  class Line {
    constructor(preset) { this.x = preset.axes[0]; this.query = Array.from(this.x, (v) => [v]); }
    frame(w, h, limits) {
      const [left, right, top, bottom] = [62, 12, 12, 28];
      const span = limits[1] - limits[0], low = limits[0] - 0.06 * span, high = limits[1] + 0.06 * span;
      return {
        left, top, width: w - left - right, height: h - top - bottom, low, high,
        px: (x) => left + x * (w - left - right), py: (y) => top + (1 - (y - low) / (high - low)) * (h - top - bottom),
        ux: (px) => (px - left) / (w - left - right), uy: (py) => low + (1 - (py - top) / (h - top - bottom)) * (high - low),
      };
    }
    axes(g, f, bounds) {
      g.strokeStyle = css("--line"); g.fillStyle = css("--muted"); g.lineWidth = 1;
      g.textAlign = "right"; g.textBaseline = "middle";
      for (const y of ticks(f.low, f.high)) {
        const py = Math.round(f.py(y)) + 0.5;
        g.beginPath(); g.moveTo(f.left, py); g.lineTo(f.left + f.width, py); g.stroke();
        g.fillText(short(y), f.left - 6, py);
      }
      g.textAlign = "center"; g.textBaseline = "top";
      for (let k = 0; k <= 4; k++) g.fillText(short(bounds[0][0] + ((bounds[0][1] - bounds[0][0]) * k) / 4), f.px(k / 4), f.top + f.height + 8);
    }
    curve(g, f, values, style, width, dash = []) {
      g.strokeStyle = style; g.lineWidth = width; g.setLineDash(dash); g.lineJoin = "round"; g.beginPath();
      values.forEach((v, i) => (i ? g.lineTo(f.px(this.x[i]), f.py(v)) : g.moveTo(f.px(this.x[i]), f.py(v))));
      g.stroke(); g.setLineDash([]);
    }
    input(canvas, s) {
      const { g, w, h } = prepare(canvas), f = (this.last = this.frame(w, h, range(s.base, s.sensorValues)));
      this.axes(g, f, s.bounds);
      this.curve(g, f, s.base, css("--faint"), 2);
      if (s.sensors.length <= 150) { // each stands on a thin line
        g.globalAlpha = 0.35; g.strokeStyle = css("--sensor"); g.lineWidth = 1; g.beginPath();
        s.sensors.forEach(([x], i) => { g.moveTo(f.px(x), f.top + f.height); g.lineTo(f.px(x), f.py(s.sensorValues[i])); });
        g.stroke(); g.globalAlpha = 1;
      }
      const many = s.sensors.length > 600, r = many ? 1.5 : s.sensors.length > 150 ? 2.5 : 5;
      s.sensors.forEach(([x], i) => {
        g.fillStyle = i === s.selected ? css("--accent") : css("--sensor"); g.beginPath();
        g.arc(f.px(x), f.py(s.sensorValues[i]), i === s.selected ? r + 2 : r, 0, 7); g.fill();
        if (!many) { g.strokeStyle = css("--panel"); g.lineWidth = 1.5; g.stroke(); }
      });
    }
    output(canvas, s) {
      const { g, w, h } = prepare(canvas), f = (this.lastOutput = this.frame(w, h, range(s.truth, s.full, s.full ? null : s.answer)));
      this.axes(g, f, s.bounds);
      g.save(); g.beginPath(); g.rect(f.left, 0, f.width, h); g.clip();
      if (s.full) this.curve(g, f, s.full, css("--faint"), 6);
      if (s.answer) this.curve(g, f, s.answer, css("--accent"), 2.4);
      if (s.truth) this.curve(g, f, s.truth, css("--text"), 1.2, [3, 7]);
      g.restore();
    }
    place(px, py) { const f = this.last; return { x: [Math.min(Math.max(f.ux(px), 0), 1)], value: f.uy(py) }; }
    pixel(s, i) { const f = this.last; return [f.px(s.sensors[i][0]), f.py(s.sensorValues[i])]; }
    paint(base, from, to) { // a stroke of the pen
      const [a, b] = from.x[0] <= to.x[0] ? [from, to] : [to, from];
      let reached = false;
      this.x.forEach((x, i) => {
        if (x < a.x[0] || x > b.x[0]) return;
        reached = true;
        base[i] = a.value + (b.x[0] > a.x[0] ? ((x - a.x[0]) / (b.x[0] - a.x[0])) * (b.value - a.value) : 0);
      });
      if (!reached) base[this.nearest(to.x)] = to.value;
    }
    nearest([x]) { let best = 0; this.x.forEach((v, i) => { if (Math.abs(v - x) < Math.abs(this.x[best] - x)) best = i; }); return best; }
    legend(s) {
      return [["--accent", "answer from the sensors"], ["--faint", "answer from all points"], ...(s.truth ? [["--text", "truth (dashed)"]] : [])];
    }
  }

  // What images and meshes share: a square in the middle, a colour bar beside it.
  class Plane {
    square(w, h, bounds) {
      const [lx, ly] = bounds.map(([a, b]) => b - a), room = [w - 74, h - 16];
      const scale = Math.min(room[0] / lx, room[1] / ly), width = scale * lx, height = scale * ly;
      const left = (w - 60 - width) / 2, top = (h - height) / 2;
      return { left, top, width, height, px: (x) => left + x * width, py: (y) => top + (1 - y) * height, ux: (p) => (p - left) / width, uy: (p) => 1 - (p - top) / height };
    }
    bar(g, f, limits, name) {
      const x = f.left + f.width + 14;
      for (let k = 0; k < f.height; k++) {
        g.fillStyle = `rgb(${color(name, 1 - k / f.height).map(Math.round)})`; g.fillRect(x, f.top + k, 10, 1.5);
      }
      g.fillStyle = css("--muted"); g.textAlign = "left";
      g.textBaseline = "top"; g.fillText(short(limits[1]), x + 14, f.top);
      g.textBaseline = "bottom"; g.fillText(short(limits[0]), x + 14, f.top + f.height);
    }
    show(canvas, values, limits, name, s) {
      const { g, w, h } = prepare(canvas), f = this.square(w, h, s.bounds);
      this.fill(g, f, values, limits, name);
      this.bar(g, f, limits, name);
      return { g, f };
    }
    input(canvas, s) {
      const { g, f } = this.show(canvas, s.base, range(s.base), "value", s);
      this.last = f;
      const n = s.sensors.length, r = n > 2000 ? 0.8 : n > 400 ? 1.6 : n > 100 ? 3 : 4.5;
      s.sensors.forEach(([x, y], i) => {
        g.beginPath(); g.arc(f.px(x), f.py(y), i === s.selected ? r + 3 : r, 0, 7);
        g.fillStyle = i === s.selected ? css("--accent") : css("--sensor"); g.fill();
        if (n <= 400) { g.strokeStyle = "rgba(255,255,255,.9)"; g.lineWidth = 1.2; g.stroke(); }
      });
    }
    output(canvas, s) {
      const shown = s.show === "truth" && s.truth ? s.truth : s.show === "full" ? s.full : s.answer;
      if (!shown) return;
      if (s.show === "difference" && s.full) {
        const gap = Array.from(s.answer, (v, i) => v - s.full[i]), most = Math.max(...gap.map(Math.abs)) || 1;
        this.show(canvas, gap, [-most, most], "difference", s);
      } else this.show(canvas, shown, range(s.truth || s.full), "value", s);
    }
    place(px, py) { const f = this.last, c = (v) => Math.min(Math.max(v, 0), 1); return { x: [c(f.ux(px)), c(f.uy(py))], value: 0 }; }
    pixel(s, i) { return [this.last.px(s.sensors[i][0]), this.last.py(s.sensors[i][1])]; }
    paint(base, from, to, sign) { // a soft brush, which raises the function, or lowers it
      const [low, high] = range(base), size = 0.25 * (high - low) * sign, r = 0.07;
      this.query.forEach(([x, y], i) => {
        const near = Math.min(...[0, 0.5, 1].map((t) => (x - from.x[0] - t * (to.x[0] - from.x[0])) ** 2 + (y - from.x[1] - t * (to.x[1] - from.x[1])) ** 2));
        base[i] = Math.min(Math.max(base[i] + size * Math.exp(-near / (r * r)), low), high);
      });
    }
    nearest([x, y]) {
      let best = 0, least = Infinity;
      this.query.forEach((p, i) => { const s = (p[0] - x) ** 2 + (p[1] - y) ** 2; if (s < least) { least = s; best = i; } });
      return best;
    }
    legend() { return []; }
  }

  class Image extends Plane {
    constructor(preset) {
      super();
      this.axes = preset.axes; this.query = [];
      for (const x of this.axes[0]) for (const y of this.axes[1]) this.query.push([x, y]);
      this.sheet = document.createElement("canvas");
    }
    fill(g, f, values, limits, name) {
      const [n, m] = this.axes.map((a) => a.length), sheet = this.sheet;
      sheet.width = n; sheet.height = m;
      const to = sheet.getContext("2d"), data = to.createImageData(n, m);
      for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) {
        const [r, gr, b] = color(name, (values[i * m + j] - limits[0]) / (limits[1] - limits[0])), at = 4 * ((m - 1 - j) * n + i);
        data.data[at] = r; data.data[at + 1] = gr; data.data[at + 2] = b; data.data[at + 3] = 255;
      }
      to.putImageData(data, 0, 0);
      g.imageSmoothingEnabled = true;
      g.drawImage(sheet, f.left, f.top, f.width, f.height);
    }
  }

  class Mesh extends Plane {
    constructor(preset) { super(); this.query = preset.points; this.cells = preset.cells; }
    fill(g, f, values, limits, name) {
      const edge = this.cells.length / 3 < 4000 ? "rgba(0,0,0,.12)" : null;
      for (let e = 0; e < this.cells.length; e += 3) {
        const corner = [0, 1, 2].map((k) => this.cells[e + k]);
        const mean = corner.reduce((s, i) => s + values[i], 0) / 3;
        const style = `rgb(${color(name, (mean - limits[0]) / (limits[1] - limits[0])).map(Math.round)})`;
        g.beginPath();
        corner.forEach((i, k) => { const [x, y] = this.query[i]; k ? g.lineTo(f.px(x), f.py(y)) : g.moveTo(f.px(x), f.py(y)); });
        g.closePath(); g.fillStyle = style; g.fill(); g.strokeStyle = edge || style; g.lineWidth = edge ? 0.6 : 0.8; g.stroke();
      }
    }
  }
  return { of: (preset) => new { line: Line, grid: Image, mesh: Mesh }[preset.kind](preset), short };
})();
