// Each namespace keeps its look. It follows from the name, so most look the same in every browser;
// of two with the same, the later one takes the next free one: other hues before textures. The
// browser remembers it, so a new namespace changes no other's look.

const kHues = 8;
const kLooks = kHues * 3; // textures
const kKey = "tangram-looks";

const given = new Map(); // "hue-1 texture-0" is 1, "hue-1 texture-1" is 9
const taken = new Set();
const remembered = recall();

function recall() {
  try {
    return new Map(Object.entries(JSON.parse(localStorage.getItem(kKey) ?? "{}")));
  } catch {
    return new Map(); // storage may be denied, and anything may stand there
  }
}

function remember() {
  try {
    localStorage.setItem(kKey, JSON.stringify(Object.fromEntries(given)));
  } catch {
    // then it lasts as long as the page
  }
}

function hash(text) {
  let value = 0x811c9dc5; // FNV-1a
  for (const unit of new TextEncoder().encode(text)) value = Math.imul(value ^ unit, 0x01000193) >>> 0;
  return value;
}

function firstFree(namespace) {
  const hue = hash(namespace) % kHues;
  for (let tried = 0; tried < kLooks; ++tried) {
    const look = ((hue + tried) % kHues) + kHues * Math.floor(tried / kHues);
    if (!taken.has(look)) return look;
  }
  return hash(namespace) % kLooks;
}

function give(namespace, look) {
  given.set(namespace, look);
  taken.add(look);
}

/** In order of name, so that all who see the same namespaces see the same looks. */
export function giveLooks(namespaces) {
  const fresh = [...namespaces].filter((namespace) => !given.has(namespace)).sort();
  if (fresh.length === 0) return;
  for (const namespace of fresh) {
    const look = remembered.get(namespace);
    if (Number.isInteger(look) && look >= 0 && look < kLooks && !taken.has(look)) give(namespace, look);
  }
  for (const namespace of fresh) if (!given.has(namespace)) give(namespace, firstFree(namespace));
  remember();
}

/** Classes of theme.css for what belongs to the namespace. */
export function lookOf(namespace) {
  if (!given.has(namespace)) giveLooks([namespace]);
  const look = given.get(namespace);
  return `hue-${look % kHues} texture-${Math.floor(look / kHues)}`;
}
