// What all parts of the page share: elements made of text, questions to the server, units, and colours of the theme.
'use strict';

const G = {report: window.GRANARY_REPORT || null, views: {}, now: {}, listeners: []};

// What no reader would see, or what would turn the text around it, is shown by its number, as in a terminal.
G.plain = text => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

// An element. Text is put in as text, whatever it holds; a function among the attributes listens to that event.
G.h = function (tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (name === 'class') element.className = value;
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(typeof child === 'string' ? G.plain(child) : child);
  return element;
};

// New content in the place of what an element has. What had the focus has it again, and what was scrolled is where it was.
G.empty = function (element, ...children) {
  const reached = () => [...element.querySelectorAll('a, button, input, select, summary, [tabindex]')], moved = () => [...element.querySelectorAll('.scroll')];
  const focus = reached().indexOf(document.activeElement), places = moved().map(box => box.scrollLeft);
  element.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  if (focus >= 0 && reached()[focus]) reached()[focus].focus({preventScroll: true});
  moved().forEach((box, i) => { box.scrollLeft = places[i] || 0; });
  return element;
};

// ---- units ----

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

G.bytes = function (value) {
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < SIZES.length - 1) { value /= 1024; unit++; }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZES[unit]}`;
};

G.number = value => Number(value).toLocaleString('en');

G.short = function (value) {
  if (Math.abs(value) >= 1e15 || (value !== 0 && Math.abs(value) < 1e-3)) return value.toExponential(1).replace('.0e', 'e').replace('e+', 'e');
  if (Math.abs(value) >= 1e12) return `${(value / 1e12).toFixed(1)} T`;
  if (Math.abs(value) >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (Math.abs(value) >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  if (Math.abs(value) < 0.1 && value !== 0) return String(Number(value.toPrecision(2)));
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
};

// Beside others that are so far away: as many digits as tell them apart.
G.tick = (value, step) => Math.max(Math.abs(value), step) >= 1e4 || step < 1e-6 ? G.short(Math.abs(value) < step / 1e6 ? 0 : value)
  : value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))).replace(/^-(0\.?0*)$/, '$1');

G.duration = function (ns) {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(1)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(1)} ms`;
  if (ns < 120e9) return `${(ns / 1e9).toFixed(1)} s`;
  if (ns < 7200e9) return `${Math.round(ns / 60e9)} min`;
  return `${(ns / 3600e9).toFixed(1)} h`;
};

G.time = ms => ms > 0 ? new Date(ms).toLocaleTimeString('en-GB') : '–';
G.age = ms => ms > 0 ? G.duration(Math.max(0, Date.now() - ms) * 1e6) : '–';

// How a field is shown: the unit is in its name, as in `granary info`.
G.cell = function (field, value) {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.join(', ') || '–';
  if (typeof value !== 'number') return String(value);
  if (/(^|_)bytes$/.test(field)) return G.bytes(value);
  if (field === 'progress') return `${Math.round(value * 100)} %`;
  if (/^(deadline|submitted|ended|started|created|sealed_at|last_used)_ms$/.test(field)) return G.time(value);
  if (field === 'since_ms') return G.age(value);
  if (/_ms$/.test(field)) return G.duration(value * 1e6);
  if (/^(ready|sent|started|ended|since)_ns$/.test(field)) return value > 0 ? G.number(Math.round(value / 1e6)) : '–';
  if (/_ns$/.test(field)) return value > 0 ? G.duration(value) : '–';
  return G.number(value);
};

// ---- questions ----

G.query = parameters => Object.entries(parameters).flatMap(([name, values]) => (Array.isArray(values) ? values : [values])
  .filter(value => value !== null && value !== undefined && value !== '')
  .map(value => `${name}=${encodeURIComponent(value)}`)).join('&');

class Refused extends Error {}

// The answer to a question, or an error with the server's sentence.
G.ask = async function (path, parameters = {}) {
  const query = G.query(parameters);
  const url = `api/${path}${query === '' ? '' : `?${query}`}`;
  if (G.report) {
    if (url in G.report.answers) return G.report.answers[url];
    throw new Refused('The report does not have this.');
  }
  let response;
  try {
    response = await fetch(url, {signal: AbortSignal.timeout(15000)});
  } catch (error) {
    throw new Refused(error.name === 'TimeoutError' ? 'No answer came in time.' : 'The server of this page is gone.');
  }
  const answer = await response.json().catch(() => ({message: `The server answers ${response.status}.`}));
  if (!response.ok) throw new Refused(answer.message || `The server answers ${response.status}.`);
  return answer;
};

// A table of the scheduler as objects.
G.rows = async function (subject, parameters) {
  const table = await G.ask(subject, parameters);
  return table.rows.map(row => Object.fromEntries(table.fields.map((field, i) => [field, row[i]])));
};

// What a command answers; its notes tell that the store is stopped or dead, which the page shows anyhow.
G.command = async (path, parameters) => (await G.ask(path, parameters)).answer;

// ---- what is told to everybody: messages of the event stream ----

G.on = function (listener) {
  G.listeners.push(listener);
  return listener;
};
G.off = listener => { G.listeners = G.listeners.filter(other => other !== listener); };
G.tell = message => G.listeners.slice().forEach(listener => listener(message));

// Ask again and again while a view is open, at once and whenever `when` says so of a message: one question at a time, and
// with thirty times as much rest, so that a page costs no daemon more than a thirtieth. On a busy machine an answer takes long and
// costs little: `most` ends that rest, but for questions that are large.
G.poll = function (view, ask, when = () => true, most = 2000) {
  let busy = false, again = false;
  const run = async () => {
    if (busy || view.closed) { again = true; return; }
    const began = performance.now();
    busy = true;
    try {
      await ask();
      view.fail(null, ask);
    } catch (error) {
      view.fail(error.message, ask);
      if (!(error instanceof Refused)) console.error(error);
    }
    setTimeout(() => {
      busy = false;
      if (again) { again = false; run(); }
    }, Math.min(most, Math.max(300, 30 * (performance.now() - began))));
  };
  run();
  if (!G.report) view.listeners.push(G.on(message => { if (!document.hidden && when(message)) run(); }));
  return run;
};

// A part of a view of something that may run: once, and again while it does.
G.whileRuns = function (view, runs, ask, again = ask, most = 2000) {
  let first = true;
  return G.poll(view, async () => {
    if (!first && !runs()) return;
    await (first ? ask() : again());
    first = false;
  }, G.changed(), most);
};

// Every n-th message; and when graphs have changed.
G.every = n => { let i = 0; return () => i++ % n === n - 1; };
G.changed = (n = 5) => {
  let seen = null;
  const often = G.every(n);
  return message => { const is = often() || message.graphs !== seen; seen = message.graphs; return is; };
};

// ---- theme ----

G.color = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

G.theme = function (next) {
  const stored = next || sessionStorage.getItem('theme');
  if (stored) {
    document.documentElement.dataset.theme = stored;
    sessionStorage.setItem('theme', stored);
  }
  document.querySelectorAll('canvas').forEach(canvas => { if (canvas.paint) canvas.paint(); });
};
G.isDark = () => (document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

// A canvas as sharp as the screen, and its context in CSS pixels.
G.context = function (canvas) {
  const {clientWidth: width, clientHeight: height} = canvas, ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, "DejaVu Sans", sans-serif';
  context.textAlign = 'left';
  context.lineWidth = 1;
  return {context, width, height};
};
