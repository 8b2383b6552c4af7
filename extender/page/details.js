// What is known of one card or one pod, beside the cards.

import { el } from "./dom.js";
import { compute, count, memory, percent } from "./format.js";

const kBest = 5; // nodes that would fit, shown for a pending pod

const facts = (rows) =>
  el("dl", {}, rows.filter(Boolean).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

/** @param numbers  places of columns with amounts */
const table = (heads, rows, numbers = []) => {
  const style = (at) => ({ class: numbers.includes(at) ? "number" : null });
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { scope: "col", ...style(at) }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, at) => el("td", style(at), cell))))),
  );
};

const explainTarget = (pod) =>
  `/api/v1/explain?namespace=${encodeURIComponent(pod.namespace)}&pod=${encodeURIComponent(pod.name)}`;

function requestedAmount({ share, count: cards, memMiB, milli, resource }) {
  const of = { whole: "all of it", fraction: `${percent(milli, 1000)} of memory and compute`, replica: `replica of ${resource}` };
  const part = of[share] ?? `${memory(memMiB)}${milli === undefined ? "" : `, ${compute(milli)}`}`;
  return `${count(cards)} × ${part}`;
}

const signature = (key) =>
  ({ unsigned: "not signed", unknown: "not signed by a key that is known here" })[key] ?? `signed by key ${key}`;

const limitedBy = (whole, means) => (whole ? "whole card" : means === "none" ? "nothing" : means);

/** @param card  of the packing: what its agent can do */
function cardLimits({ memoryLimits }) {
  if (memoryLimits === undefined) return null; // an older extender
  return ["Memory limits by", limitedBy(false, memoryLimits) + (memoryLimits === "mps" ? ", in the mode mps" : "")];
}

/** @param cards  of a grant */
function grantLimits(cards) {
  const known = cards.filter(({ memoryLimits }) => memoryLimits !== undefined);
  const texts = new Set(known.map(({ whole, memoryLimits }) => limitedBy(whole, memoryLimits)));
  return texts.size > 0 ? ["Memory limits by", [...texts].join(", ")] : null;
}

function boundPod(view) {
  const cards = view.containers.flatMap((container) => container.cards.map((card) => ({ container, card })));
  return [
    facts([
      ["Node", view.node],
      ["Isolation", view.isolation],
      grantLimits(cards.map(({ card }) => card)),
      view.grantKey && ["Grant", signature(view.grantKey)],
    ]),
    view.summary ? el("p", { class: "sentence" }, view.summary) : null,
    el("h3", {}, "Granted"),
    table(
      ["Container, card", "Request", "Limit"],
      cards.map(({ container, card }) => [
        `${container.name}, ${card.uuid}`,
        `${memory(card.memMiB)}, ${compute(card.milli)}`,
        `${memory(card.memLimitMiB)}, ${compute(card.milliLimit)}`,
      ]),
    ),
  ];
}

const reasons = (title, rows) =>
  rows.length > 0 ? table([title, "Nodes"], rows.map(({ why, nodes }) => [why, count(nodes)]), [1]) : null;

const place = ({ wouldGet, blocked }) => wouldGet.join(", ") + (blocked ? `; but ${blocked}` : "");

function pendingPod(view) {
  const { models, containers } = view.request;
  return [
    el("p", { class: "sentence" }, view.summary),
    reasons("Why not", view.reasons),
    reasons("Fits, but", view.blocked),
    el("h3", {}, "Requests"),
    table(["Container", "Cards"], containers.map((container) => [container.name, requestedAmount(container)])),
    models.length > 0 ? el("p", {}, `of the ${models.length === 1 ? "model" : "models"} ${models.join(", ")}`) : null,
    view.nodes.length > 0 ? el("h3", {}, `Would fit best, by the policy ${view.policy}`) : null,
    view.nodes.length > 0 ? table(["Node", "Cards"], view.nodes.map((node) => [node.name, place(node)])) : null,
    el("p", { class: "faint" }, view.note),
  ];
}

export class Details {
  #box;
  #back = null; // where the focus came from
  #shown = null; // {node, uuid} or {pod}

