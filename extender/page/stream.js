// Reads the packing once and then what changes, for as long as the page is looked at.

const kSilence = 20_000; // the server says something every 5 s
const kHiddenFor = 10_000; // a hidden page costs the server nothing after this
const kLongestWait = 30_000;

/** A wait that doubles, and differs from page to page: they all lose the server at one moment. */
const backoff = (failures) => Math.min(1000 * 2 ** failures, kLongestWait) * (0.5 + Math.random() / 2);

export class Stream {
  #source = null;
  #event = ""; // the last one applied
  #failures = 0;
  #timer = 0; // the next try, or the end of patience
  #hidden = 0;
  #handlers;

  /** @param handlers  reset(packing), apply(change), state("connecting" | "live" | "lost", sentence) */
  constructor(handlers) {
    this.#handlers = handlers;
    document.addEventListener("visibilitychange", () => this.#seen(!document.hidden));
    window.addEventListener("pagehide", () => this.#stop());
    window.addEventListener("pageshow", (event) => event.persisted && this.#follow());
  }

  async load() {
    this.#stop();
    this.#handlers.state("connecting", "reading the packing");
    try {
      const response = await fetch("/api/v1/packing", { cache: "no-store" });
      if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
      const packing = await response.json();
      this.#event = packing.event;
      this.#handlers.reset(packing);
    } catch (error) {
      return this.#retry(error.message, () => this.load());
    }
    this.#follow();
  }

  #follow() {
    this.#stop();
    const source = new EventSource(`/api/v1/events?after=${encodeURIComponent(this.#event)}`);
    this.#source = source;
    this.#expectMore();
    source.addEventListener("hello", ({ data }) => {
      this.#expectMore();
      if (!JSON.parse(data).resumed) return this.#reload();
      this.#failures = 0;
      this.#handlers.state("live", "live");
    });
    source.addEventListener("change", ({ data, lastEventId }) => {
      this.#expectMore();
      this.#event = lastEventId;
      this.#handlers.apply(JSON.parse(data));
    });
    source.addEventListener("beat", () => this.#expectMore());
    source.addEventListener("error", () => {
      // A stream that ended comes back by itself; one that was refused does not.
      if (source.readyState === EventSource.CLOSED) this.#retry("no changes for now", () => this.#follow());
      else this.#handlers.state("connecting", "reconnecting");
    });
  }

  /** After a random delay: all pages lose their stream at once. */
  #reload() {
    this.#stop();
    this.#timer = setTimeout(() => this.load(), 1000 * Math.random());
  }

  #expectMore() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#retry("the server went silent", () => this.#follow()), kSilence);
  }

  #retry(why, attempt) {
    this.#stop();
    const wait = backoff(this.#failures++);
    this.#handlers.state("lost", `${why}; next try in ${Math.ceil(wait / 1000)} s`);
    this.#timer = setTimeout(attempt, wait);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #seen(visible) {
    clearTimeout(this.#hidden);
    if (!visible) {
      this.#hidden = setTimeout(() => this.#source && this.#stop(), kHiddenFor);
    } else if (!this.#source && this.#event) {
      this.#follow();
    }
  }
}
