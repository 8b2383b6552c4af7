// Prints the faults of dashboards, one per line: node tests/grafana/check.mjs deploy/chart/tangram/files/dashboards/*.json
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { problems, versions } from './types.mjs';

const dashboards = process.argv.slice(2).map((path) => ({ path: resolve(path), json: readFileSync(path, 'utf8') }));
const found = problems(dashboards);
for (const { file, line, version, text } of found) console.error(`${relative('', file)}:${line}: Grafana ${version}: ${text}`);
if (found.length > 0) process.exit(1);
console.log(`${dashboards.length} dashboards are of the types of Grafana ${versions.join(' and ')}`);
