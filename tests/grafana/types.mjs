// Checks dashboards against the types that Grafana publishes, of the oldest supported and the newest version:
// unknown options, invalid values, missing members. The TypeScript compiler reads each JSON as one literal, so
// the lines of its errors are those of the JSON.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const folder = dirname(fileURLToPath(import.meta.url));
const packages = ['grafana-schema-oldest', 'grafana-schema-newest'].map((name) => {
  const path = `${folder}/node_modules/${name}`;
  return { path, ...JSON.parse(readFileSync(`${path}/package.json`, 'utf8')) };
});

export const versions = packages.map(({ version }) => version);

// A compiler host that also finds `texts`, by path.
function hostWith(texts, options) {
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, ...rest) =>
    texts.has(path) ? ts.createSourceFile(path, texts.get(path), ...rest) : getSourceFile(path, ...rest);
  return host;
}

function problemsOf(texts, { path, version, types }) {
  const options = {
    strict: true,
    noEmit: true,
    types: [],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    paths: {
      '@grafana/schema': [`${path}/${types}`],
      'panels/*': [`${path}/dist/esm/raw/composable/*`],
    },
  };
  const program = ts.createProgram([...texts.keys()], options, hostWith(texts, options));
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => ({
    file: file?.fileName.replace(/\.json\.ts$/, '.json') ?? '',
    line: file ? ts.getLineAndCharacterOfPosition(file, start).line + 1 : 0,
    version,
    text: ts.flattenDiagnosticMessageText(messageText, '\n  '),
  }));
}

// The faults of dashboards {path, json}, as {file, line, version, text}.
export function problems(dashboards) {
  const texts = new Map(
    dashboards.map(({ path, json }) => [
      `${path}.ts`,
      `const dashboard: import('${folder}/dashboard').Dashboard = ${json};export {};`,
    ]),
  );
  return packages.flatMap((one) => problemsOf(texts, one));
}
