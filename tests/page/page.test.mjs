// The packing page of a running extender in a real browser, against what the API says.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";

import { closePage, drawn, eventually, launch, live, openPage } from "./browser.mjs";
import { demoCluster, startCluster } from "./services.mjs";

describe("the page of the example cluster", () => {
  let browser, cluster, page;

  before(async () => {
    browser = await launch();
    cluster = await startCluster(demoCluster);
    const { pending } = await cluster.get("/api/v1/cluster");
    await cluster.bindPod({ metadata: pending.find(({ name }) => name === "hello") }, "a100-a");
    await cluster.bindPod(await cluster.createPod("default", "pair", { "gpu-count": "2" }), "a100-a");
  });
  after(async () => {
    await browser?.close();
    await cluster?.stop();
  });
  beforeEach(async () => {
    // High enough for all rows at once.
    page = await openPage(browser, cluster.url, { viewport: { width: 1280, height: 4000 } });
  });
  afterEach(() => closePage(page, cluster.url));

  const tiles = (name) => page.locator(`button.tile[aria-label*="/${name},"]`);
  const bind = async (name, node, annotations = { "gpu-fraction": "0.25" }) => {
    const pod = await cluster.createPod("live", name, annotations);
    await cluster.bindPod(pod, node);
    await tiles(name).first().waitFor();
  };

  test("shows every node, card and share that the API tells of", async () => {
    const { nodes, pending } = await cluster.get("/api/v1/cluster");
    const shown = await page.evaluate(() =>
      [...document.querySelectorAll("#grid .node")].map((row) => ({
        name: row.dataset.node,
        cards: [...row.querySelectorAll(".card")].map((card) => ({
          uuid: card.dataset.uuid,
          badges: [...card.querySelectorAll(".badge")].map((badge) => badge.textContent),
          label: card.getAttribute("aria-label"),
          bars: [...card.querySelectorAll(".bar")].map((bar) =>
            [...bar.querySelectorAll(".tile")].map((tile) => tile.getBoundingClientRect().width / bar.getBoundingClientRect().width),
          ),
        })),
      })),
    );
    const order = new Intl.Collator("en", { numeric: true });
    const told = nodes.filter((node) => node.cards.length > 0).sort((a, b) => order.compare(a.name, b.name));
    assert.deepEqual(shown.filter((node) => node.cards.length > 0).map(({ name }) => name), told.map(({ name }) => name));
    assert.equal(shown.length, nodes.length);
    for (const node of told) {
      const row = shown.find(({ name }) => name === node.name);
      assert.deepEqual(row.cards.map(({ uuid }) => uuid), node.cards.map(({ uuid }) => uuid));
      node.cards.forEach((card, number) => {
        const drawn = row.cards[number];
        const part = { memory: (pod) => pod.memMiB / card.memMiB, compute: (pod) => pod.milli / card.milli };
        [part.memory, part.compute].forEach((amount, bar) => {
          assert.equal(drawn.bars[bar].length, card.pods.length);
          card.pods.forEach((pod, at) => assert.ok(Math.abs(drawn.bars[bar][at] - amount(pod)) < 0.02, `${card.uuid}: ${pod.name}`));
        });
        assert.equal(drawn.badges.some((text) => text.includes("unhealthy")), !card.healthy);
        assert.equal(drawn.badges.some((text) => text.includes("cordoned")), card.cordoned);
        assert.ok(drawn.label.includes(card.model));
      });
    }
    assert.ok(told.some(({ cards }) => cards.some((card) => !card.healthy)), "the example has a broken card");
    assert.equal(await page.locator("#waiting .count").textContent(), String(pending.length));
  });

  test("shows a pod as soon as it waits, is bound and ends, without being loaded anew", async () => {
    await page.evaluate(() => (window.sameDocument = true));
    const pod = await cluster.createPod("live", "comet", { "gpu-fraction": "0.5" });
    await page.getByRole("button", { name: "live/comet" }).waitFor();
    await cluster.bindPod(pod, "l40s-b");
    await tiles("comet").waitFor();
    assert.equal(await page.locator('.node[data-node="l40s-b"] button.tile[aria-label*="/comet,"]').count(), 1);
    await page.locator("#waiting").getByRole("button", { name: "live/comet" }).waitFor({ state: "detached" });
    await page.locator("#legend").getByRole("button", { name: "live", exact: true }).waitFor();
    await cluster.deletePod("live", "comet");
    await tiles("comet").waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => window.sameDocument), true);
  });

  test("shows a node that comes", async () => {
    const cards = [{ id: "GPU-new-0", kind: "physical", model: "B200", memMiB: 180_000, milli: 1000, healthy: true }];
    await cluster.createNode("newcomer", cards).catch((error) => assert.fail(error.message));
    await page.locator('.node[data-node="newcomer"]').waitFor();
  });

  test("puts the filter into the address, and takes it from there", async () => {
    await page.getByLabel("Node", { exact: true }).fill("a100-*");
    await eventually(async () => (await page.locator("#grid .node").count()) === 2, "the filter");
    await eventually(() => new URL(page.url()).search === "?node=a100-*", "the address");
    await page.reload();
    await live(page);
    assert.equal(await page.locator("#grid .node").count(), 2);
    assert.match(await page.locator("#found").textContent(), /^2 nodes of 1\d$/);
    await page.getByLabel("Model", { exact: true }).fill("no such");
    await page.getByText("Nothing matches the filter").waitFor();
    await page.getByRole("button", { name: "Show everything" }).click();
    await eventually(() => new URL(page.url()).search === "", "the address");
    await page.getByRole("combobox", { name: "Show" }).selectOption("trouble");
    await drawn(page);
    const cards = page.locator("#grid .card:not(.faint-card)");
    assert.ok((await cards.count()) > 0);
    for (const card of await cards.all()) assert.ok(await card.locator(".badge").count());
  });

  test("finds pods and namespaces", async () => {
    await page.getByLabel("Pod", { exact: true }).fill("pair");
    await eventually(async () => (await page.locator("#grid .node").count()) === 1, "the filter");
    await drawn(page);
    const faint = await page.locator("button.tile").evaluateAll((all) => all.filter((tile) => !tile.classList.contains("dim")).map((tile) => tile.textContent));
    assert.deepEqual(new Set(faint), new Set(["pair"]));
    await page.getByRole("button", { name: "Clear" }).click();
    const namespace = page.locator("#legend").getByRole("button", { name: "default", exact: true });
    await namespace.click();
    await eventually(() => new URL(page.url()).search === "?namespace=default", "the address");
    assert.equal(await namespace.getAttribute("aria-pressed"), "true");
    await namespace.click();
    await eventually(() => new URL(page.url()).search === "", "the address");
  });

  test("can be used with the keyboard alone", async () => {
    const focused = () => page.evaluate(() => ({ uuid: document.activeElement.dataset.uuid, tag: document.activeElement.tagName, id: document.activeElement.id, text: document.activeElement.textContent }));
    const press = async (key, what, expected) => {
      await page.keyboard.press(key);
      await eventually(async () => (await focused())[what] === expected, `${key} to ${expected}`);
    };
    await press("Tab", "text", "Skip to the cards");
    await press("Enter", "id", "cards");
    const rows = await page.evaluate(() => [...document.querySelectorAll("#grid .node")].map((row) => [...row.querySelectorAll(".card")].map((card) => card.dataset.uuid)).filter((row) => row.length));
    for (const [key, uuid] of [["Tab", rows[0][0]], ["ArrowRight", rows[0][1]], ["ArrowDown", rows[1][1]], ["End", rows[1].at(-1)], ["Home", rows[1][0]], ["ArrowLeft", rows[0].at(-1)], ["Control+End", rows.at(-1).at(-1)], ["Control+Home", rows[0][0]]]) {
      await press(key, "uuid", uuid);
    }
    await press("Enter", "id", "details-title");
    await press("Escape", "uuid", rows[0][0]);
    assert.ok(await page.locator("#details").isHidden());

    const tile = page.locator('button.tile[aria-label*="/hello,"]').first();
    await tile.evaluate((button) => button.closest(".card").focus());
    const reached = () => tile.evaluate((button) => button === document.activeElement);
    for (let tabs = 0; tabs < 20 && !(await reached()); ++tabs) await page.keyboard.press("Tab");
    assert.ok(await reached());
    await page.keyboard.press("Enter");
    await page.locator("#details").getByText("Limit", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await eventually(reached, "the focus back on the pod");
  });

  test("keeps the keyboard's place while cards change", async () => {
    await bind("first", "h100-a");
    const uuid = await tiles("first").evaluate((tile) => tile.closest(".card").dataset.uuid);
    const card = page.locator(`.card[data-uuid="${uuid}"]`);
    await card.focus();
    await bind("second", "h100-a", { "gpu-fraction": "0.25", "gpu-uuid": uuid });
    assert.equal(await page.evaluate(() => document.activeElement.dataset.uuid), uuid);
    await cluster.deletePod("live", "first");
    await cluster.deletePod("live", "second");
    await tiles("second").waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.dataset.uuid), uuid);
  });

  test("tells of a bound pod what it asked for and what it is held to", async () => {
    await bind("burst", "l40s-b", { "gpu-fraction": "0.25", "gpu-mem-limit": "20Gi" });
    const told = await cluster.get("/api/v1/explain?namespace=live&pod=burst");
    await tiles("burst").click();
    const details = page.locator("#details");
    await details.getByText("Limit", { exact: true }).waitFor();
    const text = await details.innerText();
    assert.ok(text.includes("live/burst") && text.includes(told.node) && text.includes("20 GiB"), text);
    await cluster.deletePod("live", "burst");
  });

  test("tells why a pod waits, and what is wrong with one", async () => {
    await cluster.createPod("live", "huge", { "gpu-mem": "900Gi" });
    await page.getByRole("button", { name: "live/huge" }).click();
    const { summary, reasons } = await cluster.get("/api/v1/explain?namespace=live&pod=huge");
    const details = page.locator("#details");
    await details.getByText(summary).waitFor();
    for (const { why } of reasons) assert.ok((await details.innerText()).includes(why));
    await page.getByRole("button", { name: "default/hello-third" }).click();
    await details.getByText("0.333").waitFor();
    // A request that is wrong is answered with 400, which the browser notes.
    page.troubles = page.troubles.filter((text) => !text.includes("400"));
    await cluster.deletePod("live", "huge");
  });

  test("says on hover what is under the pointer", async () => {
    await tiles("hello").first().hover();
    const tip = page.locator("#tip");
    await tip.getByText("default/hello").waitFor();
    assert.match(await tip.innerText(), /container main: memory .* of the card; compute/);
    await page.mouse.move(0, 0);
    assert.ok(await tip.isHidden());
  });

  test("takes whatever names say for text", async () => {
    const evil = '<img src=x onerror="alert(1)">';
    const card = { id: "GPU-evil", kind: "physical", model: "plain", memMiB: 1000, milli: 1000, healthy: false, reason: evil };
    await cluster.createNode("evil", [card]);
    await page.locator('.node[data-node="evil"] .card').waitFor();
    assert.equal(await page.locator("main img").count(), 0);
    await page.locator('.node[data-node="evil"] .card').click();
    assert.ok((await page.locator("#details").innerText()).includes(evil));
  });

  test("comes back after the extender was restarted, with what is so now", async () => {
    await cluster.stopExtender();
    await page.locator('#connection:not([data-state="live"])').waitFor();
    await cluster.createPod("live", "meanwhile", { "gpu-fraction": "0.1" });
    await cluster.restartExtender();
    await live(page);
    await page.getByRole("button", { name: "live/meanwhile" }).waitFor();
    await cluster.deletePod("live", "meanwhile");
    page.troubles = page.troubles.filter((text) => !/ERR_(CONNECTION|INCOMPLETE)|503/.test(text));
  });

  for (const width of [320, 390, 768]) {
    test(`fits a screen of ${width} pixels`, async () => {
      await page.setViewportSize({ width, height: 800 });
      await page.locator("#grid .card").first().click();
      await page.locator("#details").waitFor();
      const { wide, narrow } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, narrow: document.documentElement.clientWidth }));
      assert.ok(wide <= narrow, `${wide} > ${narrow}`);
      const box = await page.locator("#grid .card").first().boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= width);
    });
  }
});

describe("the page of a cluster that is empty", () => {
  let browser, cluster, page;
  before(async () => {
    browser = await launch();
    cluster = await startCluster(new URL("empty.yaml", import.meta.url).pathname);
    page = await openPage(browser, cluster.url);
  });
  after(async () => {
    await closePage(page, cluster.url);
    await browser?.close();
    await cluster?.stop();
  });

  test("says what to do for cards, then for pods, then shows them", async () => {
    await page.getByText("No node reports a GPU card yet").waitFor();
    assert.match(await page.locator("#notice").innerText(), /kubectl get nodes/);
    await cluster.createNode("first", [{ id: "GPU-0", kind: "physical", model: "A100", memMiB: 81_920, milli: 1000, healthy: true }]);
    await page.getByText("All cards are free").waitFor();
    assert.match(await page.locator("#notice").innerText(), /tangram\.dev\/gpu-fraction: "0\.25"/);
    const pod = await cluster.createPod("ml", "hello", { "gpu-fraction": "0.25" });
    await page.getByText("All cards are free").waitFor({ state: "detached" });
    await cluster.bindPod(pod, "first");
    await page.locator('button.tile[aria-label*="ml/hello"]').waitFor();
  });
});
