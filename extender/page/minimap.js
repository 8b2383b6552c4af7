// The whole cluster at a glance: a square for each node, the darker the fuller.

import { fullness } from "./cards.js";
import { onceAFrame } from "./dom.js";
import { count, percent, plural } from "./format.js";

const kLargest = 14; // pixels a square, with its gap
const kSmallest = 4;
const kHighest = 160; // pixels of the whole

function colours(names) {
  const style = getComputedStyle(document.documentElement); // slow: once for all
  return names.map((name) => style.getPropertyValue(name).trim());
}

function between(low, high, share) {
  const [a, b] = [low, high].map((text) => text.split(" ").map(Number));
  return `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * Math.min(1, share))).join(" ")})`;
}

function sentence(nodes, totals) {
  const full = nodes.filter((node) => fullness(node.sum) >= 0.9).length;
  const idle = nodes.filter((node) => node.sum.shares === 0).length;
  const trouble = nodes.filter((node) => node.trouble.length > 0).length;
  return (
    `Overview of ${plural(nodes.length, "node")}: memory ${percent(totals.memGranted, totals.mem)} and compute ` +
    `${percent(totals.milliGranted, totals.milli)} granted; ${count(full)} at least 90 % full, ${count(idle)} idle, ` +
    `${count(trouble)} with trouble.`
  );
}

export class Minimap {
  #canvas;
  #go;
  #data = { nodes: [], totals: {}, shown: () => true, onScreen: [] };
  #step = kLargest;
  #across = 1;
  #draw = onceAFrame(() => this.#paint());

  /** @param go(name)  brings a node onto the screen */
  constructor(canvas, go) {
    this.#canvas = canvas;
    this.#go = go;
    canvas.addEventListener("click", (event) => {
      const node = this.at(event.offsetX, event.offsetY);
      if (node) this.#go(node.name);
    });
    new ResizeObserver(this.#draw).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.#draw);
  }

  /** @param data  {nodes, totals, shown(node), onScreen: [names]}, or a part of it */
  update(data) {
    Object.assign(this.#data, data);
    this.#draw();
  }

  /** The node at a place of the canvas, or undefined. */
  at(x, y) {
    const column = Math.floor(x / this.#step);
    if (column >= this.#across) return undefined;
    return this.#data.nodes[Math.floor(y / this.#step) * this.#across + column];
  }

  #paint() {
    const { nodes, totals, shown, onScreen } = this.#data;
    const width = this.#canvas.parentElement.clientWidth;
    if (width === 0) return;
    this.#fit(width, nodes.length);
    const height = Math.max(1, Math.ceil(nodes.length / this.#across)) * this.#step;
    const sharp = window.devicePixelRatio || 1;
    this.#canvas.width = width * sharp;
    this.#canvas.height = height * sharp;
    this.#canvas.style.height = `${height}px`;
    this.#canvas.setAttribute("aria-label", sentence(nodes, totals));
    const pen = this.#canvas.getContext("2d");
    pen.scale(sharp, sharp);
    const [low, high, trouble, sheet, ink] = colours(["--map-low", "--map-high", "--map-trouble", "--sheet", "--ink"]);
    const seen = new Set(onScreen);
    const side = this.#step - (this.#step > 6 ? 2 : 1);
    nodes.forEach((node, index) => {
      const x = (index % this.#across) * this.#step;
      const y = Math.floor(index / this.#across) * this.#step;
      pen.globalAlpha = shown(node) ? 1 : 0.18;
      pen.fillStyle = node.trouble.length > 0 ? trouble : between(low, high, fullness(node.sum));
      pen.fillRect(x, y, side, side);
      if (node.trouble.length > 0) cross(pen, x, y, side, sheet);
      if (!seen.has(node.name)) return;
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      pen.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
    });
  }

  /** As large as fits. */
  #fit(width, nodes) {
    for (this.#step = kLargest; this.#step > kSmallest; --this.#step) {
      this.#across = Math.max(1, Math.floor(width / this.#step));
      if (Math.ceil(nodes / this.#across) * this.#step <= kHighest) return;
    }
    this.#across = Math.max(1, Math.floor(width / this.#step));
  }
}

function cross(pen, x, y, side, ink) {
  pen.strokeStyle = ink;
  pen.lineWidth = Math.max(1, side / 6);
  pen.beginPath();
  pen.moveTo(x, y + side);
  pen.lineTo(x + side, y);
  pen.stroke();
}
