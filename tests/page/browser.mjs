// Debian's Chromium, without a window, and an eye on what it must not do.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

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

export const live = (page) => page.locator('#connection[data-state="live"]').waitFor();

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
