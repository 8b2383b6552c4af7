// Debian's Chromium, without a window, and an eye on what it must not do.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

// So many times slower than this machine: what only passes because the machine is fast, fails then.
const slowdown = Number(process.env.TANGRAM_PAGE_SLOWDOWN ?? 1);

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // Root, as in a container, may not use the sandbox; nothing but our own page is opened.
    args: ["--no-sandbox", "--force-prefers-reduced-motion"],
  });

/** Opens the page and waits until it follows the packing. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  if (slowdown > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  page.troubles = [];
  page.hosts = new Set();
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.troubles.push(message.text()));
  page.on("pageerror", (error) => page.troubles.push(error.stack));
  page.on("dialog", (dialog) => page.troubles.push(`a dialog: ${dialog.message()}`));
  page.on("request", (request) => page.hosts.add(new URL(request.url()).host));
  await page.goto(url);
  await live(page);
  return page;
}

/** Waits until the page follows the packing and has drawn it. */
export async function live(page) {
  await page.locator('#connection[data-state="live"]').waitFor();
  await drawn(page);
}

/**
 * Waits until what the page knows is on the screen: it reads its form in the next frame, draws in the one
 * after it, and draws again when its size has changed by that.
 */
export const drawn = (page) =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 4; ++frame) await new Promise(requestAnimationFrame);
  });

/** Nothing was wrong on the page, and it asked nobody but its server. */
export async function closePage(page, url) {
  assert.deepEqual(page.troubles, []);
  assert.deepEqual([...page.hosts], [new URL(url).host]);
  await page.context().close();
}

/** Waits until `look` finds what it expects; then what it found. */
export async function eventually(look, what = "it") {
  const end = Date.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what} did not come about within a minute`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
