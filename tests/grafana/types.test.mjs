// Shows that the check finds each mistake, on its line.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { problems, versions } from './types.mjs';

const folder = `${dirname(fileURLToPath(import.meta.url))}/../../deploy/chart/tangram/files/dashboards`;
const ours = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => readFileSync(`${folder}/${name}`, 'utf8'));

// A text of one of our dashboards, and the mistake that replaces it.
const mistakes = [
  ['"textMode": "name"', '"textMode": "nome"'],
  ['"showUnfilled"', '"showUnfiled"'],
  ['"lineInterpolation": "stepAfter"', '"lineInterpolation": "step"'],
  ['"type": "color-background"', '"type": "colour-background"'],
  ['"id": "custom.cellOptions"', '"id": "custom.cellOption"'],
  ['"emptyValue": "null"', '"emptyValue": "nil"'],
  ['"refresh": 2', '"refresh": 7'],
  ['"mode": "continuous-greens"', '"mode": "continuous-green"'],
  ['"type": "heatmap"', '"type": "heat-map"'],
  ['"schemaVersion": 39', '"schemaVersion": "39"'],
  ['"gridPos"', '"grid"'],
];

const broken = mistakes.map(([right, wrong], i) => {
  const json = ours.find((text) => text.includes(right));
  assert.ok(json, `no dashboard has ${right}: choose another mistake`);
  const line = json.slice(0, json.indexOf(right)).split('\n').length;
  return { path: `/mistake-${i}.json`, json: json.replace(right, wrong), wrong, line };
});
const found = problems(broken);

for (const { path, wrong, line } of broken) {
  test(`finds ${wrong}`, () => {
    for (const version of versions) {
      const lines = found.filter((one) => one.file === path && one.version === version).map((one) => one.line);
      assert.ok(lines.some((one) => Math.abs(one - line) <= 1), `line ${line}, but found in ${lines}`);
    }
  });
}
