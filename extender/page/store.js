// The packing as the server reports it, with a summary of each node.

import { byName } from "./format.js";

/** What is wrong with a card, in words. */
function troubleOf(card) {
  const trouble = [];
  if (!card.healthy) trouble.push("unhealthy");
  if (card.cordoned) trouble.push("cordoned");
  if (card.grantedMemMiB > card.memMiB || card.grantedMilli > card.milli) trouble.push("over-granted");
  return trouble;
}

function sumUp(node) {
  const sum = { mem: 0, memGranted: 0, milli: 0, milliGranted: 0, shares: 0 };
  const namespaces = new Map();
  const trouble = new Set();
  for (const card of node.cards) {
    card.trouble ??= troubleOf(card);
    for (const word of card.trouble) trouble.add(word);
    sum.mem += card.memMiB;
    sum.memGranted += card.grantedMemMiB;
    sum.milli += card.milli;
    sum.milliGranted += card.grantedMilli;
    sum.shares += card.pods.length;
    for (const { namespace } of card.pods) namespaces.set(namespace, (namespaces.get(namespace) ?? 0) + 1);
  }
  if (!node.present) trouble.add("node is gone");
  if (node.strayGrants > 0) trouble.add("grants of unknown cards");
  return Object.assign(node, { sum, namespaces, trouble: [...trouble] });
}

export class Store {
  nodes = new Map(); // by name
  pending = new Map(); // by UID
  namespaces = new Map(); // shares, by name
  models = new Map(); // cards, by name
  totals = { nodes: 0, cards: 0, mem: 0, memGranted: 0, milli: 0, milliGranted: 0, shares: 0 };
  #sorted = null;

  /** Begins anew with all of /api/v1/packing. */
  reset({ nodes, pending }) {
    for (const name of [...this.nodes.keys()]) this.#drop(name);
    for (const node of nodes) this.#put(node);
    this.pending = new Map(pending.map((pod) => [pod.uid, pod]));
  }

  /** Takes one event. @returns names of the nodes that changed, and whether rows come, go or grow */
  apply({ gone, nodes, waiting, settled }) {
    const changed = new Set(gone);
    let rows = gone.length > 0;
    for (const name of gone) this.#drop(name);
    for (const node of nodes) {
      const before = this.nodes.get(node.name);
      if (node.partial && !before) continue; // a new node is always reported in whole
      if (node.partial) node.cards = merge(before.cards, node.cards);
      rows ||= before?.cards.length !== node.cards.length;
      changed.add(node.name);
      this.#put(node);
    }
    for (const uid of settled) this.pending.delete(uid);
    for (const pod of waiting) this.pending.set(pod.uid, pod);
    return { changed, rows };
  }

  /** All nodes, by name. */
  sorted() {
    this.#sorted ??= [...this.nodes.values()].sort((a, b) => byName(a.name, b.name));
    return this.#sorted;
  }

  #put(node) {
    const before = this.nodes.get(node.name);
    if (before) this.#count(before, -1);
    this.#count(sumUp(node), 1);
    this.nodes.set(node.name, node);
    this.#sorted = null;
  }

  #drop(name) {
    const node = this.nodes.get(name);
    if (!node) return;
    this.#count(node, -1);
    this.nodes.delete(name);
    this.#sorted = null;
  }

  #count({ cards, sum, namespaces }, sign) {
    this.totals.nodes += sign;
    this.totals.cards += sign * cards.length;
    for (const [what, amount] of Object.entries(sum)) this.totals[what] += sign * amount;
    for (const [name, shares] of namespaces) add(this.namespaces, name, sign * shares);
    for (const { model } of cards) add(this.models, model, sign);
  }
}

/** A card that did not change stays the same object: that is how its drawing is known to be good. */
function merge(before, changed) {
  const byId = new Map(changed.map((card) => [card.uuid, card]));
  return before.map((card) => byId.get(card.uuid) ?? card);
}

function add(counts, name, number) {
  const now = (counts.get(name) ?? 0) + number;
  if (now === 0) counts.delete(name);
  else counts.set(name, now);
}
