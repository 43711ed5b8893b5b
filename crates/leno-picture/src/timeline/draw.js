// Drawing. Positions on the x axis are in nanoseconds or in events; `view` says which part is seen.
const hint = document.getElementById('hint'), canvas = document.getElementById('canvas'), pen = canvas.getContext('2d');
const AXIS = 36;
let ROW = 30, BAR = 18;
const distinct = new Set(moments.map(m => m.at)).size;
const view = {order: distinct * 2 < last, from: 0, to: 1, top: 0, names: 120, wide: 0, high: 0};
const shown = {wake: true, value: true, spawn: true, call: true, mark: true};
let lanes = [], colour = {}, picked = null, over = null, targets = [];

const position = moment => view.order ? moment : atOf(moment) - began;
const whole = () => Math.max(view.order ? last : ended - began, 1);
const scale = () => (view.wide - view.names - 16) / (view.to - view.from);
const toX = at => view.names + 8 + (at - view.from) * scale();
const toAt = x => view.from + (x - view.names - 8) / scale();
const xOf = moment => toX(position(moment));

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['page', 'panel', 'line', 'grid', 'band', 'text', 'quiet', 'accent', 'mark', 'bad', 'pick', 'wake',
    'value', 'spawn', 'call', ...DOING]) colour[name] = style.getPropertyValue('--' + name).trim();
}

// Which rows there are, in order: cores first, if there are several.
function arrange(word) {
  const wanted = word.toLowerCase();
  const found = rows.filter(row => row.name.toLowerCase().includes(wanted) || row.co.includes(wanted));
  const busy = cores.map((spans, core) => ({core, spans: spans || []})).filter(lane => lane.spans.length);
  lanes = [...(busy.length > 1 && !wanted ? busy : []), ...found.map(row => ({row, spans: row.spans}))];
  rows.forEach(row => row.lane = -1);
  lanes.forEach((lane, index) => { if (lane.row) lane.row.lane = index; });
  pen.font = '600 12px ' + FONT;
  const widest = Math.max(60, ...lanes.map(lane => pen.measureText(label(lane)).width));
  view.names = Math.min(Math.ceil(widest) + 30, 230);
  view.top = Math.max(0, Math.min(view.top, hidden()));
}
const FONT = 'system-ui,"Segoe UI","DejaVu Sans",sans-serif';
const label = lane => lane.row ? lane.row.name : 'core ' + lane.core;
const hidden = () => Math.max(0, lanes.length * ROW + AXIS + 8 - view.high);
const middle = lane => AXIS + 4 + lane * ROW + ROW / 2 - view.top;

function size() {
  const box = canvas.parentElement.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  [view.wide, view.high] = [box.width, box.height];
  [canvas.width, canvas.height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  // Few rows are high, many are low.
  ROW = Math.max(30, Math.min(48, Math.floor((view.high - AXIS - 16) / Math.max(1, lanes.length))));
  BAR = Math.round(ROW * .6);
  view.top = Math.max(0, Math.min(view.top, hidden()));
}

let waiting = false;
function draw() {
  hint.style.display = 'none';
  if (!waiting) requestAnimationFrame(() => { waiting = false; drawNow(); });
  waiting = true;
}

function drawNow() {
  targets = [];
  pen.fillStyle = colour.page;
  pen.fillRect(0, 0, view.wide, view.high);
  pen.save();
  pen.beginPath();
  pen.rect(view.names, 0, view.wide - view.names, view.high);
  pen.clip();
  drawAxis();
  pen.beginPath();
  pen.rect(view.names, AXIS, view.wide - view.names, view.high - AXIS);
  pen.clip();
  const first = Math.max(0, Math.floor((view.top - ROW) / ROW)), end = Math.min(lanes.length, Math.ceil((view.top + view.high) / ROW));
  for (let lane = first; lane < end; lane++) drawLane(lanes[lane], middle(lane));
  drawArrows();
  for (let lane = first; lane < end; lane++) if (lanes[lane].row) drawPoints(lanes[lane].row, middle(lane));
  pen.restore();
  drawNames(first, end);
}

// The first of `list` that may be seen: those before end left of the view. Lists are in order.
function firstSeen(list, end) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const half = (low + high) >> 1;
    if (position(end(list[half])) < view.from) low = half + 1; else high = half;
  }
  return low;
}

