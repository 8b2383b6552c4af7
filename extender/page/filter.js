// What the user wants to see. It stands in the address, so that a view can be shared.

export const kFields = ["node", "model", "namespace", "pod", "show", "size"];

export function readFilter(search) {
  const query = new URLSearchParams(search);
  return Object.fromEntries(kFields.map((field) => [field, (query.get(field) ?? "").trim()]));
}

/** "" or "?node=…". */
export function writeFilter(filter) {
  const query = new URLSearchParams();
  for (const field of kFields) if (filter[field]) query.set(field, filter[field]);
  const text = query.toString();
  return text ? `?${text}` : "";
}

/** "A100" is found anywhere, "A100*" only where all of the name is like it; letter case is ignored. */
function pattern(text) {
  const wanted = text.toLowerCase();
  if (!wanted.includes("*")) return (name) => name.toLowerCase().includes(wanted);
  const parts = wanted.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  const whole = new RegExp(`^${parts.join(".*")}$`);
  return (name) => whole.test(name.toLowerCase());
}

const anything = () => true;
const wanted = (text) => (text ? pattern(text) : anything);

/** @param namespaces  known ones: the name of one means that one alone */
export function makeMatcher(filter, namespaces) {
  const node = wanted(filter.node);
  const model = wanted(filter.model);
  const pod = wanted(filter.pod);
  const namespace = namespaces.has(filter.namespace)
    ? (name) => name === filter.namespace
    : wanted(filter.namespace);
  const ofPods = Boolean(filter.namespace || filter.pod);
  const share = (one) => namespace(one.namespace) && pod(one.name);
  const card = (one) =>
    model(one.model) &&
    (filter.show !== "trouble" || one.trouble.length > 0) &&
    (filter.show !== "idle" || one.pods.length === 0) &&
    (!ofPods || one.pods.some(share));
  const ofCards = Boolean(filter.model || filter.show || ofPods);
  return {
    active: Boolean(filter.node || ofCards),
    share,
    card,
    waiting: share,
    node: (one) =>
      node(one.name) &&
      (!ofCards || one.cards.some(card) || (filter.show === "trouble" && one.trouble.length > 0)),
  };
}
