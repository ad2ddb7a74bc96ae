// Charts on a canvas: amounts over time, stacked or as lines, and plots of a result. Each has its numbers in words as well.
'use strict';

// Ticks at round numbers: 1, 2, 5 of what comes before; of bytes, of powers of two.
G.ticks = function (most, count, binary) {
  const step = binary ? 2 ** Math.ceil(Math.log2(most / count || 1)) : (() => {
    const base = 10 ** Math.floor(Math.log10(most / count || 1));
    return base * [1, 2, 5, 10].find(times => base * times * count >= most);
  })();
  const found = [];
  for (let at = 0; at <= most * 1.0001 && found.length < 20; at += step) found.push(at);
  return found;
};

// series: [{name, color, read(sample), line, dash}]; options: {name, most(sample), show, height, span}
G.TimeChart = class {
  constructor(series, options) {
    this.series = series;
    this.options = options;
    this.samples = [];
    this.canvas = G.h('canvas', {role: 'img', 'aria-label': options.name, class: 'chart', pointermove: event => { this.at = event.offsetX; this.paint(); },
      pointerleave: () => { this.at = null; this.paint(); }});
    this.canvas.style.height = `${options.height || 200}px`;
    this.values = series.map(() => G.h('b'));
    this.legend = G.h('ul', {class: 'legend'}, series.map((one, i) => {
      const key = G.h('i', {class: one.line ? 'line' : ''});
      key.dataset.color = one.color;
      return G.h('li', {}, key, one.name, ' ', this.values[i]);
    }));
    this.element = G.h('figure', {}, this.canvas, G.h('figcaption', {}, this.legend));
    this.canvas.paint = () => this.paint();
    new ResizeObserver(this.canvas.paint).observe(this.canvas);
  }

  set(samples) {
    this.samples = samples;
    this.paint();
  }

  paint() {
    const {series, options, samples} = this;
    if (samples.length === 0 || this.canvas.clientWidth === 0) return;
    const {context, width, height} = G.context(this.canvas);
    const left = 64, bottom = height - 20, end = samples[samples.length - 1].at_ms;
    const past = end - samples[0].at_ms, span = past <= 60e3 ? 60e3 : Math.min(900e3, Math.ceil(past / 180e3) * 180e3), begin = end - span;
    const x = at => left + (at - begin) / span * (width - left - 4);
    const seen = samples.filter(sample => sample.at_ms >= begin - 2000);
    const heights = seen.map(sample => Math.max(series.reduce((sum, one) => sum + (one.line ? 0 : one.read(sample)), 0), ...series.map(one => one.line ? one.read(sample) : 0)));
    const most = Math.max(options.least || 1e-9, ...heights, ...(options.most ? seen.map(options.most) : [])) * 1.02;
    const y = value => bottom - value / most * (bottom - 8);
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    for (const tick of G.ticks(most, 4, options.bytes)) {
      context.strokeStyle = G.color('line');
      context.beginPath();
      context.moveTo(left, Math.round(y(tick)) + 0.5);
      context.lineTo(width, Math.round(y(tick)) + 0.5);
      context.stroke();
      context.fillStyle = G.color('soft');
      context.fillText(options.show(tick), left - 8, Math.max(y(tick), 7));
    }
    context.textAlign = 'center';
    for (let i = 0; i <= 3; i++) {
      const back = span * i / 3, text = i === 0 ? 'now' : back % 60e3 === 0 ? `${back / 60e3} min ago` : `${Math.round(back / 1000)} s ago`;
      context.fillText(text, Math.min(Math.max(x(end - back), left + 30), width - 16), height - 7);
    }
    // Where samples are missing, or no store's memory could be read, there is a gap.
    const runs = [];
    let run = null;
    seen.forEach((sample, i) => {
      if (!sample.up || (i > 0 && sample.at_ms - seen[i - 1].at_ms > 5000)) run = null;
      if (sample.up) { if (!run) runs.push(run = []); run.push(sample); }
    });
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left, bottom + 1);
    context.clip();
    for (const part of runs) {
      let base = part.map(() => 0);
      for (const one of series.filter(other => !other.line)) {
        const tops = part.map((sample, i) => base[i] + one.read(sample));
        context.beginPath();
        part.forEach((sample, i) => context.lineTo(x(sample.at_ms), y(tops[i])));
        for (let i = part.length - 1; i >= 0; i--) context.lineTo(x(part[i].at_ms), y(base[i]));
        context.fillStyle = G.color(one.color);
        context.fill();
        base = tops;
      }
      for (const one of series.filter(other => other.line)) {
        context.beginPath();
        context.setLineDash(one.dash ? [5, 4] : []);
        part.forEach(sample => context.lineTo(x(sample.at_ms), y(one.read(sample))));
        if (!one.dash && series.some(other => !other.line)) { // seen before any area
          context.strokeStyle = G.color('panel');
          context.lineWidth = 4;
          context.stroke();
        }
        context.strokeStyle = G.color(one.color);
        context.lineWidth = 1.75;
        context.stroke();
        context.setLineDash([]);
        context.lineWidth = 1;
      }
    }
    context.restore();
    const shown = this.at === null || this.at === undefined ? seen[seen.length - 1]
      : seen.reduce((best, sample) => Math.abs(x(sample.at_ms) - this.at) < Math.abs(x(best.at_ms) - this.at) ? sample : best, seen[0]);
    if (this.at !== null && this.at !== undefined) {
      context.strokeStyle = G.color('text');
      context.beginPath();
      context.moveTo(Math.round(x(shown.at_ms)) + 0.5, 0);
      context.lineTo(Math.round(x(shown.at_ms)) + 0.5, bottom);
      context.stroke();
      context.fillStyle = G.color('text');
      context.fillText(G.time(shown.at_ms), Math.min(Math.max(x(shown.at_ms), left + 30), width - 30), height - 7);
    }
    series.forEach((one, i) => { this.values[i].textContent = options.show(one.read(shown)); });
    this.canvas.setAttribute('aria-label', `${options.name}. Now: ${series.map(one => `${one.name} ${options.show(one.read(seen[seen.length - 1]))}`).join(', ')}.`);
  }
};

