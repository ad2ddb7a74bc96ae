// The views: each asks for what it shows while it is open, and for nothing else.
'use strict';

(() => {
  const h = G.h;
  const panel = (title, ...children) => h('section', {class: 'panel'}, title ? h('h2', {}, title) : null, children);
  const link = (view, key) => `#${view}/${key.split('/').map(encodeURIComponent).join('/')}`;
  const anchor = (view, key, text = key) => h('a', {href: link(view, key)}, text);
  const progress = value => h('progress', {max: 1, value, 'aria-label': `${Math.round(value * 100)} %`});
  const go = (view, key) => { location.hash = link(view, key); };
  const state = {key: 'state', width: 110, mark: value => value};
  const figure = (name, value, detail) => h('div', {class: 'figure'}, h('span', {class: 'soft'}, name), value, detail);

  // ---- overview ----

  const ACCOUNT = [
    {name: 'sealed', color: 'sealed', read: s => s.sealed_bytes},
    {name: 'written', color: 'writing', read: s => s.writing_bytes + s.reserved_bytes},
    {name: 'deleted, still mapped', color: 'retiring', read: s => s.retiring_bytes},
    {name: 'pooled', color: 'pooled', read: s => s.pooled_bytes},
    {name: 'spilled to disk', color: 'spilled', read: s => s.spilled_bytes, line: true},
    {name: 'capacity', color: 'soft', read: s => s.capacity_bytes, line: true, dash: true},
  ];

  // What was counted, as rates: a sample less the one before it.
  function rates(samples) {
    return samples.slice(1).map((sample, i) => {
      const before = samples[i], seconds = Math.max(0.001, (sample.at_ms - before.at_ms) / 1000);
      const rate = name => sample.up && before.up ? Math.max(0, sample[name] - before[name]) / seconds : 0;
      return {at_ms: sample.at_ms, up: sample.up && before.up, put: rate('seals'), done: rate('done'), out: rate('spill_raw'), back: rate('restore_raw')};
    });
  }

  G.views.overview = view => {
    const memory = new G.TimeChart(ACCOUNT, {name: 'Memory account', show: G.bytes, bytes: true, most: s => s.capacity_bytes, height: 240});
    const traffic = new G.TimeChart([{name: 'spilled a second', color: 'spilled', read: s => s.out, line: true}, {name: 'restored a second', color: 'run', read: s => s.back, line: true}],
      {name: 'Traffic with the disk', show: G.bytes, bytes: true, least: 1024, height: 130});
    const work = new G.TimeChart([{name: 'objects put a second', color: 'sealed', read: s => s.put, line: true}, {name: 'subtasks done a second', color: 'writing', read: s => s.done, line: true}],
      {name: 'Work', show: G.short, least: 10, height: 130});
    const names = ['memory', 'objects', 'executors', 'clients'], values = Object.fromEntries(names.map(name => [name, h('b')])), details = Object.fromEntries(names.map(name => [name, h('small')]));
    const graphs = h('div'), runs = new G.Runs(), stream = new G.Stream(runs), pull = G.followRuns(runs, {});
    const update = () => {
      const sample = G.history[G.history.length - 1];
      memory.set(G.history);
      const past = rates(G.history);
      traffic.set(past);
      work.set(past);
      if (!sample) return;
      const used = sample.capacity_bytes - sample.free_bytes - sample.pooled_bytes;
      values.memory.textContent = sample.up ? G.bytes(used) : '–';
      details.memory.textContent = sample.up ? `of ${G.bytes(sample.capacity_bytes)}, ${Math.round(used / (sample.capacity_bytes || 1) * 100)} %` : 'no store';
      values.objects.textContent = G.short(sample.objects);
      details.objects.textContent = `${G.short(sample.objects_spilled)} spilled, ${G.bytes(sample.spilled_bytes)}`;
      values.executors.textContent = `${sample.busy} of ${sample.executors}`;
      details.executors.textContent = 'are busy';
      values.clients.textContent = G.short(sample.clients);
      details.clients.textContent = 'are connected';
    };
    update();
    view.listeners.push(G.on(update), G.on(() => stream.paint()));
    G.poll(view, async () => { await pull(); stream.paint(); });
    G.poll(view, async () => {
      const rows = await G.rows('graphs', {last: 200, fields: 'key,state,progress,done,subtasks,running,message'});
      const shown = rows.filter(row => row.state === 'running').concat(rows.filter(row => row.state !== 'running').reverse()).slice(0, 6);
      G.empty(graphs, G.table('Graphs that run, and the newest of the others', [{key: 'key', node: value => anchor('graphs', value)}, state, {key: 'progress', node: progress}, {key: 'done', number: true}, {key: 'subtasks', number: true}],
        shown, 'No graph was submitted.'), h('p', {}, h('a', {href: '#graphs'}, 'All graphs')));
    }, G.changed());
    return h('div', {class: 'views'},
      h('div', {class: 'figures'}, names.map(name => figure(name, values[name], details[name]))),
      panel('Memory', memory.element), h('div', {class: 'columns'}, panel('Disk', traffic.element), panel('Work', work.element)),
      panel('Task stream', stream.element), panel('Graphs', graphs));
  };

  // ---- tasks ----

  G.views.tasks = view => {
    const runs = new G.Runs(), stream = new G.Stream(runs), pull = G.followRuns(runs, {}), executors = h('div');
    view.listeners.push(G.on(() => stream.paint()));
    G.poll(view, async () => { await pull(); stream.paint(); });
    G.poll(view, async () => {
      let rows, note = null;
      try {
        rows = await G.rows('executors');
      } catch (error) {
        rows = (await G.command('pages')).filter(row => row.lives).map(row => ({...row, number: row.slot + 1, state: row.subtask ? 'busy' : 'idle', graph: '', since_ms: 0}));
        note = h('p', {class: 'soft'}, `${error.message} This is what the executors' own pages tell.`);
      }
      stream.working = rows;
      rows.forEach(row => runs.executors.add(row.number));
      G.empty(executors, note, G.table('Executors', [{key: 'number', label: 'executor'}, {key: 'pid', show: String}, state, {key: 'phase'},
        {key: 'graph', label: 'works on', node: (value, row) => value ? anchor('graphs', value, `${value}/${row.subtask}`) : '–'}, {key: 'since_ms', label: 'since'}, {key: 'progress', number: true},
        {key: 'queued', number: true}, {key: 'done', number: true}, {key: 'failures', number: true}, {key: 'rss_bytes', label: 'memory', number: true}, {key: 'node', label: 'NUMA node', number: true}], rows, 'No executor runs.', true));
    }, G.every(2));
    return h('div', {class: 'views'}, panel('Task stream', stream.element), panel('Executors', executors));
  };

  // ---- graphs ----

  function facts(title, answer) {
    const list = answer.facts || [];
    return panel(title, list.length === 0 ? h('p', {class: 'nothing'}, 'Nothing is known.') : h('ol', {class: 'facts'}, list.map(fact => h('li', {}, fact.text))));
  }

  function whyButton(key, into) {
    return h('button', {type: 'button', click: async () => {
      G.empty(into, h('p', {class: 'soft'}, 'Asking …'));
      try {
        G.empty(into, facts(`Why: ${key}`, await G.command('why', {key})));
      } catch (error) {
        G.empty(into, h('p', {class: 'notice'}, error.message));
      }
    }}, 'Why?');
  }

  // A text that is asked for when it is opened.
  function opened(title, ask) {
    const text = h('pre', {tabindex: 0});
    return h('details', {toggle: async event => {
      if (event.target.open && text.textContent === '') text.textContent = G.plain(await ask().catch(error => error.message) || 'Nothing.');
    }}, h('summary', {}, title), text);
  }

  const TARGET_FIELDS = 'key,kind,dtypes,shape,chunks,bytes,complete';
  const SUBTASKS = [{key: 'subtask', width: 130}, {key: 'node', width: 140, show: value => G.shortName(value) || '–'}, {key: 'ops', label: 'operators', width: 180}, state, {key: 'attempt', number: true, width: 75}, {key: 'executor', number: true, width: 85},
    {key: 'took', number: true, width: 100, show: (value, row) => row.ended_ns > row.started_ns && row.started_ns > 0 ? G.duration(row.ended_ns - row.started_ns) : '–'},
    {key: 'lease_ns', label: 'inputs', number: true, width: 90}, {key: 'store_ns', label: 'storing', number: true, width: 90}, {key: 'in_bytes', label: 'in', number: true, width: 90}, {key: 'out_bytes', label: 'out', number: true, width: 90}, {key: 'error', width: 90}];

  // Subtasks page by page, as they are scrolled to.
  function subtasks(key, why) {
    let next = '0', busy = false, items = [];
    const more = async (again = false) => {
      if (busy || (next === null && !again)) return;
      busy = true;
      try {
        const table = await G.ask('subtasks', {key, limit: 4096, ...(next && next !== '0' && !again ? {cursor: next} : {})});
        const rows = table.rows.map(row => Object.fromEntries(table.fields.map((field, i) => [field, row[i]])));
        if (again) rows.forEach((row, i) => { items[i] = row; });
        else { items = items.concat(rows); next = table.more ? table.next : null; }
        grid.set(items);
      } finally {
        busy = false;
      }
    };
    const grid = new G.Grid(SUBTASKS.map(column => column.key === 'subtask' && !G.report ? {...column, click: row => why(row.subtask)} : column), {caption: 'Subtasks', more: () => more().catch(console.error), empty: 'No subtask is known: there are none yet, or those of a large graph that has ended made room for others.'});
    return {element: grid.element, again: () => more(true), first: () => more()};
  }

  function graph(view, key) {
    const head = h('div'), answer = h('div', {'aria-live': 'polite'}), nodes = h('div'), targets = h('div'), dagPanel = panel('Operators'), runs = new G.Runs();
    const stream = new G.Stream(runs, {fixed: true}), pull = G.followRuns(runs, {key}), rows = subtasks(key, subtask => ask(subtask));
    const ask = async subject => {
      G.empty(answer, await G.command('why', {key: subject}).then(found => facts(`Why: ${subject}`, found)).catch(error => h('p', {class: 'notice'}, error.message)));
      answer.scrollIntoView({block: 'nearest'});
    };
    const dag = new G.Dag(node => { nodes.querySelectorAll('tr').forEach(row => row.classList.toggle('chosen', row.firstChild.textContent === G.shortName(node.name))); });
    dagPanel.append(dag.element, nodes);
    let plan = null, known = null;
    const ran = () => known === null || known.state === 'running';
    // Each part is asked for by itself, so that one that is large, or fails, keeps no other away.
    G.poll(view, async () => {
      const [row] = await G.rows('graphs', {key});
      known = row;
      G.empty(head, h('p', {}, h('span', {class: 'chip', 'data-mark': row.state}, row.state), ' ', progress(row.progress), ` ${G.number(row.done)} of ${G.number(row.subtasks)} subtasks, ${row.running} running, ${row.ready} ready, ${row.failed} failed, ${row.retries} retries. Session ${row.session}, submitted ${G.time(row.submitted_ms)}`,
        row.ended_ms > 0 ? `, took ${row.ended_ms > row.submitted_ms ? G.duration((row.ended_ms - row.submitted_ms) * 1e6) : 'less than 1 ms'}.` : '.'), row.message ? h('p', {class: 'notice'}, row.error ? `${row.error}: ` : '', row.message) : null);
    }, G.changed());
    G.whileRuns(view, ran, rows.first, rows.again);
    G.whileRuns(view, ran, async () => { await pull(); stream.fit(); });
    G.whileRuns(view, ran, async () => G.empty(targets, G.table('Results', [{key: 'key', node: value => G.report ? value : anchor('results', value)}, {key: 'kind'}, {key: 'shape'}, {key: 'dtypes'}, {key: 'chunks', number: true}, {key: 'bytes', number: true}, {key: 'complete', show: value => value ? 'yes' : 'no'}],
      await G.rows('tileables', {key, fields: TARGET_FIELDS}), 'It has no results.', true)));
    G.whileRuns(view, ran, async () => {
      const counted = await G.ask('nodes', {key});
      G.empty(nodes, G.table('What each node has done', [{key: 'node', show: G.shortName}, {key: 'subtasks', show: (value, node) => G.progress(node)}, {key: 'running', number: true}, {key: 'ready', number: true}, {key: 'failed', number: true}, {key: 'time_ns', label: 'time', number: true}, {key: 'bytes', label: 'out', number: true}], counted.nodes, 'No subtask is known yet.'));
      if (plan === null) plan = G.parsePlan(counted.nodes.reduce((sum, node) => sum + node.succeeded + node.waiting, 0) > 50000 ? '' : await G.command('plan', {key}));
      dag.set(plan.length <= 400 ? plan : [], counted.nodes);
    }, undefined, 120e3);
    return h('div', {class: 'views'}, G.report ? null : h('p', {}, h('a', {href: '#graphs'}, '← All graphs')), panel(G.report ? null : key, head, G.report ? null : h('p', {class: 'buttons'}, whyButton(key, answer), h('a', {class: 'button', href: `trace.json?${G.query({key})}`, download: `${key.replace(/\W+/g, '_')}.trace.json`}, 'Download timeline')), answer),
      dagPanel, panel('Task stream', stream.element), panel('Results', targets), panel('Subtasks', rows.element),
      panel('Texts', opened('How it is computed', () => G.command('plan', {key})), opened('What its functions printed', () => G.command('logs', {key, ...(G.report ? {} : {tail: 1000})}))));
  }

  G.views.graphs = view => {
    if (view.key) return graph(view, view.key);
    const grid = new G.Grid([{key: 'key', width: 220, click: row => go('graphs', row.key)}, {key: 'session', width: 100}, state, {key: 'progress', number: true, width: 85}, {key: 'done', number: true, width: 80}, {key: 'subtasks', number: true, width: 90}, {key: 'running', number: true, width: 80},
      {key: 'ready', number: true, width: 75}, {key: 'retries', number: true, width: 75}, {key: 'submitted_ms', label: 'submitted', width: 95}, {key: 'took', number: true, width: 85, show: (value, row) => row.ended_ms > 0 ? G.duration((row.ended_ms - row.submitted_ms) * 1e6) : '–'}, {key: 'message', width: 190}],
    {caption: 'Graphs, the newest first', height: 640, empty: 'No graph was submitted.'});
    G.poll(view, async () => grid.set((await G.rows('graphs', {last: 8192})).reverse()), G.changed());
    return h('div', {class: 'views'}, panel(null, grid.element));
  };

  // A report has one graph and its results.
  G.views.report = view => {
    const content = graph(view, G.report.key), kept = G.report.results;
    if (kept.length > 0) content.insertBefore(panel(null, kept.map(key => result(view, key))), content.lastChild);
    return content;
  };

  // ---- objects ----

  G.views.objects = view => {
    const detail = h('div', {'aria-live': 'polite'}), text = h('input', {type: 'search', placeholder: 'beginning of an id', 'aria-label': 'Beginning of an id', change: () => again()});
    const where = h('select', {'aria-label': 'Where objects are', change: () => again()}, [['', 'anywhere'], ['memory', 'in memory'], ['disk', 'on disk'], ['deleting', 'being deleted'], ['alias', 'aliases']].map(([value, name]) => h('option', {value}, name)));
    const session = h('select', {'aria-label': 'Session', change: () => again()}, h('option', {value: ''}, 'session default'));
    const count = h('span', {class: 'soft', role: 'status'});
    G.command('spaces').then(spaces => session.append(...(spaces || []).filter(space => space.name !== 'default').map(space => h('option', {value: space.name}, `session ${space.name}`)))).catch(() => {});
    let next = '0', busy = false, items = [], generation = 0;
    const grid = new G.Grid([{key: 'id', width: 300, code: true, click: row => choose(row)}, {key: 'names', width: 170}, state, {key: 'data_bytes', label: 'size', number: true, width: 90}, {key: 'pins', number: true, width: 60}, {key: 'sealed_at_ms', label: 'sealed', width: 85}, {key: 'levels', width: 110},
      {key: 'importance', number: true, width: 100}, {key: 'persistent', width: 100}, {key: 'numa_node', label: 'node', number: true, width: 70}, {key: 'message', label: 'error', width: 240}],
    {caption: 'Objects', height: 560, more: () => more(), empty: 'No such object.'});
    const more = async () => {
      const mine = generation;
      if (busy || next === '') return;
      busy = true;
      try {
        const answer = await G.ask('objects', {limit: 4096, ...(next === '0' ? {} : {cursor: next}), state: where.value, session: session.value, key: text.value.trim() || null});
        if (mine === generation) {
          for (const row of answer.answer || []) items.push(row);
          next = answer.about.next;
          const all = G.history.length > 0 ? G.history[G.history.length - 1].objects : items.length;
          count.textContent = next === '' ? `${G.number(items.length)} objects` : `${G.number(items.length)} read so far; the store has ${G.number(all)}`;
          grid.set(items);
          view.fail(null);
        }
      } catch (error) {
        view.fail(error.message);
        next = '';
      }
      busy = false;
      if (mine !== generation) more();
    };
    const again = () => { generation++; items = []; next = '0'; grid.set(items); more(); };
    const choose = async row => {
      G.empty(detail, h('p', {class: 'soft'}, 'Asking …'));
      const [why, leases, pins] = await Promise.all([G.command('why', {key: row.id, session: session.value}).catch(error => ({facts: [{text: error.message}]})), G.command('leases').catch(() => []), G.command('pins', {key: row.id, session: session.value}).catch(() => [])]);
      G.empty(detail, panel(`Object ${row.id}`, h('dl', {}, Object.entries(row).filter(([, value]) => value !== '' && value !== null).map(([name, value]) => [h('dt', {}, name), h('dd', {}, G.cell(name, value))]))),
        facts('Why it is there', why), panel('Who holds it', G.table('Leases', [{key: 'client', show: String}, {key: 'pid', show: String}, {key: 'tag'}, {key: 'count', number: true}], (leases || []).filter(lease => lease.id === row.id), 'Nobody leases it.'),
          G.table('Pins', [{key: 'owner'}, {key: 'client', show: String}, {key: 'reason'}, {key: 'text'}], pins || [], 'Nobody has pinned it.')));
      detail.scrollIntoView({block: 'nearest'});
    };
    more();
    return h('div', {class: 'views'}, panel(null, h('div', {class: 'bar'}, text, where, session, h('button', {type: 'button', click: again}, 'Read again'), count), grid.element), detail);
  };

  // ---- results ----

  // A value of the first object tells which columns there are; of a tensor, its elements.
  function columnsOf(rows) {
    return Object.keys(rows[0] || {});
  }

  // Decimals, integers that JavaScript would round, and what is no finite number come as texts.
  function numbersIn(values) {
    const known = values.filter(value => value !== null && value !== undefined);
    return known.length > 0 && known.every(value => typeof value === 'number' || (typeof value === 'string' && /^(-?\d+(\.\d+)?|NaN|-?Infinity)$/.test(value)));
  }

  function rowsOf(answers) {
    return answers.flatMap(part => (Array.isArray(part.value) ? part.value : [part.value])).map((row, i) => row !== null && typeof row === 'object' && !Array.isArray(row) ? row : {position: i, value: Array.isArray(row) ? JSON.stringify(row) : row});
  }

  function result(view, key) {
    const box = h('div', {}, h('p', {class: 'soft'}, 'Reading …'));
    (async () => {
      let rows;
      try {
        rows = rowsOf(await G.command('rows', {key, rows: '0:5000'}).catch(() => G.command('rows', {key})));
      } catch (error) {
        G.empty(box, h('p', {class: 'notice'}, error.message));
        return;
      }
      const columns = columnsOf(rows), isNumber = name => numbersIn(rows.slice(0, 50).map(row => row[name]));
      const numbers = columns.filter(isNumber);
      const grid = new G.Grid(columns.map(name => ({key: name, number: isNumber(name), width: Math.max(110, Math.min(240, name.length * 9 + 24)), show: value => value === null || value === undefined ? '–' : typeof value === 'number' ? String(value) : typeof value === 'object' ? JSON.stringify(value) : String(value)})), {caption: `Rows of ${key}`, height: 360, empty: 'It has no rows.'});
      const canvas = h('canvas', {role: 'img', class: 'plot', 'aria-label': 'Plot'});
      const select = (label, values, chosen) => h('select', {'aria-label': label, change: () => paint()}, values.map(value => h('option', {value, selected: value === chosen}, value)));
      const kind = select('Kind of plot', G.plots, 'bar'), first = columns.find(name => !isNumber(name)) || columns[0];
      const across = select('Across', columns, first), up = select('Up', numbers.length > 0 ? numbers : columns, numbers.find(name => name !== first) || numbers[0]);
      const left = h('span', {class: 'soft', role: 'status'});
      const paint = () => {
        if (canvas.clientWidth === 0) return;
        const count = G.plot(canvas, kind.value, rows, across.value, up.value);
        left.textContent = count > 0 ? `${G.number(count)} of ${G.number(rows.length)} rows are not in it` : '';
      };
      grid.set(rows);
      canvas.paint = paint;
      new ResizeObserver(paint).observe(canvas);
      G.empty(box, h('h2', {}, key), h('p', {class: 'soft'}, `${G.number(rows.length)} rows${rows.length >= 5000 ? ', the first ones' : ''}${rows.length > 0 ? `, ${columns.length} columns` : ''}`), grid.element,
        rows.length > 0 ? h('div', {}, h('div', {class: 'bar'}, h('label', {}, 'Plot ', kind), h('label', {}, 'across ', across), h('label', {}, 'up ', up), left), canvas) : null);
    })();
    return box;
  }

  G.views.results = view => {
    if (view.key) return h('div', {class: 'views'}, h('p', {}, h('a', {href: '#results'}, '← All results')), panel(null, result(view, view.key)));
    const grid = new G.Grid([{key: 'key', width: 280, click: row => go('results', row.key)}, {key: 'kind', width: 90}, {key: 'shape', width: 120}, {key: 'chunks', number: true, width: 80}, {key: 'bytes', label: 'size', number: true, width: 100}, {key: 'dtypes', width: 520}], {caption: 'Results that are kept, the newest first', height: 560, empty: 'No result is kept: `granary load` and `granary sql --keep` make some.'});
    G.poll(view, async () => {
      const keys = (await G.rows('graphs', {last: 512, fields: 'key,state'})).filter(row => row.state === 'succeeded').map(row => row.key).reverse().slice(0, 64);
      const found = [];
      for (let i = 0; i < keys.length; i += 16) found.push(...(await G.rows('tileables', {key: keys.slice(i, i + 16), fields: TARGET_FIELDS})).filter(row => row.complete && row.kind !== 'objects'));
      grid.set(found);
    }, G.changed(10));
    return h('div', {class: 'views'}, panel(null, grid.element));
  };

  // ---- sessions ----

  G.views.sessions = view => {
    const parts = {spaces: h('div'), shares: h('div'), clients: h('div'), tables: h('div')};
    const ask = (name, task) => G.poll(view, async () => G.empty(parts[name], await task()), G.every(3));
    ask('spaces', async () => G.table('Sessions of the store', [{key: 'name'}, {key: 'state', mark: value => value}, {key: 'clients', number: true}, {key: 'used_bytes', label: 'memory', number: true}, {key: 'quota_bytes', label: 'quota', number: true, show: value => value > 0 ? G.bytes(value) : 'none'}, {key: 'index_bytes', label: 'index', number: true}, {key: 'created_ms', label: 'created'}, {key: 'last_used_ms', label: 'used'}], await G.command('spaces') || []));
    ask('shares', async () => G.table('Shares of the executors', [{key: 'name'}, {key: 'weight', number: true}, {key: 'graphs', number: true}, {key: 'running', number: true}, {key: 'ready', number: true}, {key: 'used_ns', label: 'time of executors', number: true}, {key: 'idle_ms', label: 'idle', number: true}], await G.rows('sessions'), 'No session has had a graph.'));
    ask('clients', async () => G.table('Clients of the store', [{key: 'client', show: String}, {key: 'session', show: String}, {key: 'pid', show: String}, {key: 'tag'}, {key: 'since_ms', label: 'age'}, {key: 'leased_objects', label: 'objects leased', number: true}, {key: 'ring_pending', label: 'pending', number: true}, {key: 'waiting', number: true}], await G.command('clients') || [], 'None is connected.', true));
    ask('tables', async () => G.table('Tables that change', [{key: 'name'}, {key: 'session', show: String}, {key: 'writers', number: true}, {key: 'row_numbers', label: 'rows', number: true}, {key: 'objects', number: true}, {key: 'memory_bytes', label: 'in memory', number: true}, {key: 'bytes', label: 'all', number: true}, {key: 'durability'}, {key: 'sealed'}], (await G.command('top')).tables || [], 'There are none.', true));
    return h('div', {class: 'views'}, panel('Sessions', parts.spaces, parts.shares), panel('Clients', parts.clients), panel('Tables that change', parts.tables));
  };

  // ---- events ----

  G.views.events = view => {
    const text = h('input', {type: 'search', placeholder: 'beginning of an id', 'aria-label': 'Beginning of an id', change: () => run()});
    const grid = new G.Grid([{key: 'sequence', width: 90, show: value => String(value)}, {key: 'time_ns', label: 'time', width: 115, show: value => { const at = new Date(value / 1e6); return `${at.toLocaleTimeString('en-GB')}.${String(at.getMilliseconds()).padStart(3, '0')}`; }}, {key: 'event', width: 135}, {key: 'id', label: 'object', width: 260, code: true}, {key: 'session', number: true, width: 65}, {key: 'client', number: true, width: 60}, {key: 'text', label: 'what happened', width: 460}],
      {caption: 'Events, the newest first', height: 640, empty: 'No event.'});
    const run = G.poll(view, async () => grid.set((await G.command('recorder', {last: 2000, id: text.value.trim() || null})).reverse()), G.every(2));
    return h('div', {class: 'views'}, panel(null, h('div', {class: 'bar'}, text, h('span', {class: 'soft'}, 'What the store noted last.')), grid.element));
  };
})();
