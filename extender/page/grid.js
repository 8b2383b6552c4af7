// The nodes, one below the other: only the rows that can be seen exist, as there may be 5,000.

import { drawCard, fullness } from "./cards.js";
import { el, onceAFrame } from "./dom.js";
import { percent, plural } from "./format.js";

/** In pixels. */
const kSizes = {
  large: { card: 72, least: 205, gap: 8, head: 28, below: 16 },
  compact: { card: 41, least: 100, gap: 4, head: 19, below: 9 },
};
const kCompactFrom = 200; // cards: more do not fit on a few screens
const kBeyond = 300; // pixels drawn above and below the screen
const kPage = 10; // rows

const named = (node, size) => size !== kSizes.compact || node.cards.some(({ model }) => model !== node.cards[0].model);

const models = (node) => {
  const counts = new Map();
  for (const card of node.cards) counts.set(card.model, (counts.get(card.model) ?? 0) + 1);
  return [...counts].map(([model, number]) => `${number} × ${model}`).join(", ");
};

function nodeFacts(node) {
  if (node.cards.length === 0) return "reports no card";
  const cpu = `${Math.floor(node.freeCpuMilli / 1000)} of ${Math.floor(node.cpuMilli / 1000)} CPUs free`;
  return `${percent(fullness(node.sum), 1)} granted · ${models(node)} · ${plural(node.pods, "pod")} · ${cpu}`;
}

export class Grid {
  #root;
  #open;
  #rows = []; // nodes that are shown
  #places = new Map(); // index by name
  #tops = [0];
  #drawn = new Map(); // by name: {element, cards: [{card, cell}]}
  #matcher = { active: false };
  #size = kSizes.large;
  #columns = 1;
  #active = null; // {node, uuid}: where the keyboard is
  #draw = onceAFrame(() => this.#render());

