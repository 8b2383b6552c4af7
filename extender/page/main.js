// The page: what the server sends goes to the store, and from there to the views.

import { cardSentence, shareSentence } from "./cards.js";
import { giveLooks } from "./colours.js";
import { Details } from "./details.js";
import { el, keep, onceAFrame } from "./dom.js";
import { makeMatcher, kFields, readFilter, writeFilter } from "./filter.js";
import { count, inNumber, percent, plural } from "./format.js";
import { Grid } from "./grid.js";
import { Minimap } from "./minimap.js";
import { cannotRead, noCards, noPods, nothingMatches } from "./notices.js";
import { Store } from "./store.js";
import { Stream } from "./stream.js";
import { drawLegend, drawWaiting } from "./waiting.js";

const kOverviewFrom = 2; // nodes
const at = (id) => document.getElementById(id);

const store = new Store();
const details = new Details(at("details"));
const grid = new Grid(at("grid"), open);
const minimap = new Minimap(at("map"), (name) => grid.scrollTo(name));
const form = at("filter");
let filter = readFilter(location.search);
let matcher = makeMatcher(filter, store.namespaces);
let read = false; // the packing has been read

function open(meant, from) {
  if (meant.share) details.pod(meant.share, from);
  else details.card(meant, from);
}

function drawTotals() {
  const { nodes, cards, mem, memGranted, milli, milliGranted, shares } = store.totals;
  const rows = [
    [inNumber(nodes, "node"), count(nodes)],
    [inNumber(cards, "card"), count(cards)],
    ["memory granted", percent(memGranted, mem)],
    ["compute granted", percent(milliGranted, milli)],
    [inNumber(shares, "share"), count(shares)],
    ["waiting", count(store.pending.size)],
  ];
  at("totals").replaceChildren(...rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function drawSide() {
  drawWaiting(at("waiting"), store.pending.values(), matcher, (pod, from) => details.pod(pod, from));
  drawLegend(at("legend"), store.namespaces, filter.namespace, (clicked) =>
    change({ ...filter, namespace: clicked === filter.namespace ? "" : clicked }),
  );
  for (const [id, names] of [["models", store.models], ["namespaces", store.namespaces]]) {
    keep(at(id), [...names.keys()].sort(), (value) => value, (value) => el("option", { value }));
  }
}

function notice(rows) {
  if (!read) return null;
  if (store.totals.cards === 0) return noCards();
  if (matcher.active && rows.length === 0) return nothingMatches(clear);
  return store.totals.shares === 0 && store.pending.size === 0 ? noPods() : null;
}

/** The rows that the filter leaves, drawn anew. */
function drawRows() {
  matcher = makeMatcher(filter, store.namespaces);
  const all = store.sorted();
  const rows = matcher.active ? all.filter(matcher.node) : all;
  at("grid").hidden = rows.length === 0;
  at("overview").hidden = all.length < kOverviewFrom;
  at("notice").replaceChildren(notice(rows) ?? "");
  at("found").textContent = matcher.active && read ? `${plural(rows.length, "node")} of ${count(all.length)}` : "";
  grid.show(rows, matcher, filter.size, store.totals.cards);
  minimap.update({ nodes: all, totals: store.totals, shown: matcher.active ? matcher.node : () => true });
}

function drawAll() {
  giveLooks(store.namespaces.keys());
  drawTotals();
  drawRows();
  drawSide();
  details.refresh(store);
}

function reset(packing) {
  store.reset(packing);
  read = true;
  drawAll();
  performance.mark("tangram-drawn");
}

function apply(event) {
  const had = store.totals.shares + store.pending.size;
  const { changed, rows } = store.apply(event);
  giveLooks(store.namespaces.keys());
  const first = had === 0 || store.totals.shares + store.pending.size === 0;
  if (rows || matcher.active || first) {
    drawRows();
  } else {
    grid.refresh(store.sorted(), changed);
    minimap.update({ nodes: store.sorted(), totals: store.totals });
  }
  drawTotals();
  drawSide();
  details.refresh(store);
}

function state(name, sentence) {
  at("connection").dataset.state = name;
  at("connection").textContent = sentence;
  if (name === "lost" && !read) at("notice").replaceChildren(cannotRead(sentence));
}

function fillForm() {
  for (const field of kFields) form.elements[field].value = filter[field];
}

function change(to) {
  filter = to;
  history.replaceState(null, "", location.pathname + writeFilter(filter) + location.hash);
  fillForm();
  drawRows();
  drawSide();
}

function clear() {
  change({ ...readFilter(""), size: filter.size });
}

const typed = onceAFrame(() => change(Object.fromEntries(kFields.map((field) => [field, form.elements[field].value.trimStart()]))));
form.addEventListener("input", typed);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  clear();
});
window.addEventListener("popstate", () => change(readFilter(location.search)));
grid.onDrawn = () => minimap.update({ onScreen: grid.onScreen() });

/** What is under the pointer or the keyboard, in a word. */
function describe(element) {
  const tip = at("tip");
  const meant = grid.meant(element);
  tip.hidden = !meant;
  if (!meant) return;
  const { node, card, number, share } = meant;
  const text = share ? shareSentence(share, card) : cardSentence(card, number);
  const [title, rest] = share ? [`${share.namespace}/${share.name}`, text.slice(text.indexOf(",") + 2)] : [`Card ${number} of ${node.name}`, text.slice(text.indexOf(",") + 2)];
  tip.replaceChildren(el("b", {}, title), rest, card.reason ? ` (${card.reason})` : "");
  const box = element.getBoundingClientRect();
  const below = box.bottom + tip.offsetHeight + 8 < window.innerHeight;
  const left = Math.max(4, Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 4));
  tip.style.transform = `translate(${left}px, ${below ? box.bottom + 6 : Math.max(0, box.top - tip.offsetHeight - 6)}px)`;
}

at("grid").addEventListener("pointerover", (event) => describe(event.target.closest(".tile, .card") ?? at("grid")));
at("grid").addEventListener("pointerleave", () => (at("tip").hidden = true));
at("grid").addEventListener("focusin", (event) => event.target.matches(":focus-visible") && describe(event.target));
at("grid").addEventListener("focusout", () => (at("tip").hidden = true));
window.addEventListener("scroll", () => (at("tip").hidden = true), { passive: true });

// On a phone the lists beside the cards stand above them: closed, they leave room.
if (matchMedia("(max-width: 56rem)").matches) {
  at("waiting").open = false;
  at("legend").open = false;
}

fillForm();
new Stream({ reset, apply, state }).load();
