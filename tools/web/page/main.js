// The page begins: the token becomes a cookie, the view is the one that the address names, and the events of the server are
// told to all who listen. What does not answer is said at the top of every view.
'use strict';

(() => {
  const byId = id => document.getElementById(id);
  const titles = [['overview', 'Overview'], ['tasks', 'Tasks'], ['graphs', 'Graphs'], ['objects', 'Objects'], ['results', 'Results'], ['sessions', 'Sessions'], ['events', 'Events']];
  let view = null;

  // ---- views ----

  function show() {
    const [name, ...rest] = decodeURI(location.hash.slice(1)).split('/');
    const known = G.report ? 'report' : titles.some(([title]) => title === name) ? name : 'overview';
    if (view) { view.listeners.forEach(G.off); view.closed = true; }
    view = {listeners: [], troubles: new Map(), fail(message, who = view) { // each question has its own trouble; the same one is said once
      this.troubles.set(who, message);
      notice.textContent = [...new Set([...this.troubles.values()].filter(text => text !== null))].join(' ');
      notice.hidden = notice.textContent === '';
    }, key: rest.map(decodeURIComponent).join('/')};
    const notice = G.h('p', {class: 'notice', role: 'status', hidden: true});
    const title = G.report ? `Graph ${G.report.key}` : (titles.find(([other]) => other === known) || [])[1];
    document.title = `${title} · granary`;
    G.empty(byId('main'), G.h('h1', {}, title), notice, G.views[known](view));
    for (const link of byId('nav').children) {
      if (link.dataset.view === known) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
  }

  // ---- how the daemons are ----

  const stores = {serving: ['good', 'serves'], adopting: ['warn', 'takes over'], closed: ['bad', 'is closed'], stopped: ['bad', 'is stopped'], dead: ['bad', 'is dead'], rebooted: ['bad', 'is of before a restart'], unknown: ['bad', 'is gone']};
  const schedulers = {answers: ['good', 'answers'], silent: ['bad', 'does not answer'], stopped: ['bad', 'is stopped'], gone: ['bad', 'is gone']};

  function chip(id, [mark, words]) {
    const element = byId(id);
    element.dataset.mark = mark;
    element.textContent = `${id} ${words}`;
  }

  function troubles(message) {
    const said = [];
    if (message.store !== 'serving') said.push(`The store ${(stores[message.store] || stores.unknown)[1]}. What follows of it is what it left in shared memory.`);
    if (message.scheduler !== 'answers') said.push(`The scheduler ${(schedulers[message.scheduler] || schedulers.gone)[1]}${message.silent_ms > 0 ? `, for ${G.duration(message.silent_ms * 1e6)}` : ''}. Graphs and tasks are as it told last.`);
    return said.join(' ');
  }

  function warn(text) {
    const alert = byId('alert');
    if (alert.textContent !== text) alert.textContent = text;
    alert.hidden = text === '';
  }

  function heard(message) {
    const sample = Object.fromEntries(G.fields.map((field, i) => [field, message.sample[i]]));
    G.now = {...message, sample, at: performance.now()};
    const last = G.history[G.history.length - 1];
    if (!last || sample.at_ms !== last.at_ms) G.history.push(sample);
    if (G.history.length > 900) G.history.shift();
    byId('instance').textContent = message.instance;
    chip('store', stores[message.store] || stores.unknown);
    chip('scheduler', schedulers[message.scheduler] || schedulers.gone);
    warn(troubles(message));
    G.tell(G.now);
  }

  function listen() {
    const events = new EventSource('events');
    events.onmessage = event => heard(JSON.parse(event.data));
    events.onerror = () => {
      warn('The server of this page does not answer. This page goes on when it does; `granary web` starts it again.');
      if (events.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
    };
  }

  // ---- the beginning ----

  async function login() {
    const token = /^#([0-9a-f]{32})$/.exec(location.hash);
    if (token) {
      history.replaceState(null, '', location.pathname);
      await fetch('login', {headers: {Authorization: `Bearer ${token[1]}`}});
    }
  }

  async function begin() {
    G.history = [];
    G.theme();
    byId('theme').addEventListener('click', () => G.theme(G.isDark() ? 'light' : 'dark'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => G.theme());
    if (G.report) {
      byId('instance').textContent = `report of ${new Date(G.report.at_ms).toLocaleString('en-GB')}`;
      byId('store').remove();
      byId('scheduler').remove();
      show();
      return;
    }
    for (const [name, title] of titles) byId('nav').append(G.h('a', {href: `#${name}`, 'data-view': name}, title));
    try {
      await login();
      const past = await G.ask('history');
      G.fields = past.fields;
      G.history = past.rows.map(row => Object.fromEntries(past.fields.map((field, i) => [field, row[i]])));
    } catch (error) {
      warn(error.message);
      return;
    }
    window.addEventListener('hashchange', show);
    show();
    listen();
  }

  begin();
})();
