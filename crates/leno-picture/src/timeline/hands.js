// What one does with it: zoom, move, find, point, pick.
const byId = id => document.getElementById(id);
const details = byId('details'), find = byId('find');

function show(from, to) {
  const all = whole(), least = Math.min(all, view.order ? 4 : 10), most = all * 1.02;
  const length = Math.min(Math.max(to - from, least), most);
  const start = Math.min(Math.max((from + to - length) / 2, -all * .01), all * 1.01 - length);
  [view.from, view.to] = [start, start + length];
  draw();
}
const fit = () => show(-whole() * .01, whole() * 1.01);
function zoom(factor, at = (view.from + view.to) / 2) {
  const length = Math.min(Math.max((view.to - view.from) * factor, view.order ? 4 : 10), whole() * 1.02);
  const part = (at - view.from) / (view.to - view.from);
  show(at - part * length, at + (1 - part) * length);
}
const pan = part => { const by = (view.to - view.from) * part; show(view.from + by, view.to + by); };
const scroll = by => { view.top = Math.max(0, Math.min(view.top + by, hidden())); draw(); };

function setOrder(order) {
  if (order !== view.order) {
    // The same events stay in sight.
    const ends = [view.from, view.to].map(at => {
      if (view.order) return Math.max(0, Math.min(last, Math.round(at)));
      const next = moments.findIndex(m => m.at - began >= at);
      return next < 0 ? last : next;
    });
    view.order = order;
    const [from, to] = ends.map(position);
    to > from ? show(from, to) : fit();
  }
  byId('time').setAttribute('aria-pressed', !view.order);
  byId('order').setAttribute('aria-pressed', view.order);
  draw();
}

// Brings something into view and tells of it.
function pick(what, move = false) {
  picked = what;
  tell();
  size();
  if (what && move) {
    const row = what.row || (what.span && what.span.row) || (what.moment && (what.moment.by || what.moment.to)) || (what.arrow && what.arrow.toRow);
    if (row && row.lane < 0) { find.value = ''; arrange(''); }
    if (row && (middle(row.lane) < AXIS + ROW || middle(row.lane) > view.high - ROW)) scroll(middle(row.lane) - view.high / 2);
    const at = what.moment ? what.moment.index : what.span ? what.span.from : what.arrow ? what.arrow.to : null;
    if (at !== null) {
      const where = position(at), length = view.to - view.from;
      if (where < view.from + length * .05 || where > view.to - length * .05) show(where - length / 2, where + length / 2);
    }
  }
  draw();
}

function element(name, words, parent) {
  const made = document.createElement(name);
  if (words !== undefined) made.textContent = words;
  if (parent) parent.append(made);
  return made;
}
function link(words, what) {
  const made = element('a', words);
  made.tabIndex = 0;
  made.onclick = () => pick(what, true);
  made.onkeydown = event => { if (event.key === 'Enter') pick(what, true); };
  return made;
}
const rowLink = row => row ? link(row.name, {row}) : 'outside';
const momentLink = index => index < last ? link(sentence(moments[index]), {moment: moments[index]}) : 'the log ends here';
const when = index => duration(atOf(index) - began) + (index < last ? ' (event ' + index + ')' : '');
const took = (from, to) => duration(atOf(to) - atOf(from)) + ', ' + (to - from) + ' events';

function tell() {
  details.hidden = !picked;
  details.replaceChildren();
  if (!picked) return;
  const close = element('button', '×', details);
  close.id = 'close';
  close.ariaLabel = 'close';
  close.onclick = () => pick(null);
  const heading = element('h2', '', details), what = element('p', '', details), list = element('dl', '', details);
  what.className = 'what';
  const fact = (name, ...values) => {
    element('dt', name, list);
    element('dd', undefined, list).append(...values);
  };
  const {row, span, moment, arrow} = picked;
  if (row) {
    heading.textContent = row.name;
    what.textContent = 'coroutine ' + row.co;
    const sum = doing => row.spans.filter(s => doing(s.doing)).reduce((all, s) => all + atOf(s.to) - atOf(s.from), 0);
    const end = row.moments.find(m => m.kind === 'end'), now = row.spans[row.spans.length - 1];
    if (row.site) fact('spawned at', row.site);
    if (row.spawned >= 0) fact('spawned by', rowLink(moments[row.spawned].by), ', ' + when(row.spawned));
    fact('ran', duration(sum(d => d === 'runs')) + ' in ' + row.spans.filter(s => s.doing === 'runs').length + ' turns');
    fact('was ready', duration(sum(d => d === 'ready')));
    fact('waited', duration(sum(d => !['new', 'ready', 'runs'].includes(d))));
    if (end) fact('ended', link(end.text.replace('ends: ', ''), {moment: end}), ', ' + when(end.index));
    else if (now && now.open) fact('at the end', link(now.text, {span: now}));
    events(row);
  } else if (span) {
    heading.textContent = span.row.name + ' ' + span.text;
    what.replaceChildren(rowLink(span.row));
    fact('from', when(span.from));
    fact('to', when(span.to));
    fact('lasted', took(span.from, span.to));
    fact('core', span.core);
    fact('began', momentLink(span.from));
    fact('until', momentLink(span.to));
    if (span.row.site) fact('spawned at', span.row.site);
    events(span.row, span.from);
  } else if (moment) {
    heading.textContent = sentence(moment);
    what.textContent = 'event ' + moment.index + ' of ' + last;
    fact('at', duration(moment.at - began));
    fact('core', moment.core);
    fact('by', rowLink(moment.by));
    if (moment.to) fact('whom', rowLink(moment.to));
    const site = moment.kind === 'spawn' && moment.to ? moment.to.site : null;
    if (site) fact('spawned at', site);
    if (moment.by || moment.to) events(moment.by || moment.to, moment.index);
  } else if (arrow) {
    heading.textContent = {wake: 'wake-up', value: arrow.text, spawn: 'spawning', call: 'call'}[arrow.carries];
    what.replaceChildren(rowLink(arrow.fromRow), ' to ', rowLink(arrow.toRow));
    fact('from', momentLink(arrow.from), ', ' + when(arrow.from));
    if (arrow.to !== arrow.from) {
      fact('to', momentLink(arrow.to), ', ' + when(arrow.to));
      fact('took', took(arrow.from, arrow.to));
    }
    const turn = arrow.toRow.spans.find(s => s.doing === 'runs' && s.from >= arrow.to);
    if (turn && arrow.carries !== 'value') fact('it runs', link('after ' + duration(atOf(turn.from) - atOf(arrow.to)), {span: turn}));
  }
}

