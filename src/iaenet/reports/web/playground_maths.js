// What a page must compute itself for sensors that move: weights of points, E on tensor grids, interpolation.
// The same formulas as iaenet.functions: quadrature.py, axis_arrays.py, taps.py; a test compares them.
"use strict";
const Maths = (() => {
  const TAU = 2 * Math.PI;

  // Weights of points x on [0, 1]: half the distance between the neighbours; points that coincide share one weight.
  function trapezoid(x, periodic) {
    const n = x.length, order = Array.from(x.keys()).sort((i, j) => x[i] - x[j]);
    const nodes = [], members = [];
    for (const i of order) {
      if (nodes.length && x[i] === nodes[nodes.length - 1]) members[members.length - 1].push(i);
      else { nodes.push(x[i]); members.push([i]); }
    }
    const u = nodes.length, w = new Float64Array(n);
    for (let k = 0; k < u; k++) {
      const before = k ? nodes[k - 1] : periodic ? nodes[u - 1] - 1 : -nodes[0];
      const after = k < u - 1 ? nodes[k + 1] : periodic ? nodes[0] + 1 : 2 - nodes[u - 1];
      for (const i of members[k]) w[i] = (after - before) / 2 / members[k].length;
    }
    return w;
  }

  // Points of the unit square with copies across periodic axes: coordinates, and whose copy each is.
  function withImages(points, periodic, reach) {
    let x = points.map((p) => [p[0], p[1]]), owner = points.map((_, i) => i);
    for (let axis = 0; axis < 2; axis++) {
      if (!periodic[axis]) continue;
      const count = x.length;
      for (let i = 0; i < count; i++) for (const shift of [-1, 1]) {
        const moved = x[i][axis] + shift;
        if (moved > -reach && moved < 1 + reach) {
          const copy = x[i].slice(); copy[axis] = moved; x.push(copy); owner.push(owner[i]);
        }
      }
    }
    return { x, owner };
  }

  // Areas of the Voronoi cells of points in the unit square, clipped to it: bisectors with all Delaunay neighbours.
  function voronoi(points, periodic) {
    const n = points.length, seen = new Map(), first = new Int32Array(n), counts = new Int32Array(n);
    const distinct = [];
    points.forEach((p, i) => {
      const key = p[0].toFixed(10) + "," + p[1].toFixed(10);
      if (!seen.has(key)) { seen.set(key, distinct.length); distinct.push(p); }
      first[i] = seen.get(key); counts[first[i]]++;
    });
    const areas = new Float64Array(distinct.length).fill(1 / distinct.length);
    if (distinct.length > 2) {
      const { x } = withImages(distinct, periodic, n < 64 ? 1.01 : 0.5);
      const mesh = new Delaunator(Float64Array.from(x.flat()));
      const around = distinct.map(() => new Set()), t = mesh.triangles;
      for (let e = 0; e < t.length; e++) {
        const a = t[e], b = t[e % 3 === 2 ? e - 2 : e + 1];
        if (a < distinct.length) around[a].add(b);
        if (b < distinct.length) around[b].add(a);
      }
      if (t.length) distinct.forEach(([px, py], i) => {
        const pad = (wraps) => (wraps ? [-1, 2] : [0, 1]);
        const [[l, r], [lo, hi]] = [pad(periodic[0]), pad(periodic[1])];
        let cell = [[l, lo], [r, lo], [r, hi], [l, hi]];
        for (const j of around[i]) {
          const [qx, qy] = x[j], nx = qx - px, ny = qy - py, c = (qx * qx + qy * qy - px * px - py * py) / 2;
          const kept = [];
          for (let k = 0; k < cell.length; k++) {
            const a = cell[k], b = cell[(k + 1) % cell.length];
            const da = a[0] * nx + a[1] * ny - c, db = b[0] * nx + b[1] * ny - c;
            if (da <= 0) kept.push(a);
            if (da < 0 !== db < 0 && da !== db) {
              const s = da / (da - db);
              kept.push([a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])]);
            }
          }
          cell = kept;
        }
        let area = 0;
        for (let k = 0; k < cell.length; k++) {
          const a = cell[k], b = cell[(k + 1) % cell.length];
          area += (a[0] * b[1] - a[1] * b[0]) / 2;
        }
        areas[i] = area;
      });
    }
    return Float64Array.from(first, (k) => areas[k] / counts[k]);
  }

  // Weights of some nodes of a mesh: each has the weights of all nodes to which it is the nearest.
  function nearestSums(nodes, nodeWeights, chosen) {
    const w = new Float64Array(chosen.length);
    nodes.forEach((p, i) => {
      let best = 0, least = Infinity;
      for (let k = 0; k < chosen.length; k++) {
        const q = nodes[chosen[k]], s = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2;
        if (s < least) { least = s; best = k; }
      }
      w[best] += nodeWeights[i];
    });
    return w;
  }

  const uniformNodes = (n, periodic) => Float64Array.from({ length: n }, (_, i) => i / (periodic ? n : Math.max(1, n - 1)));
  const isUniform = (x, periodic) => {
    const nodes = uniformNodes(x.length, periodic);
    return x.every((v, i) => Math.abs(v - nodes[i]) < 1e-9);
  };
  const band = (n, periodic, period) => (periodic ? Math.floor((n - 1) / 2) : Math.floor((period * (n - 1)) / 2));

  function functions(x, modes, period) { // rows of 1, sqrt2 cos, sqrt2 sin
    const p = 2 * modes + 1, B = new Float64Array(x.length * p), root = Math.SQRT2;
    x.forEach((v, i) => {
      B[i * p] = 1;
      for (let k = 1; k <= modes; k++) {
        B[i * p + k] = root * Math.cos((TAU * k * v) / period);
        B[i * p + modes + k] = root * Math.sin((TAU * k * v) / period);
      }
    });
    return B;
  }

  function multiply(A, B, n, m, q) { // (n, m) (m, q)
    const C = new Float64Array(n * q);
    for (let i = 0; i < n; i++) for (let k = 0; k < m; k++) {
      const a = A[i * m + k];
      if (a !== 0) for (let j = 0; j < q; j++) C[i * q + j] += a * B[k * q + j];
    }
    return C;
  }

  function cholesky(A, p) {
    for (let j = 0; j < p; j++) {
      for (let i = j; i < p; i++) {
        let s = A[i * p + j];
        for (let k = 0; k < j; k++) s -= A[i * p + k] * A[j * p + k];
        A[i * p + j] = i === j ? Math.sqrt(s) : s / A[j * p + j];
      }
    }
    return (B, q) => { // (L L^T)^-1 B for B (p, q)
      const X = Float64Array.from(B);
      const step = (i, k, f) => { for (let j = 0; j < q; j++) X[i * q + j] -= f * X[k * q + j]; };
      for (let i = 0; i < p; i++) {
        for (let k = 0; k < i; k++) step(i, k, A[i * p + k]);
        for (let j = 0; j < q; j++) X[i * q + j] /= A[i * p + i];
      }
      for (let i = p - 1; i >= 0; i--) {
        for (let k = i + 1; k < p; k++) step(i, k, A[k * p + i]);
        for (let j = 0; j < q; j++) X[i * q + j] /= A[i * p + i];
      }
      return X;
    };
  }

  // Coefficients (p, n) of the functions through ones at each of the points x, by regularised least squares.
  function leastSquares(rule, x, weights, modes, periodic) {
    const n = x.length, period = periodic ? 1 : rule.period, p = 2 * modes + 1;
    const total = weights.reduce((s, w) => s + w, 0), share = weights.map((w) => w / total);
    const together = new Map();
    x.forEach((v, i) => together.set(v, (together.get(v) || 0) + share[i]));
    const nodes = Array.from(together.keys()).sort((a, b) => a - b);
    const ends = periodic ? nodes.concat([nodes[0] + 1]) : nodes;
    const gaps = ends.slice(1).map((v, i) => v - ends[i]);
    const ratios = gaps.slice(1).map((g, i) => Math.min(g, gaps[i]) / Math.max(g, gaps[i]));
    const mean = ratios.length ? ratios.reduce((s, r) => s + r, 0) / ratios.length : 1;
    const regular = Math.max(rule.scattered, Math.round(mean * 1e9) / 1e9);
    const spacing = Array.from(together.values()).reduce((s, w) => s + w * w, 0);
    const top = Math.min(regular / (2 * spacing), modes / period);
    const B = functions(x, modes, period), image = new Float64Array(p * n);
    for (let i = 0; i < n; i++) for (let k = 0; k < p; k++) image[k * n + i] = share[i] * B[i * p + k];
    const gram = multiply(image, B, p, n, p), matrix = Float64Array.from(gram);
    for (let k = 0; k < p; k++) {
      const nu = (k <= modes ? k : k - modes) / period;
      matrix[k * p + k] += rule.penalty * regular ** -2.5 * ((1 + 4 * nu * nu) / (1 + 4 * top * top)) ** rule.order + rule.floor;
    }
    const solve = cholesky(matrix, p);
    let c = solve(image, n);
    for (let step = 1; step < rule.iterations; step++) {
      const rest = multiply(gram, c, p, p, n);
      for (let k = 0; k < rest.length; k++) rest[k] = image[k] - rest[k];
      solve(rest, n).forEach((v, k) => { c[k] += v; });
    }
    return c;
  }

  // E along an axis: the matrix (size, n) from values at ordered points x of [0, 1] to values at uniform nodes.
  const kept = new Map();
  function encoder(rule, x, size, periodic) {
    const n = x.length, even = isUniform(x, periodic), key = even ? [n, size, periodic].join() : null;
    if (kept.has(key)) return kept.get(key);
    const nodes = uniformNodes(size, periodic), period = periodic ? 1 : rule.period;
    let found = new Float64Array(size * n);
    if (even && n === size) for (let i = 0; i < n; i++) found[i * n + i] = 1;
    else if (even && n < size && periodic) {
      const top = Math.floor(n / 2);
      for (let i = 0; i < size; i++) for (let j = 0; j < n; j++) {
        let s = 1;
        for (let k = 1; k <= top; k++) s += (2 * k === n ? 1 : 2) * Math.cos(TAU * k * (nodes[i] - j / n));
        found[i * n + j] = s / n;
      }
    } else {
      const few = even && n < size, modes = band(few ? n : size, periodic, rule.period);
      const c = leastSquares(rule, x, trapezoid(x, periodic), modes, periodic);
      found = multiply(functions(nodes, modes, period), c, size, 2 * modes + 1, n);
    }
    if (key) kept.set(key, found);
    return found;
  }

  // Values (n_1 .. n_d, c) on a tensor grid -> values on the latent grid (s_1 .. s_d, c).
  function encodeGrid(rule, axes, shape, periodic, values, channels) {
    let found = Float64Array.from(values), sizes = axes.map((x) => x.length);
    axes.forEach((x, axis) => {
      const matrix = encoder(rule, x, shape[axis], periodic[axis]);
      const before = sizes.slice(0, axis).reduce((s, v) => s * v, 1);
      const after = sizes.slice(axis + 1).reduce((s, v) => s * v, 1) * channels;
      const made = new Float64Array(before * shape[axis] * after);
      for (let b = 0; b < before; b++) {
        const block = multiply(matrix, found.subarray(b * x.length * after, (b + 1) * x.length * after), shape[axis], x.length, after);
        made.set(block, b * shape[axis] * after);
      }
      found = made; sizes[axis] = shape[axis];
    });
    return Float32Array.from(found);
  }

  // Interpolation of scattered points of the unit square at others: linear on Delaunay triangles, else the nearest.
  function simplexTaps(points, query, periodic) {
    const { x, owner } = withImages(points, periodic, 0.5), m = query.length;
    const near = new Int32Array(3 * m), shares = new Float64Array(3 * m);
    const mesh = x.length > 2 ? new Delaunator(Float64Array.from(x.flat())) : { triangles: [], halfedges: [] };
    const { triangles: t, halfedges: h } = mesh;
    let at = 0;
    query.forEach(([qx, qy], i) => {
      let found = false;
      if (t.length) for (let walk = 0; walk < t.length; walk++) {
        const [a, b, c] = [x[t[3 * at]], x[t[3 * at + 1]], x[t[3 * at + 2]]];
        const det = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
        const v = ((qx - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (qy - a[1])) / det;
        const w = ((b[0] - a[0]) * (qy - a[1]) - (qx - a[0]) * (b[1] - a[1])) / det;
        const s = [1 - v - w, v, w], least = Math.min(...s);
        if (least >= -1e-9) {
          for (let k = 0; k < 3; k++) { near[3 * i + k] = owner[t[3 * at + k]]; shares[3 * i + k] = s[k]; }
          found = true;
          break;
        }
        const across = h[3 * at + (s.indexOf(least) + 1) % 3]; // the edge opposite to the corner of the least share
        if (across < 0) break;
        at = Math.floor(across / 3);
      }
      if (found) return;
      let best = 0, least = Infinity;
      for (let k = 0; k < x.length; k++) {
        const s = (x[k][0] - qx) ** 2 + (x[k][1] - qy) ** 2;
        if (s < least) { least = s; best = k; }
      }
      near.fill(owner[best], 3 * i, 3 * i + 3);
      shares[3 * i] = 1;
    });
    return { near, shares, count: 3 };
  }

  // The same on a line: Lagrange on four nodes of a uniform axis, else Hermite with slopes of local parabolas.
  function axisTaps(axis, y, periodic) {
    const place = new Map();
    axis.forEach((v, i) => { if (!place.has(v)) place.set(v, i); });
    const nodes = Array.from(place.keys()).sort((a, b) => a - b), first = nodes.map((v) => place.get(v)), n = nodes.length;
    const near = new Int32Array(4 * y.length), shares = new Float64Array(4 * y.length);
    const step = nodes[1] - nodes[0];
    const even = n > 3 && nodes.every((v, i) => i === 0 || Math.abs(v - nodes[i - 1] - step) <= 1e-8 + 1e-6 * step) &&
      (!periodic || Math.abs(n * step - 1) < 1e-5);
    y.forEach((given, row) => {
      if (n === 1) { near.fill(first[0], 4 * row, 4 * row + 4); shares[4 * row] = 1; return; }
      let v = periodic ? nodes[0] + (((given - nodes[0]) % 1) + 1) % 1 : Math.min(Math.max(given, nodes[0]), nodes[n - 1]);
      let left = 0, right = n;
      while (right - left > 1) { const mid = (left + right) >> 1; if (nodes[mid] <= v) left = mid; else right = mid; }
      if (!periodic) left = Math.min(left, n - 2);
      const start = even && !periodic ? Math.min(Math.max(left - 1, 0), n - 4) : left - 1;
      const index = [0, 1, 2, 3].map((k) => (((start + k) % n) + n) % n);
      const x = index.map((j, k) => nodes[j] + Math.floor((start + k) / n));
      let w = [0, 0, 0, 0];
      if (even) w = x.map((xj, j) => x.reduce((s, xk, k) => (k === j ? s : (s * (v - xk)) / (xj - xk)), 1));
      else {
        const lower = !periodic && left === 0, upper = !periodic && left === n - 2;
        if (lower) x[0] = 2 * x[1] - x[2];
        if (upper) x[3] = 2 * x[2] - x[1];
        const h = x[2] - x[1], s = (v - x[1]) / h;
        w[1] = (1 + 2 * s) * (1 - s) ** 2; w[2] = s * s * (3 - 2 * s);
        for (const [gap, slope, outer, inner, far] of [[x[1] - x[0], s * (1 - s) ** 2, 0, 1, 2], [x[3] - x[2], -s * s * (s - 1), 3, 2, 1]]) {
          const parabola = Math.min(1, (4 * gap) / h), close = (parabola * h + (1 - parabola) * gap) / (h + gap);
          w[outer] -= (slope * close * h) / gap; w[inner] += slope * ((close * h) / gap - (1 - close)); w[far] += slope * (1 - close);
        }
        for (const [ghost, end, next, here] of [[0, 1, 2, lower], [3, 2, 1, upper]]) if (here) {
          w[end] += 2 * w[ghost]; w[next] -= w[ghost]; w[ghost] = 0;
        }
      }
      for (let k = 0; k < 4; k++) { near[4 * row + k] = first[index[k]]; shares[4 * row + k] = w[k]; }
    });
    return { near, shares, count: 4 };
  }

  // Numbers that look random, the same for the same seed.
  function random(seed) {
    let a = seed >>> 0;
    return () => {
      a = (a + 0x6d2b79f5) >>> 0;
      let t = Math.imul(a ^ (a >>> 15), 1 | a);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }
  const normal = (next) => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(TAU * next());

  return { trapezoid, voronoi, nearestSums, uniformNodes, isUniform, encoder, encodeGrid, simplexTaps, axisTaps, random, normal };
})();
