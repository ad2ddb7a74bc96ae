// A table of any length: only the rows in sight are elements, and they are used again. Rows are asked for by number.
'use strict';

const ROW = 28;
const TALLEST = 6e6; // browsers have no taller elements: beyond that, the scroll bar is a scale

// columns: [{key, label, number, width, show(value, row), click(row)}]; options: {caption, height, empty, more()}
G.Grid = class {
  constructor(columns, options) {
    this.columns = columns;
    this.options = options;
    this.items = [];
    this.lines = [];
    this.body = G.h('tbody');
    this.table = G.h('table', {'aria-rowcount': 0}, G.h('caption', {}, options.caption),
      G.h('colgroup', {}, columns.map(() => G.h('col'))),
      G.h('thead', {}, G.h('tr', {}, columns.map(column => G.h('th', {scope: 'col', class: column.number ? 'number' : ''}, column.label || column.key)))), this.body);
    [...this.table.querySelectorAll('col')].forEach((col, i) => { col.style.width = `${columns[i].width || 120}px`; });
    this.table.style.width = `max(100%, ${columns.reduce((sum, column) => sum + (column.width || 120), 0)}px)`;
    this.port = G.h('div', {class: 'port'}, this.table);
    this.sizer = G.h('div', {class: 'sizer'}, this.port);
    this.nothing = G.h('p', {class: 'nothing'}, options.empty || 'Nothing.');
    this.box = G.h('div', {class: 'grid', tabindex: 0, role: 'region', 'aria-label': options.caption, scroll: () => this.later()}, this.sizer);
    this.element = G.h('div', {class: 'gridbox'}, this.box, this.nothing);
    this.box.style.maxHeight = `${options.height || 420}px`;
    new ResizeObserver(() => this.later()).observe(this.box);
  }

  set(items) {
    this.items = items;
    this.later();
  }

  later() {
    if (!this.waits) {
      this.waits = true;
      requestAnimationFrame(() => { this.waits = false; this.paint(); });
    }
  }

  line(i) {
    while (this.lines.length <= i) {
      const cells = this.columns.map((column, c) => {
        const button = column.click ? G.h('button', {class: 'link', type: 'button', click: () => column.click(line.item)}) : null;
        const cell = G.h(c === 0 ? 'th' : 'td', {class: column.number ? 'number' : column.code ? 'code' : '', scope: c === 0 ? 'row' : null}, button);
        return {cell, text: button || cell};
      });
      const line = {row: G.h('tr', {}, cells.map(({cell}) => cell)), cells, item: null};
      this.lines.push(line);
      this.body.append(line.row);
    }
    return this.lines[i];
  }

  paint() {
    const count = this.items.length, head = ROW + 2;
    const whole = count * ROW + head, tall = Math.min(whole, TALLEST);
    this.nothing.hidden = count > 0;
    this.box.hidden = count === 0;
    if (this.box.style.height !== `${tall + 2}px`) this.box.style.height = `${tall + 2}px`;
    this.sizer.style.height = `${tall}px`;
    const inSight = Math.min(count, Math.max(1, Math.ceil((this.box.clientHeight - head) / ROW) + 1));
    const span = tall - this.box.clientHeight, top = Math.min(this.box.scrollTop, Math.max(0, span));
    const at = whole === tall ? top / ROW : span > 0 ? top / span * (count - inSight + 1) : 0;
    const first = Math.max(0, Math.min(Math.floor(at), count - inSight));
    this.table.setAttribute('aria-rowcount', count + 1);
    for (let i = 0; i < inSight; i++) {
      const line = this.line(i), item = this.items[first + i];
      line.item = item;
      line.row.hidden = false;
      line.row.setAttribute('aria-rowindex', first + i + 2);
      this.columns.forEach((column, c) => {
        const value = item[column.key];
        const text = G.plain(column.show ? column.show(value, item) : G.cell(column.key, value));
        if (line.cells[c].text.textContent !== text) {
          line.cells[c].text.textContent = text;
          line.cells[c].cell.title = text.length > 14 ? text : '';
        }
        if (column.mark) line.cells[c].cell.dataset.mark = column.mark(value, item) || '';
      });
    }
    for (let i = inSight; i < this.lines.length; i++) this.lines[i].row.hidden = true;
    this.body.style.transform = whole === tall && first + inSight < count + 1 ? `translateY(${-(at - first) * ROW}px)` : '';
    if (this.options.more && first + inSight > count - 200) this.options.more();
  }
};

// A short table, all of it.
G.table = function (caption, columns, items, empty = 'Nothing.', quiet = false) {
  if (items.length === 0) return G.h('p', {class: 'nothing'}, empty);
  return G.h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption}, G.h('table', {}, G.h('caption', {class: quiet ? 'quiet' : ''}, caption),
    G.h('thead', {}, G.h('tr', {}, columns.map(column => G.h('th', {scope: 'col', class: column.number ? 'number' : ''}, column.label || column.key)))),
    G.h('tbody', {}, items.map(item => G.h('tr', {}, columns.map((column, c) => {
      const value = item[column.key], text = column.show ? column.show(value, item) : G.cell(column.key, value);
      const content = column.click ? G.h('button', {class: 'link', type: 'button', click: () => column.click(item)}, text) : column.node ? column.node(value, item) : text;
      const cell = G.h(c === 0 ? 'th' : 'td', {class: column.number ? 'number' : '', scope: c === 0 ? 'row' : null}, content);
      if (column.mark) cell.dataset.mark = column.mark(value, item) || '';
      return cell;
    }))))));
};