  /** @param box  the panel */
  constructor(box) {
    this.#box = box;
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  card(meant, from) {
    this.#show({ node: meant.node.name, uuid: meant.card.uuid }, from);
    this.#drawCard(meant.node, meant.card, meant.number);
    this.#focus();
  }

  async pod(pod, from) {
    this.#show({ pod }, from);
    const title = `${pod.namespace}/${pod.name}`;
    this.#fill(title, el("p", { class: "faint" }, "asking…"));
    this.#focus();
    let parts;
    try {
      const response = await fetch(`${explainTarget(pod)}&nodes=${kBest}`, { cache: "no-store" });
      parts = response.ok ? this.#explained(await response.json()) : [el("p", { class: "sentence" }, (await response.text()).trim())];
    } catch (error) {
      parts = [el("p", { class: "sentence" }, `The server did not answer: ${error.message}`)];
    }
    if (this.#shown?.pod !== pod) return; // another one is open by now
    this.#fill(title, ...parts, el("p", {}, el("a", { href: explainTarget(pod) }, "All that is known, node by node (JSON)")));
    this.#focus();
  }

  /** Says the same of what is open as it is now. */
  refresh(store) {
    if (!this.#shown?.node) return;
    const node = store.nodes.get(this.#shown.node);
    const number = node?.cards.findIndex((card) => card.uuid === this.#shown.uuid) ?? -1;
    if (number < 0) return this.close();
    if (node.cards[number] === this.#shown.drawn) return;
    const inside = this.#box.contains(document.activeElement);
    this.#drawCard(node, node.cards[number], number);
    if (inside) this.#focus();
  }

  close() {
    if (this.#box.hidden) return;
    const inside = this.#box.contains(document.activeElement);
    this.#box.hidden = true;
    this.#shown = null;
    const back = this.#back?.isConnected ? this.#back : document.querySelector('#grid [tabindex="0"]');
    if (inside) back?.focus();
  }

  #show(what, from) {
    if (!this.#box.contains(from)) this.#back = from;
    this.#shown = what;
    this.#box.hidden = false;
  }

  #focus() {
    this.#box.querySelector("h2").focus({ preventScroll: true });
  }

  #fill(title, ...parts) {
    this.#box.replaceChildren(
      el("h2", { id: "details-title", tabindex: "-1" }, title),
      el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => this.close() }, "✕"),
      ...parts.filter(Boolean),
    );
  }

  #explained(view) {
    const state = view.state === "bound" ? "bound to a node" : "waits for a node";
    return [
      el("p", { class: "faint" }, state),
      view.findings.length > 0 ? el("ul", {}, view.findings.map(({ message }) => el("li", { class: "badge-line" }, `⚠ ${message}`))) : null,
      ...(view.state === "bound" ? boundPod(view) : pendingPod(view)),
    ];
  }

  #drawCard(node, card, number) {
    this.#shown.drawn = card;
    const share = (part, of) => `${percent(part, of)} granted`;
    this.#fill(
      `Card ${number} of ${node.name}`,
      facts([
        ["Model", card.model],
        ["UUID", card.uuid],
        ["State", card.trouble.length > 0 ? `${card.trouble.join(", ")}${card.reason ? `: ${card.reason}` : ""}` : "healthy"],
        ["Memory", `${memory(card.grantedMemMiB)} of ${memory(card.memMiB)}, ${share(card.grantedMemMiB, card.memMiB)}`],
        ["Compute", `${compute(card.grantedMilli)} of ${compute(card.milli)}, ${share(card.grantedMilli, card.milli)}`],
        ["Isolation", card.isolation ?? "none yet; the first pod chooses"],
        cardLimits(card),
        ["Sharers", `${card.sharers} of at most ${card.maxSharers}`],
      ]),
      card.pods.length === 0 ? el("p", {}, "No pod is on it.") : this.#sharers(card),
    );
  }

  #sharers(card) {
    return table(
      ["Pod", "Memory", "Compute"],
      card.pods.map((share) => [
        [
          el("button", { type: "button", class: "link", onclick: (event) => this.pod(share, event.currentTarget) }, `${share.namespace}/${share.name}`),
          el("span", { class: "faint" }, ` ${share.container}`),
        ],
        memory(share.memMiB),
        compute(share.milli),
      ]),
      [1, 2],
    );
  }
}
