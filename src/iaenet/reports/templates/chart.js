// Curves that answer when one points at them. Each figure.chart holds its data as JSON, see reports/charts.py.
(() => {
  const short = (v) => { const a = Math.abs(v); return a && (a < 1e-3 || a >= 1e5) ? v.toExponential(1) : String(+v.toPrecision(3)); };
  const node = (parent, name, attributes, text) => {
    const made = document.createElementNS(parent.namespaceURI, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  };
  const ticksOf = (low, high, log) => {
    if (!log) {
      const step = 10 ** Math.floor(Math.log10((high - low) / 4 || 1));
      const size = [1, 2, 5, 10].find((k) => (high - low) / (k * step) <= 7) * step;
      return Array.from({ length: 9 }, (_, i) => (Math.ceil(low / size) + i) * size).filter((v) => v <= high * (1 + 1e-9));
    }
    const found = [];
    const wide = Math.log10(high / low) > 2.2;
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++)
      for (const k of wide ? [1] : [1, 2, 5]) if (k * 10 ** e >= low * 0.999 && k * 10 ** e <= high * 1.001) found.push(k * 10 ** e);
    return found;
  };
  const star = (x, y, r) => Array.from({ length: 10 }, (_, i) => {
    const a = -Math.PI / 2 + (i * Math.PI) / 5, d = i % 2 ? r * 0.45 : r;
    return `${x + d * Math.cos(a)},${y + d * Math.sin(a)}`;
  }).join(" ");

  for (const figure of document.querySelectorAll("figure.chart")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const hidden = new Set();
    const legend = figure.appendChild(document.createElement("div"));
    legend.className = "legend";
    figure.insertAdjacentHTML("beforeend", '<svg role="img"></svg>');
    const svg = figure.lastElementChild;
    svg.setAttribute("aria-label", data.title);
    const tip = figure.appendChild(document.createElement("div"));
    tip.className = "tip"; tip.hidden = true;
    data.series.forEach((one, i) => {
      const button = legend.appendChild(document.createElement("button"));
      button.innerHTML = `<i style="background: var(--c${i % 8})"></i>`;
      button.append(one.name);
      button.setAttribute("aria-pressed", "true");
      button.onclick = () => {
        hidden[hidden.has(i) ? "delete" : "add"](i);
        button.setAttribute("aria-pressed", String(!hidden.has(i)));
        draw();
      };
    });
    let shown = [];
    const draw = () => {
      svg.replaceChildren();
      const width = Math.max(300, figure.clientWidth - 26), height = Math.min(380, 0.62 * width);
      const box = { left: 62, right: width - 14, top: 22, bottom: height - 44 };
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const live = data.series.map((one, i) => ({ ...one, i })).filter((one) => !hidden.has(one.i) && one.points.length);
      if (!live.length) return;
      const levels = data.lines.filter((line) => line.y > 0).map((line) => line.y);
      const range = (values, log) => {
        const low = Math.min(...values), high = Math.max(...values);
        const gap = log ? 0.06 * Math.log10(high / low) || 0.15 : 0.06 * (high - low) || 1;
        return log ? [low / 10 ** gap, high * 10 ** gap] : [low - gap, high + gap];
      };
      const scale = ([low, high], from, to, log) => {
        const f = log ? Math.log10 : (v) => v;
        return (v) => from + ((f(v) - f(low)) / (f(high) - f(low))) * (to - from);
      };
      const xs = range(live.flatMap((one) => one.points.map((p) => p[0])), data.logx);
      const ys = range([...live.flatMap((one) => one.points.map((p) => p[1])), ...levels], data.logy);
      const X = scale(xs, box.left, box.right, data.logx), Y = scale(ys, box.bottom, box.top, data.logy);
      for (const v of ticksOf(...ys, data.logy)) {
        node(svg, "line", { x1: box.left, x2: box.right, y1: Y(v), y2: Y(v), stroke: "var(--edge)" });
        node(svg, "text", { x: box.left - 7, y: Y(v) + 4, "text-anchor": "end", fill: "var(--soft)" }, short(v));
      }
      let last = -Infinity;
      const marks = data.ticks || ticksOf(...xs, data.logx).map((v) => [v, short(v)]);
      for (const [v, text] of marks.filter(([v]) => v >= xs[0] && v <= xs[1])) {
        node(svg, "line", { x1: X(v), x2: X(v), y1: box.top, y2: box.bottom, stroke: "var(--edge)" });
        if (X(v) - last < 7 * text.length + 6) continue;
        last = X(v);
        node(svg, "text", { x: X(v), y: box.bottom + 17, "text-anchor": "middle", fill: "var(--soft)" }, text);
      }
      node(svg, "text", { x: (box.left + box.right) / 2, y: height - 8, "text-anchor": "middle", fill: "var(--ink)" }, data.x);
      node(svg, "text", { x: box.left, y: 12, fill: "var(--ink)" }, data.y);
      for (const line of data.lines) {
        const at = "x" in line ? { x1: X(line.x), x2: X(line.x), y1: box.top, y2: box.bottom } : { x1: box.left, x2: box.right, y1: Y(line.y), y2: Y(line.y) };
        node(svg, "line", { ...at, stroke: "var(--soft)", "stroke-dasharray": "5 4" });
        const where = "x" in line ? { x: X(line.x) + 4, y: box.top + 10 } : { x: box.right - 4, y: Y(line.y) - 5, "text-anchor": "end" };
        node(svg, "text", { ...where, fill: "var(--soft)" }, line.text);
      }
      shown = [];
      for (const one of live) {
        const group = node(svg, "g", { "data-i": one.i });
        const colour = `var(--c${one.i % 8})`;
        const lined = one.points.filter((p) => !p[3]);
        if (lined.length > 1) node(group, "polyline", { points: lined.map((p) => `${X(p[0])},${Y(p[1])}`).join(" "), fill: "none", stroke: colour, "stroke-width": one.strong ? 3 : 2, "stroke-linejoin": "round" });
        for (const p of one.points) {
          const x = X(p[0]), y = Y(p[1]);
          if (p[3]) node(group, "polygon", { points: star(x, y, 8), fill: colour });
          else if (one.points.length <= 40) node(group, "circle", { cx: x, cy: y, r: 3.4, fill: colour });
          shown.push({ x, y, p, one, group });
        }
      }
    };
    svg.onpointermove = (event) => {
      const edge = svg.getBoundingClientRect(), ratio = svg.viewBox.baseVal.width / edge.width;
      const x = (event.clientX - edge.left) * ratio, y = (event.clientY - edge.top) * ratio;
      let near = null, least = 60 ** 2;
      for (const one of shown) {
        const d = (one.x - x) ** 2 + (one.y - y) ** 2;
        if (d < least) [near, least] = [one, d];
      }
      for (const group of svg.querySelectorAll("g")) group.style.opacity = !near || group === near.group ? 1 : 0.25;
      tip.hidden = !near;
      if (!near) return;
      tip.textContent = `${near.one.name}, ${near.p[2]}: ${near.p[1].toPrecision(4)}`;
      const left = svg.offsetLeft || edge.left - figure.getBoundingClientRect().left, top = edge.top - figure.getBoundingClientRect().top;
      tip.style.left = `${Math.min(left + near.x / ratio + 12, figure.clientWidth - tip.offsetWidth - 4)}px`;
      tip.style.top = `${top + near.y / ratio - 34}px`;
    };
    svg.onpointerleave = () => {
      tip.hidden = true;
      for (const group of svg.querySelectorAll("g")) group.style.opacity = 1;
    };
    draw();
    addEventListener("resize", draw);
    addEventListener("beforeprint", draw);
  }
})();