function drawLane(lane, y) {
  const spans = lane.spans;
  let [edge, drawn] = [-1, ''];
  for (let i = firstSeen(spans, span => span.to); i < spans.length; i++) {
    const span = spans[i], left = xOf(span.from);
    if (left > view.wide) break;
    const right = Math.max(xOf(span.to), left + (span.doing === 'runs' ? 2 : 1));
    // What would cover the same pixel in the same colour is not drawn again.
    if (right <= edge && drawn === span.doing) continue;
    [edge, drawn] = [Math.ceil(right), span.doing];
    drawSpan(span, lane, Math.max(left, view.names - 4), Math.min(right, view.wide + 4), y);
  }
}

function drawSpan(span, lane, left, right, y) {
  const wide = right - left, hue = colour[span.doing], top = y - BAR / 2;
  if (span.doing === 'new') {
    pen.fillStyle = hue;
    pen.fillRect(left, y - 1, wide, 2);
  } else if (span.doing === 'runs') {
    pen.fillStyle = hue;
    pen.beginPath();
    pen.roundRect(left, top, wide, BAR, Math.min(3, wide / 2));
    pen.fill();
  } else {
    pen.fillStyle = hue;
    pen.globalAlpha = span.doing === 'ready' ? .32 : .18;
    pen.fillRect(left, top, wide, BAR);
    pen.globalAlpha = 1;
    pen.fillRect(left, top + BAR - 2, wide, 2);
  }
  const says = lane.row ? span.text : span.row.name;
  if (wide > 34 && (span.doing !== 'runs' || !lane.row)) {
    pen.font = '11px ' + FONT;
    pen.fillStyle = lane.row ? colour.text : '#fff';
    pen.globalAlpha = lane.row ? .8 : 1;
    write(says, left + 5, y, wide - 8);
    pen.globalAlpha = 1;
  }
  if (picked && picked.span === span) frame(left, top, wide, BAR);
  targets.push({left, right: Math.max(right, left + 3), top, bottom: top + BAR, pick: {span}});
}

function frame(left, top, wide, high) {
  pen.strokeStyle = colour.text;
  pen.lineWidth = 2;
  pen.strokeRect(left - 1, top - 1, wide + 2, high + 2);
}

// Text that fits, or its beginning.
const widths = new Map();
function write(words, x, y, room) {
  const key = pen.font + words;
  if (!widths.has(key)) widths.set(key, pen.measureText(words).width);
  if (widths.get(key) > room) {
    const fits = Math.floor(words.length * room / widths.get(key)) - 2;
    if (fits < 3) return;
    words = words.slice(0, fits) + '…';
  }
  pen.textBaseline = 'middle';
  pen.fillText(words, x, y + .5);
}

function drawPoints(row, y) {
  const list = row.moments;
  let edge = -9;
  for (let i = firstSeen(list, m => m.index); i < list.length; i++) {
    const moment = list[i], x = xOf(moment.index);
    if (x > view.wide + 9) break;
    const own = moment.by === row, kind = moment.kind, here = picked && picked.moment === moment;
    const outside = moment.to === row && !moment.by && (kind === 'wake' || kind === 'spawn');
    if (!here && (kind === 'turn' || (own && (kind === 'wake' || kind === 'spawn')) || (!own && !outside))) continue;
    if (kind === 'mark' && !shown.mark) continue;
    if (x - edge < 1.5 && !here && kind !== 'mark') continue;
    edge = x;
    drawPoint(moment, kind, x, y);
    if (here) { pen.beginPath(); pen.arc(x, y, 9, 0, 7); pen.strokeStyle = colour.text; pen.lineWidth = 2; pen.stroke(); }
    targets.push({left: x - 4, right: x + 4, top: y - ROW / 2, bottom: y + BAR / 2, pick: {moment}});
  }
}

