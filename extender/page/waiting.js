// The pods that have no node, and the namespaces of those that have one.

import { lookOf } from "./colours.js";
import { el } from "./dom.js";
import { byName, count } from "./format.js";

const kMost = 200; // entries; a filter finds the others

const more = (number) =>
  number > 0 ? el("li", { class: "faint" }, `and ${count(number)} more; the filter finds them`) : null;

/** @param open(pod, element) */
export function drawWaiting(box, pods, matcher, open) {
  const names = [...pods].filter(matcher.waiting);
  names.sort((a, b) => byName(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`));
  box.querySelector(".count").textContent = count(names.length);
  const focused = document.activeElement?.dataset.uid;
  const rows = names.slice(0, kMost).map((pod) =>
    el(
      "li",
      {},
      el("button", { type: "button", class: "link", "data-uid": pod.uid, onclick: (event) => open(pod, event.currentTarget) }, `${pod.namespace}/${pod.name}`),
    ),
  );
  const body = box.querySelector(".body");
  body.replaceChildren(
    rows.length > 0
      ? el("ul", {}, rows, more(names.length - rows.length))
      : el("p", { class: "faint" }, "No pod waits for a node."),
  );
  if (focused) body.querySelector(`[data-uid="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

/** @param choose(namespace)  "" where it is chosen already */
export function drawLegend(box, namespaces, chosen, choose) {
  const rows = [...namespaces].sort(([a], [b]) => byName(a, b));
  box.querySelector(".count").textContent = count(rows.length);
  const focused = document.activeElement?.dataset.namespace;
  const body = box.querySelector(".body");
  body.replaceChildren(
    ...rows.slice(0, kMost).map(([name, shares]) =>
      el(
        "li",
        {},
        el("span", { class: `swatch ${lookOf(name)}` }),
        el(
          "button",
          { type: "button", class: "link", "data-namespace": name, "aria-pressed": String(name === chosen), onclick: () => choose(name === chosen ? "" : name) },
          name,
        ),
        el("span", { class: "number", title: "shares of cards" }, count(shares)),
      ),
    ),
    more(rows.length - kMost) ?? "",
  );
  if (focused) body.querySelector(`[data-namespace="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}
