// What stands where cards would, when there are none: what to do.

import { el } from "./dom.js";

const notice = (...children) => el("section", { class: "notice" }, children);
const command = (text) => el("pre", { tabindex: "0", "aria-label": "command" }, text);

export const noCards = () =>
  notice(
    el("h3", {}, "No node reports a GPU card yet"),
    el("p", {}, "Cards are reported by Tangram's agent, which runs on each node that has some. This page fills as they come."),
    el("p", {}, "Is it installed, and is it running?"),
    command("kubectl --namespace tangram-system get pods --output wide\nkubectl apply --kustomize deploy/node     # installs it"),
    el("p", {}, "What do the nodes say of their cards?"),
    command("kubectl get nodes --output custom-columns='NODE:.metadata.name,CARDS:.metadata.annotations.tangram\\.dev/cards'"),
  );

const kExample = `kubectl apply --filename - <<END
apiVersion: v1
kind: Pod
metadata:
  name: hello
  annotations:
    tangram.dev/gpu-fraction: "0.25"      # a quarter of one card's memory and compute
spec:
  containers:
    - name: main
      image: nvidia/cuda:12.4.1-base-ubuntu22.04
      command: [sleep, infinity]
      resources:
        limits: {tangram.dev/gpu-slot: 1}
END`;

export const noPods = () =>
  notice(
    el("h3", {}, "All cards are free"),
    el("p", {}, "A pod says in an annotation how much of a card it wants. Try one; it shows up here within a second:"),
    command(kExample),
  );

/** @param clear  takes the filter away */
export const nothingMatches = (clear) =>
  notice(
    el("h3", {}, "Nothing matches the filter"),
    el("p", {}, el("button", { type: "button", onclick: clear }, "Show everything")),
  );

export const cannotRead = (sentence) => {
  const section = notice(
    el("h3", {}, "The packing cannot be read"),
    el("p", {}, sentence),
    el("p", { class: "faint" }, "This page tries again by itself."),
  );
  section.classList.add("trouble");
  return section;
};
