// One card: what it is, and a tile for each pod's share of its memory and of its compute.

import { lookOf } from "./colours.js";
import { el } from "./dom.js";
import { compute, memory, percent, plural } from "./format.js";

/** Of the two that which is scarcer. */
export const fullness = (sum) => Math.max(sum.mem && sum.memGranted / sum.mem, sum.milli && sum.milliGranted / sum.milli);

export const cardFullness = (card) =>
  fullness({ mem: card.memMiB, memGranted: card.grantedMemMiB, milli: card.milli, milliGranted: card.grantedMilli });

/** For screen readers. */
export function cardSentence(card, number) {
  const parts = [
    `Card ${number}, ${card.model}`,
    ...card.trouble,
    `memory ${memory(card.grantedMemMiB)} of ${memory(card.memMiB)} granted`,
    `compute ${percent(card.grantedMilli, card.milli)} granted`,
    plural(card.pods.length, "share"),
  ];
  return parts.join(", ");
}

export function shareSentence(share, card) {
  return (
    `${share.namespace}/${share.name}, container ${share.container}: ` +
    `memory ${memory(share.memMiB)}, ${percent(share.memMiB, card.memMiB)} of the card; ` +
    `compute ${compute(share.milli)}, ${percent(share.milli, card.milli)}`
  );
}

/** One bar. Where more is granted than there is, the tiles fill it and a line shows the card's end. */
function bar(card, kind, capacity, granted, amount, dim) {
  const scale = Math.max(capacity, granted, 1);
  const tiles = card.pods.map((share, index) => {
    const look = { class: `tile ${lookOf(share.namespace)}${dim(share) ? " dim" : ""}`, "data-share": index };
    // The same again in the bar of compute is for the eye and the mouse only.
    const tile =
      kind === "memory"
        ? el("button", { ...look, type: "button", tabindex: "-1", "aria-label": shareSentence(share, card) }, share.name)
        : el("span", { ...look, "aria-hidden": "true" });
    tile.style.width = `${(100 * amount(share)) / scale}%`;
    return tile;
  });
  const box = el("div", { class: `bar ${kind}` }, tiles);
  if (granted > capacity) {
    const end = el("span", { class: "end" });
    end.style.left = `calc(${(100 * capacity) / scale}% - 2px)`;
    box.append(end);
  }
  return el("div", { class: "line" }, el("span", { class: "kind", "aria-hidden": "true" }, kind === "memory" ? "mem" : "gpu"), box);
}

/** What distinguishes an instance from the others: its profile. */
const short = (model) => model.replace(/^.*-MIG-/, "MIG ");

const kBadges = { unhealthy: "✕ unhealthy", cordoned: "⊘ cordoned", "over-granted": "▲ over-granted" };
const kClasses = { unhealthy: "unhealthy", cordoned: "cordoned", "over-granted": "over" };

/**
 * @param matcher  of the filter: what does not match is faint
 * @param named  with its model: the node's other cards are of other ones
 */
export function drawCard(card, number, matcher, named) {
  const faint = matcher.active && !matcher.card(card);
  const dim = (share) => matcher.active && !matcher.share(share);
  const classes = ["card", ...card.trouble.map((word) => kClasses[word]), faint ? "faint-card" : ""];
  return el(
    "div",
    {
      class: classes.filter(Boolean).join(" "),
      role: "gridcell",
      tabindex: "-1",
      "aria-colindex": number + 2,
      "aria-label": cardSentence(card, number),
      "data-uuid": card.uuid,
    },
    el(
      "div",
      { class: "card-head", "aria-hidden": "true" },
      el("span", { class: "what" }, named ? `${number} · ${short(card.model)}` : String(number)),
      card.trouble.map((word) => el("span", { class: "badge" }, kBadges[word])),
      el("span", { class: "full" }, percent(cardFullness(card), 1)),
    ),
    bar(card, "memory", card.memMiB, card.grantedMemMiB, (share) => share.memMiB, dim),
    bar(card, "compute", card.milli, card.grantedMilli, (share) => share.milli, dim),
  );
}