// The events of a row, around one of them.
function events(row, index) {
  const list = element('ol', undefined, details);
  const at = index === undefined ? 0 : Math.max(0, row.moments.findIndex(m => m.index >= index));
  const from = index === undefined ? 0 : Math.max(0, at - 8);
  for (const moment of row.moments.slice(from, from + 200)) {
    const item = element('li', undefined, list);
    element('time', duration(moment.at - began), item);
    element('span', moment.by === row ? moment.text : sentence(moment), item);
    if (moment.index === index) item.className = 'here';
    item.onclick = () => pick({moment}, true);
  }
}

// The next event of the row that is looked at.
function turnTo(by) {
  const row = picked && (picked.row || (picked.span && picked.span.row) || (picked.moment && (picked.moment.by || picked.moment.to)) || picked.arrow.toRow);
  const list = row ? row.moments : moments;
  if (!list.length) return;
  const index = picked && (picked.moment ? picked.moment.index : picked.span ? picked.span.from : picked.arrow ? picked.arrow.to : -1);
  const at = index === null || index < 0 ? -1 : list.findIndex(m => m.index >= index);
  pick({moment: list[Math.max(0, Math.min(list.length - 1, at + by))]}, true);
}

function hit(x, y) {
  let best = null;
  for (const target of targets) {
    if (target.line ? near(target.line, x, y) < 4 : x >= target.left && x <= target.right && y >= target.top && y <= target.bottom) {
      // Points lie over arrows, and those over bars.
      const rank = target.pick.row ? 3 : target.pick.moment ? 2 : target.pick.arrow ? 1 : 0;
      if (x < view.names ? target.pick.row : !best || rank >= best.rank) best = {rank, pick: target.pick};
    }
  }
  return best && best.pick;
}
function near([x0, y0, x1, y1], x, y) {
  const [dx, dy] = [x1 - x0, y1 - y0], part = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x0 - part * dx, y - y0 - part * dy);
}
function hintOf(what) {
  if (what.row) return what.row.name + (what.row.site ? ' · ' + what.row.site : '');
  if (what.span) return what.span.row.name + ' ' + what.span.text + ' · ' + duration(atOf(what.span.to) - atOf(what.span.from));
  if (what.moment) return sentence(what.moment);
  return what.arrow.fromRow.name + ' → ' + what.arrow.toRow.name + ' · ' + (what.arrow.carries === 'wake' ? 'wake-up' : what.arrow.text);
}

const at = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
let held = null;
canvas.onpointerdown = event => {
  const [x, y] = at(event);
  held = {x, y, from: view.from, to: view.to, top: view.top, moved: false};
  canvas.setPointerCapture(event.pointerId);
};
canvas.onpointermove = event => {
  const [x, y] = at(event);
  if (held) {
    if (Math.hypot(x - held.x, y - held.y) > 4) held.moved = true;
    if (held.moved) {
      const by = (held.x - x) / scale();
      view.top = Math.max(0, Math.min(held.top + held.y - y, hidden()));
      show(held.from + by, held.to + by);
      canvas.style.cursor = 'grabbing';
    }
    return;
  }
  over = hit(x, y);
  canvas.style.cursor = over ? 'pointer' : 'default';
  hint.style.display = over ? 'block' : 'none';
  if (over) {
    hint.textContent = hintOf(over);
    hint.style.left = Math.max(4, Math.min(x + 14, view.wide - hint.offsetWidth - 8)) + 'px';
    hint.style.top = (y + 22 + hint.offsetHeight > view.high ? y - hint.offsetHeight - 10 : y + 18) + 'px';
  }
};
canvas.onpointerup = event => {
  if (held && !held.moved) pick(hit(...at(event)));
  held = null;
  canvas.style.cursor = 'default';
};
canvas.onpointerleave = () => hint.style.display = 'none';
canvas.ondblclick = event => zoom(.4, toAt(at(event)[0]));
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  const unit = event.deltaMode ? 20 : 1, [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
  if (event.ctrlKey || event.metaKey || event.altKey || (!event.shiftKey && !hidden() && Math.abs(dy) > Math.abs(dx)))
    zoom(Math.exp(Math.max(-.5, Math.min(.5, dy * .004))), toAt(at(event)[0]));
  else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) pan((dx || dy) / view.wide);
  else scroll(dy);
}, {passive: false});

