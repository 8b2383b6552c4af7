// Elements are made here and nowhere from text: names of pods and nodes are untrusted input.

/** el("p", {class: "x", onclick: f, "aria-label": "y"}, "text", child, …); null children are left out. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * Makes the children of `list` those of `items`. What is there already, by its key, stays: a click
 * that has begun on it still counts, and so does the focus.
 */
export function keep(list, items, key, make, update = () => {}) {
  const there = new Map([...list.children].map((child) => [child.dataset.key, child]));
  const wanted = items.map((item) => {
    const child = there.get(key(item)) ?? make(item);
    child.dataset.key = key(item);
    update(child, item);
    return child;
  });
  wanted.forEach((child, at) => {
    if (list.children[at] !== child) list.insertBefore(child, list.children[at] ?? null);
  });
  while (list.children.length > wanted.length) list.lastElementChild.remove();
}

/** Calls `draw` before the next frame, however often it is called. */
export function onceAFrame(draw) {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      draw();
    });
  };
}
