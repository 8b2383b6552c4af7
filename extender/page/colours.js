// Each namespace keeps its look, here and for everybody else: it comes from the name. Only where
// two names meet does the later one take the next look that is free.

const kHues = 8;
const kLooks = kHues * 3; // textures

const given = new Map();
const taken = new Set();

function hash(text) {
  let value = 0x811c9dc5; // FNV-1a
  for (const unit of new TextEncoder().encode(text)) value = Math.imul(value ^ unit, 0x01000193) >>> 0;
  return value;
}

/** Classes of theme.css for what belongs to the namespace. */
export function lookOf(namespace) {
  let look = given.get(namespace);
  if (look === undefined) {
    look = hash(namespace) % kLooks;
    if (taken.size < kLooks) while (taken.has(look)) look = (look + 1) % kLooks;
    taken.add(look);
    given.set(namespace, look);
  }
  return `hue-${look % kHues} texture-${Math.floor(look / kHues)}`;
}

/** In order of name, so that all who see the same namespaces see the same colours. */
export function giveLooks(namespaces) {
  for (const namespace of [...namespaces].sort()) lookOf(namespace);
}
