'use strict';
// What happened, unpacked. The order of these lists is that of the enums in story/mod.rs.
const DOING = ['new', 'ready', 'runs', 'receives', 'sends', 'selects', 'locks', 'joins', 'calls', 'sleeps', 'waits'];
const KIND = ['turn', 'spawn', 'wake', 'end', 'begin', 'does', 'fail', 'choice', 'mark'];
const CARRIES = ['wake', 'value', 'spawn', 'call'];
const data = JSON.parse(document.getElementById('data').textContent);
const text = data.strings;
const rows = data.rows.map(([name, co, site, spawned], index) => ({
  index, name: text[name], co, site: site < 0 ? null : text[site], spawned, spans: [], moments: [], arrows: [],
}));
let clock = 0;
const moments = data.at.map((step, index) => {
  clock += step;
  const [by, to] = [data.by[index], data.to[index]];
  const moment = {index, at: clock, core: data.core[index], by: rows[by] || null, to: rows[to] || null,
    kind: KIND[data.kind[index]], text: text[data.text[index]]};
  if (moment.by) moment.by.moments.push(moment);
  if (moment.to && moment.to !== moment.by) moment.to.moments.push(moment);
  return moment;
});
const last = moments.length;
const began = last ? moments[0].at : 0;
const ended = last ? moments[last - 1].at : 0;
const cores = [];
for (let i = 0; i < data.spans.length; i += 5) {
  const [row, doing, words, from, to] = data.spans.slice(i, i + 5);
  const span = {row: rows[row], doing: DOING[doing], text: text[words], from, to: to < 0 ? last : to, open: to < 0};
  span.core = moments[from].core;
  span.row.spans.push(span);
  if (span.doing === 'runs') (cores[span.core] ||= []).push(span);
}
const arrows = [];
for (let i = 0; i < data.arrows.length; i += 6) {
  const [carries, fromRow, from, toRow, to, words] = data.arrows.slice(i, i + 6);
  const arrow = {carries: CARRIES[carries], fromRow: rows[fromRow], from, toRow: rows[toRow], to, text: text[words]};
  arrows.push(arrow);
  arrow.fromRow.arrows.push(arrow);
  if (arrow.toRow !== arrow.fromRow) arrow.toRow.arrows.push(arrow);
}
const atOf = moment => moment < last ? moments[moment].at : ended;
const who = moment => moment.by ? moment.by.name : 'outside';
const sentence = moment => who(moment) + ' ' + (moment.kind === 'mark' ? 'says: ' : '') + moment.text;

// 1234567 ns as 1.235 ms.
function duration(ns) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]])
    if (Math.abs(ns) >= size) return +(ns / size).toPrecision(4) + ' ' + unit;
  return +ns.toPrecision(4) + ' ns';
}
