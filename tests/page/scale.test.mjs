// What the page costs: to load, to follow, to look at, for clusters of 1,000 and 5,000 nodes of
// eight cards. Times depend on the machine and are printed; what is asserted are ratios.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { closePage, launch, openPage } from "./browser.mjs";
import { startCrowd } from "./services.mjs";

const kFollow = 8_000; // ms

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

const middle = (numbers, share) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length * share)] ?? 0;

/** In the browser: how long frames take while the page scrolls by so many pixels in each. */
async function scroll(step) {
  const frames = [];
  window.scrollTo(0, 0);
  let before = performance.now();
  for (let frame = 1; frame <= 60; ++frame) {
    window.scrollTo(0, frame * step);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - before);
    before = now;
  }
  return frames;
}

async function measure(nodes) {
  const crowd = await startCrowd(nodes);
  try {
    return await look(crowd.url, nodes);
  } finally {
    await crowd.stop();
  }
}

async function look(url, nodes) {
  const page = await openPage(browser, url, { viewport: { width: 1440, height: 1000 } });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Performance.enable");
  let bytes = 0;
  let loaded = 0;
  cdp.on("Network.dataReceived", ({ encodedDataLength }) => (bytes += Math.max(0, encodedDataLength)));
  cdp.on("Network.loadingFinished", ({ encodedDataLength }) => (loaded += encodedDataLength));
  await page.reload();
  await page.locator('#connection[data-state="live"]').waitFor();
  const times = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    drawn: performance.getEntriesByName("tangram-drawn")[0]?.startTime,
  }));
  const task = async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value])).TaskDuration;
  const packing = loaded;
  const [startBytes, startTask] = [bytes, await task()];
  await page.waitForTimeout(kFollow);
  const followed = { bytes: (bytes - startBytes) / (kFollow / 1000), busy: ((await task()) - startTask) / (kFollow / 1000) };
  const frames = await page.evaluate(scroll, 60);
  const jumps = await page.evaluate(scroll, 1_000); // each draws all rows of the screen anew
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
  await closePage(page, url);
  const row = {
    nodes,
    "loaded KiB": Math.round(packing / 1024),
    "first paint ms": Math.round(times.paint),
    "drawn ms": Math.round(times.drawn),
    "news KiB/s": Math.round(followed.bytes / 1024),
    "busy while following %": Math.round(followed.busy * 100),
    "frame ms, median": Math.round(middle(frames, 0.5)),
    "frame ms, 95 %": Math.round(middle(frames, 0.95)),
    "jump ms, median": Math.round(middle(jumps, 0.5)),
    elements,
    "heap MiB": Math.round(heap / 2 ** 20),
  };
  console.log(JSON.stringify(row));
  return row;
}

test("five times the nodes cost no more to look at, and five times as much to load", async () => {
  const small = await measure(1_000);
  const large = await measure(5_000);
  const ratio = (what) => large[what] / small[what];
  assert.ok(ratio("elements") < 2 && large.elements < 6_000, "only what can be seen exists");
  assert.ok(ratio("loaded KiB") < 6, "bytes grow with the cluster and no faster");
  assert.ok(ratio("first paint ms") < 3, "the first paint does not wait for the packing");
  assert.ok(large["first paint ms"] < large["drawn ms"]);
  assert.ok(ratio("jump ms, median") < 2.5, "a frame costs what is on the screen");
  assert.ok(large["news KiB/s"] < large["loaded KiB"] / 10, "following costs a part of loading");
});
