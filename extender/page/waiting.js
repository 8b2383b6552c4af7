// The pods that have no node, and the namespaces of those that have one.

import { lookOf } from "./colours.js";
import { el, keep } from "./dom.js";
import { byName, count } from "./format.js";

const kMost = 200; // entries; a filter finds the others

function fill(box, items, what) {
  box.querySelector(".count").textContent = count(items.length);
  const more = items.length - kMost;
  box.querySelector(".more").textContent = more > 0 ? `and ${count(more)} more; the filter finds them` : "";
  keep(box.querySelector("ul"), items.slice(0, kMost), what.key, what.make, what.update);
}

/** @param open(pod, element) */
export function drawWaiting(box, pods, matcher, open) {
  const waiting = [...pods].filter(matcher.waiting).map((pod) => ({ pod, name: `${pod.namespace}/${pod.name}` }));
  waiting.sort((a, b) => byName(a.name, b.name));
  fill(box, waiting, {
    key: ({ pod }) => pod.uid,
    make: ({ pod, name }) =>
      el("li", {}, el("button", { type: "button", class: "link", onclick: (event) => open(pod, event.currentTarget) }, name)),
  });
  if (waiting.length === 0) box.querySelector(".more").textContent = "No pod waits for a node.";
}

/** @param choose(namespace)  that is clicked */
export function drawLegend(box, namespaces, chosen, choose) {
  const rows = [...namespaces].sort(([a], [b]) => byName(a, b));
  fill(box, rows, {
    key: ([name]) => name,
    make: ([name]) =>
      el(
        "li",
        {},
        el("span", { class: `swatch ${lookOf(name)}` }),
        el("button", { type: "button", class: "link", onclick: () => choose(name) }, name),
        el("span", { class: "number", title: "shares of cards" }),
      ),
    update: (row, [name, shares]) => {
      row.querySelector("button").setAttribute("aria-pressed", String(name === chosen));
      row.querySelector(".number").textContent = count(shares);
    },
  });
}