  /** @param open(node, uuid, share)  share: its place on the card, or null for the card itself */
  constructor(root, open) {
    this.#root = root;
    this.#open = open;
    root.addEventListener("click", (event) => this.#clicked(event));
    root.addEventListener("keydown", (event) => this.#pressed(event));
    root.addEventListener("focusin", (event) => this.#focused(event));
    window.addEventListener("scroll", this.#draw, { passive: true });
    new ResizeObserver(() => this.#layout()).observe(root.parentElement);
  }

  /** Shows these nodes. @param size  "large", "compact" or "" */
  show(rows, matcher, size, cards) {
    this.#rows = rows;
    this.#matcher = matcher;
    const name = size || (cards > kCompactFrom ? "compact" : "large");
    this.#size = kSizes[name];
    this.#root.className = name;
    this.#places = new Map(rows.map((node, index) => [node.name, index]));
    for (const name of [...this.#drawn.keys()]) this.#erase(name);
    this.#layout();
  }

  /** The same rows, but for these nodes as they are now. */
  refresh(rows, changed) {
    this.#rows = rows;
    for (const name of changed) {
      const index = this.#places.get(name);
      if (index !== undefined && this.#drawn.has(name)) this.#update(rows[index]);
    }
  }

  /** Names of the nodes on the screen. */
  onScreen() {
    const [first, last] = this.#range(0);
    return this.#rows.slice(first, last).map((node) => node.name);
  }

  onDrawn = () => {};

  scrollTo(name) {
    const index = this.#places.get(name);
    if (index === undefined) return;
    window.scrollTo({ top: this.#offset() + this.#tops[index] - 8 });
    this.#activate(index, 0, false);
  }

  #offset() {
    return this.#root.getBoundingClientRect().top + window.scrollY;
  }

  #layout() {
    const { card, least, gap, head, below } = this.#size;
    const width = this.#root.parentElement.clientWidth;
    const most = this.#rows.reduce((number, node) => Math.max(number, node.cards.length), 1);
    this.#columns = Math.max(1, Math.min(most, Math.floor((width + gap) / (least + gap))));
    this.#tops = new Array(this.#rows.length + 1).fill(0);
    this.#rows.forEach((node, index) => {
      const lines = Math.ceil(node.cards.length / this.#columns);
      this.#tops[index + 1] = this.#tops[index] + head + lines * (card + gap) + below;
    });
    const style = this.#root.style;
    style.height = `${this.#tops.at(-1)}px`;
    style.setProperty("--card", `${card}px`);
    style.setProperty("--gap", `${gap}px`);
    style.setProperty("--head", `${head}px`);
    style.setProperty("--columns", this.#columns);
    this.#root.setAttribute("aria-rowcount", this.#rows.length);
    this.#root.setAttribute("aria-colcount", most + 1);
    for (const [name, row] of this.#drawn) this.#place(row.element, this.#places.get(name));
    this.#draw();
  }

  /** First row and the one after the last between `beyond` above and below the screen. */
  #range(beyond) {
    const top = -this.#root.getBoundingClientRect().top;
    const find = (at) => {
      let [low, high] = [0, this.#rows.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.#tops[middle + 1] <= at) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    return [find(top - beyond), Math.min(find(top + window.innerHeight + beyond) + 1, this.#rows.length)];
  }

  #render() {
    const [first, last] = this.#range(kBeyond);
    const focused = this.#active?.node;
    for (const name of [...this.#drawn.keys()]) {
      const index = this.#places.get(name);
      if (name !== focused && (index < first || index >= last)) this.#erase(name);
    }
    for (let index = first; index < last; ++index) this.#ensure(index);
    this.#offerFocus(first);
    this.onDrawn();
  }

  #ensure(index) {
    const node = this.#rows[index];
    if (!this.#drawn.has(node.name)) this.#drawn.set(node.name, this.#row(node, index));
    return this.#drawn.get(node.name);
  }

  #erase(name) {
    this.#drawn.get(name).element.remove();
    this.#drawn.delete(name);
  }

  #place(element, index) {
    element.style.transform = `translateY(${this.#tops[index]}px)`;
    element.setAttribute("aria-rowindex", index + 1);
  }

  #row(node, index) {
    const cards = node.cards.map((card, number) => ({ card, cell: drawCard(card, number, this.#matcher, named(node, this.#size)) }));
    const head = el("div", { class: "node-head", role: "rowheader", "aria-colindex": 1 });
    const element = el(
      "div",
      { class: "node", role: "row", "data-node": node.name },
      head,
      el("div", { class: "node-cards", role: "presentation" }, cards.map(({ cell }) => cell)),
    );
    this.#title(head, node);
    this.#place(element, index);
    // In the order of the rows, which is that of screen readers.
    const after = [...this.#root.children].find((other) => Number(other.getAttribute("aria-rowindex")) > index + 1);
    this.#root.insertBefore(element, after ?? null);
    return { element, head, cards };
  }

  #title(head, node) {
    const own = node.trouble.filter((word) => !["unhealthy", "cordoned", "over-granted"].includes(word));
    head.replaceChildren(
      el("span", { class: "node-name" }, node.name),
      ...own.map((word) => el("span", { class: "badge" }, `⚠ ${word}`)),
      el("span", { class: "node-facts" }, nodeFacts(node)),
    );
  }

  /** Draws the cards anew that changed; where the keyboard was, it stays. */
  #update(node) {
    const row = this.#drawn.get(node.name);
    this.#title(row.head, node);
    node.cards.forEach((card, number) => {
      const drawn = row.cards[number];
      if (drawn.card === card) return;
      const cell = drawCard(card, number, this.#matcher, named(node, this.#size));
      cell.classList.add("changed");
      const focused = drawn.cell.contains(document.activeElement) ? document.activeElement : null;
      drawn.cell.replaceWith(cell);
      row.cards[number] = { card, cell };
      if (this.#isActive(node.name, card.uuid)) this.#makeActive(cell);
      if (focused) (cell.querySelector(`[data-share="${focused.dataset.share}"]`) ?? cell).focus({ preventScroll: true });
    });
  }

  #isActive(name, uuid) {
    return this.#active?.node === name && this.#active.uuid === uuid;
  }

  /** Tab reaches one card, and from there the pods on it. */
  #makeActive(cell) {
    for (const other of this.#root.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
    for (const tile of cell.querySelectorAll("button.tile")) tile.tabIndex = 0;
  }

  #offerFocus(first) {
    const row = this.#drawn.get(this.#active?.node);
    const cell = row?.cards.find(({ card }) => card.uuid === this.#active.uuid)?.cell;
    const some = this.#rows.findIndex((node, index) => index >= first && node.cards.length > 0);
    const offered = cell ?? this.#drawn.get(this.#rows[some]?.name)?.cards[0]?.cell;
    if (offered && offered.tabIndex !== 0) this.#makeActive(offered);
  }

  #activate(index, number, focus = true) {
    const node = this.#rows[index];
    if (!node || node.cards.length === 0) return;
    const row = this.#ensure(index);
    const at = Math.min(number, node.cards.length - 1);
    const { card, cell } = row.cards[at];
    this.#active = { node: node.name, uuid: card.uuid };
    this.#makeActive(cell);
    if (!focus) return;
    cell.focus({ preventScroll: true });
    row.element.scrollIntoView({ block: "nearest" });
    cell.scrollIntoView({ block: "nearest" });
  }

  #focused(event) {
    const cell = event.target.closest(".card");
    if (!cell) return;
    this.#active = { node: cell.closest(".node").dataset.node, uuid: cell.dataset.uuid };
    this.#makeActive(cell);
  }

  /** What an element stands for: {node, card, number, share}, or null. */
  meant(element) {
    const cell = element.closest?.(".card");
    if (!cell) return null;
    const node = this.#rows[this.#places.get(cell.closest(".node").dataset.node)];
    const number = node?.cards.findIndex((card) => card.uuid === cell.dataset.uuid) ?? -1;
    if (number < 0) return null;
    const card = node.cards[number];
    const place = element.closest(".tile")?.dataset.share;
    return { node, card, number, share: place === undefined ? null : card.pods[place] ?? null };
  }

  #clicked(event) {
    const meant = this.meant(event.target);
    if (meant) this.#open(meant, event.target.closest(".tile, .card"));
  }

  #pressed(event) {
    const meant = this.meant(event.target);
    if (!meant || event.altKey || event.metaKey) return;
    const onTile = event.target.classList.contains("tile");
    if (event.key === "Enter" || event.key === " ") {
      if (onTile) return; // a button of its own
      this.#open(meant, event.target);
    } else if (!this.#move(event, this.#places.get(meant.node.name), meant.number)) {
      return;
    }
    event.preventDefault();
  }

  #move({ key, ctrlKey }, index, number) {
    const last = this.#rows.length - 1;
    // Rows without cards are passed over.
    const row = (from, step) => {
      let at = Math.max(0, Math.min(last, from));
      while (this.#rows[at]?.cards.length === 0) at += step;
      return this.#rows[at] ? at : index;
    };
    const moves = {
      ArrowRight: () => (number + 1 < this.#rows[index].cards.length ? [index, number + 1] : index < last && [row(index + 1, 1), 0]),
      ArrowLeft: () => (number > 0 ? [index, number - 1] : index > 0 && [row(index - 1, -1), Infinity]),
      ArrowDown: () => index < last && [row(index + 1, 1), number],
      ArrowUp: () => index > 0 && [row(index - 1, -1), number],
      PageDown: () => [row(index + kPage, -1), number],
      PageUp: () => [row(index - kPage, 1), number],
      Home: () => (ctrlKey ? [row(0, 1), 0] : [index, 0]),
      End: () => (ctrlKey ? [row(last, -1), Infinity] : [index, Infinity]),
    };
    if (!moves[key]) return false;
    const to = moves[key]();
    if (to) this.#activate(...to);
    return true;
  }
}
