// Who cannot see the page, or not all its colours, can use it: names, roles, contrast, hues.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { closePage, launch, openPage } from "./browser.mjs";
import { contrast, distance, parse, sights } from "./colours.mjs";
import { demoCluster, startCluster } from "./services.mjs";

/** In the browser: every text that can be seen, its colour, and that of what lies beneath it. */
function texts() {
  const opaque = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if (!/^rgba\(.*, 0\)$|transparent/.test(backgroundColor)) return backgroundColor;
    }
    return "rgb(255 255 255)";
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const visible = element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !element.closest(".unseen, .skip, noscript, option, datalist");
    if (!visible || !node.textContent.trim()) continue;
    const style = getComputedStyle(element);
    found.push({ text: node.textContent.trim().slice(0, 40), ink: style.color, paper: opaque(element), mark: style.getPropertyValue("--mark"), textured: style.backgroundImage !== "none" });
  }
  return found;
}

for (const colorScheme of ["light", "dark"]) {
  describe(`the ${colorScheme} page`, () => {
    let browser, cluster, page;
    before(async () => {
      browser = await launch();
      cluster = await startCluster(demoCluster);
      const hues = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
      for (const namespace of hues) {
        const pod = await cluster.createPod(`team-${namespace}`, `pod-${namespace}`, { "gpu-fraction": "0.2" });
        await cluster.bindPod(pod, "a100-a");
      }
      page = await openPage(browser, cluster.url, { colorScheme, viewport: { width: 1280, height: 4000 } });
      await page.locator("#grid .card").first().focus();
      await page.keyboard.press("Enter");
    });
    after(async () => {
      await closePage(page, cluster.url);
      await browser?.close();
      await cluster?.stop();
    });

    test("has enough contrast in every text", async () => {
      const all = await page.evaluate(texts);
      assert.ok(all.length > 100);
      let least = 21;
      for (const { text, ink, paper, mark, textured } of all) {
        const papers = [parse(paper)];
        if (textured && mark) {
          const [r, g, b, share] = mark.match(/[\d.]+/g).map(Number);
          papers.push(papers[0].map((value, at) => value + ([r, g, b][at] - value) * share));
        }
        for (const under of papers) {
          const found = contrast(parse(ink), under);
          least = Math.min(least, found);
          assert.ok(found >= 4.5, `"${text}": ${ink} on ${under} has ${found.toFixed(2)}`);
        }
      }
      console.log(`${colorScheme}: ${all.length} texts, least contrast ${least.toFixed(2)}`);
    });

    test("marks trouble by words and shapes, not by colour alone", async () => {
      for (const word of ["unhealthy", "cordoned"]) {
        const card = page.locator(`.card.${word}`).first();
        assert.ok((await card.locator(".badge").allInnerTexts()).some((text) => text.includes(word)));
        assert.ok((await card.getAttribute("aria-label")).includes(word));
        const border = await card.evaluate((element) => getComputedStyle(element).border);
        const usual = await page.locator(".card:not(.unhealthy, .cordoned, .over)").first().evaluate((element) => getComputedStyle(element).border);
        assert.notEqual(border.split(" ").slice(0, 2).join(" "), usual.split(" ").slice(0, 2).join(" "), "by its line");
      }
    });

    test("gives every namespace a look of its own", async () => {
      const looks = await page.locator("#legend .swatch").evaluateAll((all) => all.map((swatch) => swatch.className));
      assert.ok(looks.length >= 12);
      assert.equal(new Set(looks).size, looks.length);
    });

    test("has hues that all kinds of sight tell apart", async () => {
      const hues = await page.evaluate(() =>
        [0, 1, 2, 3, 4, 5, 6, 7].map((hue) => {
          const probe = document.createElement("i");
          probe.className = `hue-${hue}`;
          document.body.append(probe);
          const fill = getComputedStyle(probe).backgroundColor;
          probe.remove();
          return fill;
        }),
      );
      for (const sight of sights) {
        let least = Infinity;
        hues.forEach((one, at) => hues.slice(at + 1).forEach((other) => (least = Math.min(least, distance(parse(one), parse(other), sight)))));
        console.log(`${sight}: nearest two hues are ${least.toFixed(1)} apart`);
        assert.ok(least >= 9, `${sight}: ${least}`); // four times what can just be told apart
      }
    });

    test("has a name for all that can be used", async () => {
      const nameless = await page.evaluate(() =>
        [...document.querySelectorAll("button, a[href], input, select, summary, [tabindex], [role=gridcell], [role=img]")]
          .filter((element) => element.checkVisibility())
          .filter((element) => !(element.getAttribute("aria-label") || element.labels?.length || element.textContent.trim()))
          .map((element) => element.outerHTML.slice(0, 200)),
      );
      assert.deepEqual(nameless, []);
    });

    test("is a tree of roles that screen readers know", async () => {
      const tree = await page.locator("body").ariaSnapshot();
      for (const part of ["banner", 'search "Filter"', "main", 'grid "Cards, one row for each node"', "rowheader", 'gridcell "Card 0, ', 'region "Card 0 of ', "status: live"]) {
        assert.ok(tree.includes(part), `no ${part} in ${tree.slice(0, 3000)}`);
      }
      assert.equal(await page.locator("html").getAttribute("lang"), "en");
      assert.equal(await page.locator("h1").count(), 1);
      const rows = await page.locator("#grid").evaluate((grid) => ({ told: Number(grid.getAttribute("aria-rowcount")), last: Number(grid.lastElementChild.getAttribute("aria-rowindex")) }));
      assert.equal(rows.told, rows.last);
    });
  });
}