function drawPoint(moment, kind, x, y) {
  const top = y - BAR / 2;
  pen.beginPath();
  if (kind === 'mark') {
    pen.moveTo(x, top - 5); pen.lineTo(x + 5, top); pen.lineTo(x, top + 5); pen.lineTo(x - 5, top); pen.closePath();
    pen.fillStyle = colour.mark;
  } else if (kind === 'end') {
    pen.rect(x - 1.5, top - 2, 3, BAR + 4);
    pen.fillStyle = moment.text.includes('returned') ? colour.quiet : colour.bad;
  } else if (kind === 'wake' || kind === 'spawn') {
    pen.moveTo(x, top); pen.lineTo(x - 4, top - 6); pen.lineTo(x + 4, top - 6); pen.closePath();
    pen.fillStyle = colour[kind];
  } else if (kind === 'choice') {
    pen.arc(x, top, 3.5, 0, 7);
    pen.fillStyle = colour.accent;
  } else {
    pen.arc(x, y, kind === 'does' ? 3 : 2, 0, 7);
    pen.fillStyle = kind === 'fail' ? colour.bad : kind === 'does' ? colour.value : colour.page;
  }
  pen.fill();
  if (kind === 'does' || kind === 'begin') { pen.strokeStyle = colour.page; pen.lineWidth = 1; pen.stroke(); }
}

function isOf(arrow) {
  if (!picked) return false;
  if (picked.arrow) return picked.arrow === arrow;
  if (picked.moment) return arrow.from === picked.moment.index || arrow.to === picked.moment.index;
  if (picked.span) {
    const {row, from, to} = picked.span;
    return (arrow.fromRow === row && arrow.from >= from && arrow.from <= to) || (arrow.toRow === row && arrow.to >= from && arrow.to <= to);
  }
  return arrow.fromRow === picked.row || arrow.toRow === picked.row;
}

function drawArrows() {
  const seen = [];
  for (const arrow of arrows) {
    if (!shown[arrow.carries] || arrow.fromRow.lane < 0 || arrow.toRow.lane < 0) continue;
    const [a, b] = [position(arrow.from), position(arrow.to)];
    if (Math.max(a, b) < view.from || Math.min(a, b) > view.to) continue;
    const [y0, y1] = [middle(arrow.fromRow.lane), middle(arrow.toRow.lane)];
    if (Math.max(y0, y1) < AXIS || Math.min(y0, y1) > view.high) continue;
    seen.push([arrow, toX(a), y0, toX(b), y1]);
  }
  // Many fade, so that the bars stay readable; those of what was picked never do.
  const strength = Math.max(.12, Math.min(.95, 160 / seen.length));
  for (const [arrow, ...ends] of seen) {
    const own = isOf(arrow);
    pen.globalAlpha = own ? 1 : picked ? strength * .45 : strength;
    drawArrow(arrow, own, ...ends);
  }
  pen.globalAlpha = 1;
  for (const [arrow, x0, y0, x1, y1] of seen.length < 3000 ? seen : seen.filter(([arrow]) => isOf(arrow)))
    targets.push({line: [x0, y0, x1, y1], pick: {arrow}});
}

function drawArrow(arrow, own, x0, y0, x1, y1) {
  pen.strokeStyle = pen.fillStyle = colour[arrow.carries];
  pen.lineWidth = own ? 2.4 : arrow.carries === 'value' ? 1.7 : 1.2;
  pen.setLineDash(arrow.carries === 'spawn' ? [3, 3] : []);
  const down = Math.sign(y1 - y0) || -1, half = BAR / 2, tip = y1 - down * half;
  pen.beginPath();
  pen.moveTo(x0, y0 + (y0 === y1 ? -half : down * half));
  const bend = Math.min(40, Math.max(12, Math.abs(x1 - x0) / 3));
  if (y0 === y1) pen.quadraticCurveTo((x0 + x1) / 2, y0 - BAR - 8, x1, y1 - half);
  else pen.bezierCurveTo(x0, y0 + down * bend, x1, tip - down * bend, x1, tip);
  pen.stroke();
  pen.setLineDash([]);
  const to = y0 === y1 ? y1 - half : tip, sign = y0 === y1 ? 1 : down;
  pen.beginPath();
  pen.moveTo(x1, to); pen.lineTo(x1 - 3.5, to - sign * 6); pen.lineTo(x1 + 3.5, to - sign * 6);
  pen.fill();
}

