// The task stream: a row an executor, time from left to right. Getting inputs, running and storing have a colour each;
// white is idle. Where many runs share a pixel, its colour is as strong as the share of time that they took.
'use strict';

const KEPT = 1 << 20; // runs, at most
const MOMENTS = ['started', 'leased', 'stores', 'ended'];
const RUN_FIELDS = 'run,node,executor,started_ns,ended_ns,lease_ns,store_ns,error';
const PHASES = ['lease', 'run', 'store', 'bad'];
const LANE = 26;

G.Runs = class { // the last runs, in order of their ends
  constructor() {
    this.count = 0;
    this.texts = [];
    for (const name of MOMENTS) this[name] = new Float64Array(0);
    this.executor = new Int32Array(0);
    this.executors = new Set();
  }

  grow() {
    const grown = old => { const array = new old.constructor(Math.max(1 << 13, 2 * old.length)); array.set(old); return array; };
    for (const name of MOMENTS) this[name] = grown(this[name]);
    this.executor = grown(this.executor);
  }

  add(table) {
    const at = Object.fromEntries(table.fields.map((field, i) => [field, i]));
    for (const row of table.rows) {
      const i = this.count++ % KEPT;
      if (i === this.executor.length) this.grow();
      const started = row[at.started_ns], ended = row[at.ended_ns];
      this.started[i] = started > 0 ? started : ended;
      this.leased[i] = Math.min(ended, this.started[i] + row[at.lease_ns]);
      this.stores[i] = Math.max(this.leased[i], ended - row[at.store_ns]);
      this.ended[i] = ended;
      this.executor[i] = row[at.executor];
      this.texts[i] = [row[at.run], row[at.node], row[at.error]];
      this.executors.add(row[at.executor]);
    }
  }

  // From the newest back, until the function says enough.
  back(visit) {
    for (let n = this.count - 1; n >= 0 && n >= this.count - KEPT; n--) if (visit(n % KEPT) === false) return;
  }
};

// Ask for what is new. A page that falls behind goes on at the end, and says how much it did not draw.
G.followRuns = function (runs, parameters) {
  let next = null;
  return async () => {
    for (let page = 0; page < (G.report ? 1000 : 2); page++) {
      const table = await G.ask('runs', {...parameters, fields: RUN_FIELDS, limit: 4096, ...(next === null ? (parameters.key ? {} : {last: 4096}) : {cursor: next})}).catch(error => { if (G.report && page > 0) return null; throw error; });
      if (table === null) break; // a report has the first ones
      runs.add(table);
      next = table.next === '0' ? null : table.next;
      if (!table.more) return;
    }
    runs.skipped = true;
    next = null;
  };
};

