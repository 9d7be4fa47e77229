/**
 * Tests that failed and then passed, alone and with the same seed. The first time the gate goes on and such a test gets an entry
 * in `test/flaky.json`; a second time it fails, and so does an entry that nobody has mended in time.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from './messages.ts';

export interface FlakyTest {
  /** Relative to the repository. */
  readonly file: string;
  /** Groups and the test itself, joined by ` › `. */
  readonly test: string;
  readonly seed: number;
  /** The day of the failure, UTC: `2026-11-28`. */
  readonly date: string;
}

const LIFETIME_DAYS = 14;
const DAY_MS = 86_400_000;

/** Where a failure by chance may be a loss that happens by chance: these tests are never run again. */
const NEVER_FLAKY: ReadonlyMap<RegExp, string> = new Map([
  [/^src\/(?:kernel\/stripe|platform\/(?:resources\/)?(?:billing|budgets|usage))\//, 'money'],
  [
    /^src\/domains\/(?:resources\/)?(?:auto-top-up|balances|deletions|disputes|orders|play-money|prices|receipts|renewals|restorations|top-ups|trades|transfers-out|wallet)\//,
    'money',
  ],
  [/^src\/platform\/(?:access|authorization-server|store)\//, 'tenancy'],
  [/^src\/platform\/resources\/(?:oauth-server|projects|tokens)\//, 'tenancy'],
  [/^src\/domains\/(?:access|resources\/tokens)\//, 'tenancy'],
  [/^test\/conformance\/(?:access|references|table-owners)\./, 'tenancy'],
  [/^src\/(?:kernel\/vault|platform\/connections|platform\/resources\/model-keys)\//, 'secrets'],
  [/^src\/command-line\/sealed-columns\.|^test\/(?:secrets\/|conformance\/oauth-secrets\.)/, 'secrets'],
  [
    /^src\/kernel\/(?:db|jobs|blobs|webhooks)\/|^src\/platform\/(?:engine|feed)\/|^test\/(?:faults|simulation)\//,
    'losses',
  ],
]);

/** What a failure of this file may mean, where it may mean more than chance. */
export function reasonNeverFlaky(file: string): string | undefined {
  return [...NEVER_FLAKY].find(([pattern]) => pattern.test(file))?.[1];
}

export function readFlakyTests(listFile: string): FlakyTest[] {
  return JSON.parse(readFileSync(listFile, 'utf8'));
}

/** An entry a line, so that two of them merge. */
export function writeFlakyTests(listFile: string, tests: readonly FlakyTest[]): void {
  const lines = tests.map((entry) => `\n  ${JSON.stringify(entry)}`);
  writeFileSync(listFile, `[${lines.join(',')}${lines.length > 0 ? '\n' : ''}]\n`);
}

export const nameTest = ({ path }: Outcome): string => path.join(' › ');

/** One sentence for each entry that may not stay. */
export function findWrongEntries(root: string, tests: readonly FlakyTest[], now: Date): string[] {
  return tests.flatMap(({ file, test, date }) => {
    const name = `test/flaky.json, ${file} › ${test}:`;
    const ageDays = (now.getTime() - Date.parse(date)) / DAY_MS;
    const reason = reasonNeverFlaky(file);
    if (!existsSync(join(root, file))) return [`${name} the file does not exist. Remove the entry.`];
    if (reason !== undefined)
      return [`${name} a test of ${reason} may not be in this list. Mend the test or the product.`];
    if (!(ageDays < LIFETIME_DAYS))
      return [`${name} the entry is older than ${LIFETIME_DAYS} days. Mend the test, then remove it.`];
    return [];
  });
}

/** Whether each of the tests that failed may be tried once more: none is in the list, and no failure of the file is a loss. */
export function mayBeChance(file: string, failed: readonly Outcome[], known: readonly FlakyTest[]): boolean {
  const isKnown = (outcome: Outcome) => known.some((entry) => entry.file === file && entry.test === nameTest(outcome));
  return reasonNeverFlaky(file) === undefined && !failed.some(isKnown);
}