const KEYS = {
  ArrowLeft: () => pan(-.15), a: () => pan(-.15), ArrowRight: () => pan(.15), d: () => pan(.15),
  w: () => zoom(.7), '+': () => zoom(.7), '=': () => zoom(.7), s: () => zoom(1.4), '-': () => zoom(1.4),
  ArrowUp: () => scroll(-ROW), ArrowDown: () => scroll(ROW), PageUp: () => scroll(100 - view.high), PageDown: () => scroll(view.high - 100),
  0: fit, t: () => setOrder(false), o: () => setOrder(true), n: () => turnTo(1), p: () => turnTo(-1),
  '/': () => find.focus(), Escape: () => pick(null),
};
document.onkeydown = event => {
  if (event.target === find) {
    if (event.key === 'Escape') { find.value = ''; find.oninput(); canvas.focus(); }
    if (event.key === 'Enter') { const lane = lanes.find(lane => lane.row); if (lane) pick({row: lane.row}, true); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
};
find.oninput = () => { view.top = 0; arrange(find.value); size(); draw(); };
byId('time').onclick = () => setOrder(false);
byId('order').onclick = () => setOrder(true);
byId('in').onclick = () => zoom(.5);
byId('out').onclick = () => zoom(2);
byId('fit').onclick = fit;

function legend() {
  const foot = byId('legend'), used = new Set(rows.flatMap(row => row.spans.map(span => span.doing)));
  const words = {new: 'not begun', ready: 'ready', runs: 'running', receives: 'waits to receive', sends: 'waits to send', selects: 'waits in select',
    locks: 'waits for a lock', joins: 'waits for an end', calls: 'calls', sleeps: 'sleeps', waits: 'waits otherwise'};
  for (const doing of DOING.filter(doing => used.has(doing))) {
    const key = element('span', undefined, foot), box = element('i', undefined, key);
    key.className = 'key';
    const hue = 'var(--' + doing + ')';
    if (doing === 'runs') box.style.background = hue;
    else { box.style.cssText = `background:color-mix(in srgb,${hue} ${doing === 'ready' ? 32 : 18}%,transparent);border-bottom:2px solid ${hue}`; }
    key.append(words[doing]);
  }
  const carried = new Set(arrows.map(arrow => arrow.carries));
  for (const [kind, name] of [['wake', 'wake-ups'], ['value', 'values'], ['spawn', 'spawns'], ['call', 'calls'], ['mark', 'marks']]) {
    if (kind === 'mark' ? !moments.some(m => m.kind === 'mark') : !carried.has(kind)) continue;
    const key = element('label', undefined, foot), box = element('input', undefined, key), sign = element('span', kind === 'mark' ? '◆' : '→', key);
    key.className = 'key';
    box.type = 'checkbox';
    box.checked = true;
    sign.style.cssText = `color:var(--${kind});font-weight:bold`;
    key.append(name);
    box.onchange = () => { shown[kind] = box.checked; draw(); };
  }
  const keys = element('span', undefined, foot);
  keys.id = 'keys';
  for (const [key, does] of [['wheel', 'scroll'], ['ctrl+wheel', 'zoom'], ['drag', 'move'], ['w s a d', ''], ['n p', 'events'], ['t o', 'axis'], ['/', 'find']]) {
    element('kbd', key, keys);
    keys.append(' ' + does + ' ');
  }
}

function start() {
  byId('about').textContent = `${rows.length} coroutines, ${last} events, ${duration(ended - began)}`;
  if (data.lost) element('b', ` · ${data.lost} older events were not kept, so values are not drawn`, byId('about'));
  readColours();
  legend();
  size();
  arrange('');
  size();
  setOrder(view.order);
  fit();
  new ResizeObserver(() => { size(); drawNow(); }).observe(canvas.parentElement);
  matchMedia('(prefers-color-scheme:dark)').addEventListener('change', () => { readColours(); draw(); });
  // file.html#order&find=cook&event=12 opens it there.
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
    if (key === 'order' || key === 'time') setOrder(key === 'order');
    if (key === 'find') { find.value = value; find.oninput(); }
    if (key === 'from') show(+value, view.to);
    if (key === 'to') show(view.from, +value);
    if (key === 'event' && moments[value]) pick({moment: moments[value]}, true);
    if (key === 'row' && rows[value]) pick({row: rows[value]}, true);
  }
  drawNow();
  document.body.dataset.drawn = targets.length;
}
start();