function drawNames(first, end) {
  pen.fillStyle = colour.panel;
  pen.fillRect(0, 0, view.names, view.high);
  pen.fillStyle = colour.line;
  pen.fillRect(view.names - 1, 0, 1, view.high);
  pen.save();
  pen.beginPath();
  pen.rect(0, AXIS, view.names, view.high);
  pen.clip();
  for (let lane = first; lane < end; lane++) {
    const y = middle(lane), row = lanes[lane].row;
    if (row && picked && picked.row === row) {
      pen.fillStyle = colour.pick;
      pen.fillRect(0, y - ROW / 2, view.names, ROW);
    }
    pen.fillStyle = row ? colour.text : colour.quiet;
    pen.font = (row ? '600 12px ' : '12px ') + FONT;
    write(label(lanes[lane]), 12, y, view.names - 20);
    if (row) targets.push({left: 0, right: view.names, top: y - ROW / 2, bottom: y + ROW / 2, pick: {row}});
  }
  pen.restore();
  pen.fillStyle = colour.quiet;
  pen.font = '11px ' + FONT;
  write(rows.length > lanes.filter(lane => lane.row).length ? 'some of ' + rows.length : rows.length + ' coroutines', 12, AXIS / 2, view.names - 20);
}

function step(room) {
  const least = (view.to - view.from) * 110 / room, power = 10 ** Math.floor(Math.log10(least));
  const found = [1, 2, 5, 10].find(n => n * power >= least) * power;
  return view.order ? Math.max(1, Math.round(found)) : found;
}

function drawAxis() {
  if (view.order && distinct * 2 < last) drawBands();
  pen.font = '11px ' + FONT;
  const every = step(view.wide - view.names);
  for (let at = Math.max(0, Math.ceil(view.from / every) * every); at <= view.to && at <= whole() + every; at += every) {
    const x = toX(at);
    pen.fillStyle = colour.grid;
    pen.fillRect(x, AXIS, 1, view.high);
    pen.fillStyle = colour.quiet;
    const words = view.order ? '#' + Math.round(at) + (at < last ? '  ' + duration(atOf(at) - began) : '') : duration(at);
    write(words, x + 4, 22, 106);
  }
  pen.fillStyle = colour.line;
  pen.fillRect(view.names, AXIS - 1, view.wide, 1);
  // Which part of all is seen.
  const room = view.wide - view.names - 16, all = whole();
  pen.fillRect(view.names + 8, 6, room, 4);
  pen.fillStyle = colour.accent;
  const left = Math.max(0, view.from / all), right = Math.min(1, view.to / all);
  pen.fillRect(view.names + 8 + left * room, 6, Math.max(4, (right - left) * room), 4);
}

// In order of events: events of the same time stand on the same band, if there are few enough.
function drawBands() {
  let lit = false, start = Math.max(0, Math.floor(view.from));
  const end = Math.min(last, Math.ceil(view.to));
  if (end - start > 4000) return;
  // The parity of a band must not depend on where the view begins.
  for (let i = 1; i <= start && i < last; i++) if (moments[i].at !== moments[i - 1].at) lit = !lit;
  for (let i = start + 1; i <= end; i++) {
    if (i < end && moments[i].at === moments[i - 1].at) continue;
    if (lit) { pen.fillStyle = colour.band; pen.fillRect(toX(start), AXIS, (i - start) * scale(), view.high); }
    [lit, start] = [!lit, i];
  }
}