// ---- plots of a result: for looking ----

G.plots = ['bar', 'line', 'scatter', 'histogram'];

// Numbers of a column; a text that is a date counts as its moment.
function numeric(value) {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value === '') return NaN;
  const number = Number(value);
  return Number.isNaN(number) && /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : number;
}

function histogram(values) {
  const low = Math.min(...values), high = Math.max(...values), even = (high - low) / Math.max(1, Math.min(40, Math.ceil(Math.log2(values.length) + 1) * 2));
  if (!(even > 0 && even < Infinity)) return [{label: G.short(low), x: low, y: values.length}];
  const base = 10 ** Math.floor(Math.log10(even)), width = base * [1, 2, 5, 10].find(times => base * times >= even * 0.999);
  const first = Math.floor(low / width), counts = new Array(Math.max(1, Math.ceil(high / width - 1e-9) - first)).fill(0);
  for (const value of values) counts[Math.max(0, Math.min(counts.length - 1, Math.floor(value / width) - first))]++;
  return counts.map((count, i) => ({label: G.tick((first + i) * width, width), x: (first + i) * width, y: count}));
}

G.plot = function (canvas, kind, rows, across, up) {
  const {context, width, height} = G.context(canvas);
  const places = rows.map(row => numeric(row[across])), counted = kind === 'bar' || !places.some(Number.isFinite); // texts stand in their order
  const all = rows.map((row, i) => ({label: G.plain(String(row[across])), x: counted ? i : places[i], y: numeric(row[up])}));
  const asked = kind === 'histogram' ? all.map(point => point.y).filter(Number.isFinite) : all.filter(point => Number.isFinite(point.y) && Number.isFinite(point.x));
  const points = kind === 'histogram' ? (asked.length > 0 ? histogram(asked) : []) : kind === 'bar' ? asked.slice(0, 60) : asked;
  const left_out = rows.length - (kind === 'histogram' ? asked.length : points.length);
  canvas.setAttribute('aria-label', points.length === 0 ? `Nothing to plot: ${up} has no numbers.`
    : `${kind} plot of ${up}${kind === 'histogram' ? '' : ` by ${across}`}: ${points.length} points, from ${G.short(Math.min(...points.map(p => p.y)))} to ${G.short(Math.max(...points.map(p => p.y)))}. The table has the values.`);
  context.fillStyle = G.color('soft');
  if (points.length === 0) {
    context.fillText(`Nothing to plot: ${up} has no numbers.`, 12, 24);
    return left_out;
  }
  const bars = kind === 'bar' || kind === 'histogram';
  const left = 64, bottom = height - (bars ? 84 : 28);
  const high = Math.max(...points.map(p => p.y), bars ? 0 : -Infinity), low = Math.min(...points.map(p => p.y), bars ? 0 : Infinity);
  const first = Math.min(...points.map(p => p.x)), last = Math.max(...points.map(p => p.x));
  const y = value => bottom - (value - low) / (high - low || 1) * (bottom - 10);
  const x = value => left + 8 + (value - first) / (last - first || 1) * (width - left - 16);
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  const ticks = G.ticks(high - low || 1, 5, false), step = ticks.length > 1 ? ticks[1] : 1, round = Math.ceil(low / step - 1e-9) * step;
  for (const tick of high === low ? [low] : ticks.map(at => round + at).filter(at => at <= high + step * 1e-9)) {
    context.strokeStyle = G.color('line');
    context.strokeRect(left, Math.round(y(tick)) + 0.5, width - left, 0);
    context.fillText(high === low ? G.short(tick) : G.tick(tick, step), left - 8, y(tick));
  }
  context.fillStyle = context.strokeStyle = G.color('run');
  if (bars) {
    const place = (width - left) / points.length, thick = Math.min(place * 0.76, 120);
    points.forEach((point, i) => context.fillRect(left + (i + 0.5) * place - thick / 2, Math.min(y(point.y), y(0)), thick, Math.abs(y(point.y) - y(0))));
    context.fillStyle = G.color('soft');
    points.forEach((point, i) => {
      if (i % Math.ceil(20 / place) !== 0) return;
      context.save();
      context.translate(left + (i + 0.5) * place, bottom + 6);
      context.rotate(-0.7);
      context.fillText(point.label.length > 16 ? `${point.label.slice(0, 15)}…` : point.label, 0, 4);
      context.restore();
    });
  } else {
    if (kind === 'line') {
      context.beginPath();
      points.slice().sort((a, b) => a.x - b.x).forEach(point => context.lineTo(x(point.x), y(point.y)));
      context.lineWidth = 1.75;
      context.stroke();
    } else {
      context.globalAlpha = points.length > 2000 ? 0.3 : 0.7;
      for (const point of points) context.fillRect(x(point.x) - 2, y(point.y) - 2, 4, 4);
      context.globalAlpha = 1;
    }
    context.fillStyle = G.color('soft');
    context.textAlign = 'left';
    const name = value => counted ? points[value === first ? 0 : points.length - 1].label.slice(0, 40) : typeof rows[0][across] === 'string' && /^\d{4}-\d\d-\d\d/.test(rows[0][across]) ? new Date(value).toISOString().slice(0, 10) : G.short(value);
    context.fillText(name(first), left + 4, height - 10);
    context.textAlign = 'right';
    context.fillText(name(last), width - 4, height - 10);
  }
  return left_out;
};
