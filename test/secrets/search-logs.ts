/** Searches logs for secrets, wherever in a line they stand and in whichever of the usual ways they are written. */
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NAUGHTY_STRINGS } from '../conformance/naughty-strings.ts';
import { writings } from '../support/find-secrets.ts';

/** Of each writing, what a line is looked through for. */
const HEAD = 12;

export interface Finding {
  readonly log: string;
  readonly line: number;
  /** What the secret is called where it was sent. */
  readonly secret: string;
  /** The line, with the secret masked. */
  readonly text: string;
}

export interface Search {
  readonly secrets: number;
  readonly logs: number;
  readonly bytes: number;
  readonly findings: readonly Finding[];
}

type Needles = ReadonlyMap<string, readonly { readonly name: string; readonly written: string }[]>;

/** Of all `*.secrets` of the folder in all its `*.log`. */
export async function searchLogs(folder: string): Promise<Search> {
  const names = (await readdir(folder)).sort();
  const secrets = new Map<string, string>();
  for (const name of names.filter((one) => one.endsWith('.secrets'))) {
    for (const [called, secret] of await readSecrets(join(folder, name)))
      if (!isSentEverywhere(secret)) secrets.set(secret, called);
  }
  const needles = makeNeedles(secrets);
  const logs = names.filter((one) => one.endsWith('.log'));
  const findings: Finding[] = [];
  let bytes = 0;
  for (const log of logs) {
    bytes += (await stat(join(folder, log))).size;
    findings.push(...(await searchLog(join(folder, log), log, needles)));
  }
  return { secrets: secrets.size, logs: logs.length, bytes, findings };
}

/** What the fuzz tests put into every place, secrets and ids alike, whole or in part. */
function isSentEverywhere(secret: string): boolean {
  return NAUGHTY_STRINGS.some((text) => text.includes(secret) || (text.length >= HEAD && secret.includes(text)));
}

/** A process that was killed may have left half a line at the end. */
async function readSecrets(file: string): Promise<[string, string][]> {
  const whole = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
  return whole.map((line) => JSON.parse(line));
}

function makeNeedles(secrets: ReadonlyMap<string, string>): Needles {
  const needles = new Map<string, { name: string; written: string }[]>();
  for (const [secret, name] of secrets) {
    for (const written of new Set([...writings(secret), Buffer.from(secret).toString('hex')])) {
      if (written.length < HEAD) continue;
      const head = written.slice(0, HEAD);
      const same = needles.get(head);
      if (same === undefined) needles.set(head, [{ name, written }]);
      else same.push({ name, written });
    }
  }
  return needles;
}

async function searchLog(file: string, log: string, needles: Needles): Promise<Finding[]> {
  const findings: Finding[] = [];
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1;
    for (let at = 0; at + HEAD <= text.length; at += 1) {
      const candidates = needles.get(text.slice(at, at + HEAD)) ?? [];
      for (const { name, written } of candidates) {
        if (!text.startsWith(written, at)) continue;
        findings.push({ log, line, secret: name, text: text.replaceAll(written, `<<${name}>>`) });
      }
    }
  }
  return findings;
}
