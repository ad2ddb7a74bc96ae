// The graph of operators on a canvas: layers from left to right, a bar in each node for its subtasks. A table beside it has
// the same for those who do not see it.
'use strict';

const NODE = {width: 168, height: 44, across: 56, down: 16};

// "NAME * = OPERATOR(INPUT, INPUT) ..." of the plan: names stand there before they are used.
G.parsePlan = function (text) {
  const part = (text.split(/^after optimisation$/m)[1] || text).split(/^\S/m)[0] || '';
  const nodes = new Map();
  for (const line of part.split('\n')) {
    const match = /^ {2}(.+?)( \*)? = ([\w.]+)\(/.exec(line);
    if (!match) continue;
    const rest = line.slice(match[0].length), inputs = [];
    let at = 0;
    while (at < rest.length && rest[at] !== ')') { // the longest known name that stands here
      const name = [...nodes.keys()].filter(known => rest.startsWith(known, at)).sort((a, b) => b.length - a.length)[0];
      if (name === undefined) break;
      inputs.push(name);
      at += name.length + (rest.startsWith(', ', at + name.length) ? 2 : 0);
    }
    nodes.set(match[1], {name: match[1], op: match[3], target: match[2] !== undefined, inputs, layer: 0});
  }
  for (const node of nodes.values()) node.layer = Math.max(0, ...node.inputs.map(input => nodes.get(input).layer + 1));
  return [...nodes.values()];
};

// "groupby 2 at 1:104" is the second operator of a statement, made of what stands at that place.
G.shortName = name => name.replace(/ at \d+:\d+$/, '').replace(/#(\d+)$/, ' $1');

G.Dag = class {
  constructor(choose) {
    this.nodes = [];
    this.counts = new Map();
    this.canvas = G.h('canvas', {role: 'img', 'aria-label': 'Graph of operators', click: event => {
      const node = this.at(event);
      if (node) choose(node);
    }, pointermove: event => { this.canvas.classList.toggle('pointed', Boolean(this.at(event))); }});
    this.element = G.h('div', {class: 'scroll dag', tabindex: 0, role: 'region', 'aria-label': 'Graph of operators'}, this.canvas);
    this.canvas.paint = () => this.paint();
    new ResizeObserver(this.canvas.paint).observe(this.element);
  }

  set(nodes, counts) {
    this.nodes = nodes;
    this.counts = new Map(counts.map(count => [count.node, count]));
    const layers = [];
    const byName = new Map(nodes.map(node => [node.name, node]));
    for (const node of nodes) (layers[node.layer] || (layers[node.layer] = [])).push(node);
    layers.forEach(layer => { // beside what it comes from
      layer.forEach((node, i) => { node.wish = node.inputs.length > 0 ? node.inputs.reduce((sum, input) => sum + byName.get(input).y, 0) / node.inputs.length : i * (NODE.height + NODE.down); });
      layer.sort((a, b) => a.wish - b.wish);
      let y = 8;
      for (const node of layer) {
        node.x = 8 + node.layer * (NODE.width + NODE.across);
        node.y = Math.max(y, node.wish);
        y = node.y + NODE.height + NODE.down;
      }
    });
    this.width = Math.max(...nodes.map(node => node.x + NODE.width + 8), 0);
    this.height = Math.max(...nodes.map(node => node.y + NODE.height + 8), 0);
    this.paint();
  }

  at(event) { return this.nodes.find(node => event.offsetX >= node.x && event.offsetX <= node.x + NODE.width && event.offsetY >= node.y && event.offsetY <= node.y + NODE.height); }

  paint() {
    this.element.hidden = this.nodes.length === 0;
    if (this.nodes.length === 0) return;
    this.canvas.style.width = `${Math.min(this.width, 16000)}px`;
    this.canvas.style.height = `${Math.min(this.height, 8000)}px`;
    const {context} = G.context(this.canvas), byName = new Map(this.nodes.map(node => [node.name, node]));
    context.textBaseline = 'middle';
    context.strokeStyle = G.color('edge');
    context.lineWidth = 1.25;
    for (const node of this.nodes) {
      for (const input of node.inputs.map(name => byName.get(name))) {
        const from = [input.x + NODE.width, input.y + NODE.height / 2], to = [node.x, node.y + NODE.height / 2], middle = (from[0] + to[0]) / 2;
        context.beginPath();
        context.moveTo(...from);
        context.bezierCurveTo(middle, from[1], middle, to[1], ...to);
        context.stroke();
      }
    }
    for (const node of this.nodes) {
      const count = this.counts.get(node.name);
      context.fillStyle = G.color('panel');
      context.strokeStyle = G.color(node.target ? 'accent' : 'edge');
      context.lineWidth = node.target ? 2 : 1;
      context.beginPath();
      context.roundRect(node.x, node.y, NODE.width, NODE.height, 6);
      context.fill();
      context.stroke();
      context.fillStyle = G.color('text');
      context.fillText(fit(context, G.shortName(node.name), NODE.width - 20), node.x + 10, node.y + 14);
      context.fillStyle = G.color('soft');
      context.fillText(fit(context, count ? `${node.op}, ${G.progress(count)}` : node.op, NODE.width - 20), node.x + 10, node.y + 29);
      if (count) {
        const all = G.states.reduce((sum, state) => sum + count[state], 0);
        let x = node.x + 10;
        context.fillStyle = G.color('idle');
        context.fillRect(x, node.y + 37, NODE.width - 20, 3);
        for (const [state, color] of [['succeeded', 'run'], ['running', 'store'], ['failed', 'bad'], ['cancelled', 'bad']]) {
          const width = (NODE.width - 20) * count[state] / (all || 1);
          context.fillStyle = G.color(color);
          context.fillRect(x, node.y + 37, width, 3);
          x += width;
        }
      }
    }
    this.canvas.setAttribute('aria-label', `Graph of ${this.nodes.length} operators. The table of nodes has what each has done.`);
  }
};

function fit(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  while (text.length > 1 && context.measureText(`${text}…`).width > width) text = text.slice(0, -1);
  return `${text}…`;
}

G.states = ['waiting', 'ready', 'running', 'parked', 'away', 'succeeded', 'failed', 'cancelled'];
G.progress = count => `${G.short(count.succeeded)} of ${G.short(G.states.reduce((sum, state) => sum + count[state], 0))}`;
