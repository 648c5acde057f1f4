import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isPermitted, lineOf, shippedPackages } from './licences.js';

/*
 * Writes what a release has beside the package, into dist/release: `sbom.cdx.json`, a bill of materials in CycloneDX, and `licences.txt`. Both
 * list what users get: the packages that npm installs, and those in the bundles. Run it by `npm run suite -- release-files`.
 */

interface Component {
  'bom-ref': string;
  name: string;
  type: string;
  properties: readonly { readonly name: string; readonly value: string }[];
}

interface Bom {
  readonly metadata: { readonly component: Component };
  components: readonly Component[];
  dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const folder = 'dist/release';
const shipped = shippedPackages();
const refused = shipped.filter(({ licence }) => !isPermitted(licence));
if (refused.length > 0) throw new Error(`these licences are not permitted (.ci/licences.ts):\n${refused.map(lineOf).join('\n')}`);

const isBundled = new Map(shipped.map(({ name, version, isBundled: inBundle }) => [`${name}@${version}`, inBundle]));
const bom: Bom = JSON.parse(
  execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], { encoding: 'utf8', maxBuffer: 1e8 }),
);
const { name } = JSON.parse(readFileSync('package.json', 'utf8'));
// npm takes the name of the folder.
Object.assign(bom.metadata.component, { name, type: 'application' });
bom.components = bom.components
  .filter((component) => isBundled.has(component['bom-ref']))
  .map((component) => ({
    ...component,
    properties: [
      ...component.properties.filter((property) => property.name !== 'cdx:npm:package:development'),
      ...(isBundled.get(component['bom-ref']) === true ? [{ name: 'cdx:npm:package:bundled', value: 'true' }] : []),
    ],
  }));
const missing = [...isBundled.keys()].filter((ref) => !bom.components.some((component) => component['bom-ref'] === ref));
if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.join(', ')}`);
const kept = new Set([bom.metadata.component['bom-ref'], ...bom.components.map((component) => component['bom-ref'])]);
bom.dependencies = bom.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }));

mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}/sbom.cdx.json`, `${JSON.stringify(bom, null, 2)}\n`);
writeFileSync(`${folder}/licences.txt`, `${shipped.map(lineOf).join('\n')}\n`);
const installedCount = shipped.filter((one) => !one.isBundled).length;
process.stdout.write(`${folder}: ${bom.components.length} packages, ${installedCount} of them installed by npm\n`);