G.Stream = class {
  constructor(runs, options = {}) {
    this.runs = runs;
    this.span = options.span || 30e9;
    this.end = null; // null: now
    this.options = options;
    this.working = [];
    this.canvas = G.h('canvas', {class: 'stream', role: 'img', tabindex: 0, 'aria-label': 'Task stream',
      pointermove: event => this.point(event), pointerleave: () => { this.tip.hidden = true; }, keydown: event => this.key(event)});
    this.tip = G.h('div', {class: 'tip', hidden: true});
    this.zoom = G.h('select', {'aria-label': 'How much time is shown', change: event => { this.span = Number(event.target.value) * 1e9; this.paint(); }},
      [[1, '1 second'], [10, '10 seconds'], [30, '30 seconds'], [120, '2 minutes'], [900, '15 minutes']].map(([seconds, text]) => G.h('option', {value: seconds, selected: seconds === 30}, text)));
    this.live = G.h('button', {type: 'button', class: 'small', hidden: true, click: () => { this.end = null; this.paint(); }}, 'Back to now');
    this.words = G.h('span', {class: 'soft'});
    const legend = G.h('ul', {class: 'legend'}, [['lease', 'getting inputs'], ['run', 'running'], ['store', 'storing outputs'], ['bad', 'failed']].map(([color, text]) => {
      const key = G.h('i');
      key.dataset.color = color;
      return G.h('li', {}, key, text);
    }));
    this.element = G.h('figure', {class: 'streambox'}, G.h('div', {class: 'bar'}, options.fixed ? null : this.zoom, this.live, this.words), this.canvas, this.tip, G.h('figcaption', {}, legend));
    this.canvas.paint = () => this.paint();
    new ResizeObserver(this.canvas.paint).observe(this.canvas);
  }

  // All of the runs in sight: of a graph that has ended.
  fit() {
    let first = Infinity, last = 0;
    this.runs.back(i => { first = Math.min(first, this.runs.started[i]); last = Math.max(last, this.runs.ended[i]); });
    if (last > 0) { this.end = last; this.span = Math.max(1e5, last - first); }
    this.paint();
  }

  now() { return this.end !== null ? this.end : (G.now.monotonic_ns || 0) + (performance.now() - (G.now.at || 0)) * 1e6; }

  key(event) {
    const step = {ArrowLeft: -0.25, ArrowRight: 0.25}[event.key];
    if (step) this.end = this.now() + step * this.span;
    else if (event.key === '+' || event.key === '=') this.span /= 2;
    else if (event.key === '-') this.span *= 2;
    else if (event.key === 'Home') this.end = null;
    else return;
    event.preventDefault();
    this.paint();
  }

  lanes() { return [...this.runs.executors].filter(number => number > 0).sort((a, b) => a - b).slice(0, 256); }

  point(event) {
    const {width, left, begin, lanes} = this.drawn || {};
    if (!lanes) return;
    const lane = lanes[Math.floor(event.offsetY / LANE)], at = begin + (event.offsetX - left) / (width - left) * this.span, slack = this.span / (width - left) * 2;
    let found = -1;
    this.runs.back(i => {
      if (this.runs.ended[i] < at - slack - 1e9) return false;
      if (this.runs.executor[i] === lane && this.runs.started[i] - slack <= at && at <= this.runs.ended[i] + slack) { found = i; return false; }
    });
    this.tip.hidden = found < 0;
    if (found < 0) return;
    const {started, leased, stores, ended, texts} = this.runs, [run, node, error] = texts[found];
    G.empty(this.tip, G.h('b', {}, node || run), G.h('br'), run, error ? `, ${error}` : '', G.h('br'),
      `${G.duration(ended[found] - started[found])}: inputs ${G.duration(leased[found] - started[found])}, run ${G.duration(stores[found] - leased[found])}, store ${G.duration(ended[found] - stores[found])}`);
    this.tip.style.left = `${Math.min(event.offsetX + 12, width - 270)}px`;
    this.tip.style.top = `${event.offsetY + 52}px`;
  }

  paint() {
    const lanes = this.lanes(), left = 92;
    this.canvas.style.height = `${Math.max(2, lanes.length) * LANE + 22}px`;
    if (this.canvas.clientWidth === 0) return;
    const {context, width, height} = G.context(this.canvas), end = this.now(), begin = end - this.span, pixels = Math.max(1, Math.floor(width - left));
    const x = at => left + (at - begin) / this.span * (width - left), colors = PHASES.map(G.color);
    const lane = new Map(lanes.map((number, i) => [number, i]));
    const shares = lanes.map(() => PHASES.map(() => null));
    let busy = 0, shown = 0;
    this.drawn = {width, left, begin, lanes};
    context.textBaseline = 'middle';
    lanes.forEach((number, i) => {
      context.fillStyle = G.color('idle');
      context.fillRect(left, i * LANE + 2, width - left, LANE - 4);
      context.fillStyle = G.color('soft');
      context.fillText(`executor ${number}`, 0, i * LANE + LANE / 2);
    });
    const part = (row, phase, from, to) => {
      from = Math.max(from, begin);
      to = Math.min(to, end);
      if (!(to > from)) return;
      const a = x(from), b = x(to);
      if (b - a >= 2) {
        context.fillStyle = colors[phase];
        context.fillRect(a, row * LANE + 2, b - a - 0.5, LANE - 4);
        return;
      }
      const share = shares[row][phase] || (shares[row][phase] = new Float32Array(pixels + 1)), pixel = Math.floor(a - left), over = Math.max(0, b - left - (pixel + 1));
      share[pixel] += b - a - over;
      share[Math.min(pixels, pixel + 1)] += over;
    };
    const {started, leased, stores, ended, executor, texts} = this.runs;
    this.runs.back(i => {
      if (ended[i] < begin - 2e9) return false;
      const row = lane.get(executor[i]);
      if (row === undefined || ended[i] < begin || started[i] > end) return true;
      shown++;
      busy += Math.min(ended[i], end) - Math.max(started[i], begin);
      part(row, 0, started[i], leased[i]);
      part(row, texts[i][2] ? 3 : 1, leased[i], stores[i]);
      part(row, 2, stores[i], ended[i]);
      return true;
    });
    for (const one of this.working) { // what executors are at
      const row = lane.get(one.number), phase = PHASES.indexOf(one.phase);
      if (row !== undefined && phase >= 0 && this.end === null && one.subtask >= 0) part(row, phase, end - Math.max(0, Date.now() - one.since_ms) * 1e6, end);
    }
    shares.forEach((phases, row) => phases.forEach((share, phase) => {
      if (!share) return;
      context.fillStyle = colors[phase];
      for (let pixel = 0; pixel < pixels; pixel++) {
        if (share[pixel] > 0.02) {
          const most = Math.min(1, share[pixel]) * (LANE - 4); // the height is the share: colours add up in it
          const below = phases.slice(0, phase).reduce((sum, other) => sum + (other ? Math.min(1, other[pixel]) : 0), 0) * (LANE - 4);
          context.fillRect(left + pixel, row * LANE + LANE - 2 - Math.min(LANE - 4, below + most), 1, Math.min(most, LANE - 4 - below));
        }
      }
    }));
    context.fillStyle = G.color('soft');
    context.textAlign = 'center';
    for (let i = 0; i <= 4; i++) {
      const text = i === 4 && this.end === null ? 'now' : this.options.fixed ? G.duration(this.span * i / 4) : `−${G.duration(this.span * (4 - i) / 4)}`;
      context.fillText(text, Math.min(Math.max(left + (width - left) * i / 4, left + 24), width - 24), height - 8);
    }
    const percent = lanes.length > 0 ? Math.round(busy / (this.span * lanes.length) * 100) : 0;
    this.words.textContent = `${G.number(shown)} runs, executors ${Math.min(100, percent)} % busy${this.runs.skipped ? '; some are not drawn: there were too many' : ''}`;
    this.live.hidden = this.end === null || this.options.fixed;
    this.canvas.setAttribute('aria-label', `Task stream of ${lanes.length} executors over ${G.duration(this.span)}: ${this.words.textContent}. Arrow keys move it, plus and minus zoom, Home is now.`);
  }
};
