/** PostgreSQL clusters of a test's own (test/postgres17), which may be stopped and killed. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Cleanup } from './fleet.ts';

const script = fileURLToPath(new URL('../postgres17', import.meta.url));

/** The reason that tests give where they are skipped: the script needs root, and would install a server where there is none. */
export const NEEDS_CLUSTERS = hasClusters() ? false : 'needs PostgreSQL clusters of test/postgres17, run as root';

export interface Cluster {
  /** A database of the test's own in it. */
  readonly url: string;
  start(): Promise<void>;
  /** As an administrator does. */
  stop(): Promise<void>;
  /** As a power cut does. */
  kill(): Promise<void>;
  /** Runs a statement in the cluster's first database, as its administrator. */
  administer(text: string): Promise<void>;
}

/** Each test file has a port of its own. */
export async function startCluster(t: Cleanup, port: number): Promise<Cluster> {
  const run = async (verb: string) => (await promisify(execFile)(script, [verb, String(port)])).stdout.trim();
  const clusterUrl = (await run('start')).split('\n').at(-1) ?? '';
  const name = `ironcraft_loss_${randomBytes(6).toString('hex')}`;
  const administer = async (text: string) => {
    const admin = await connectServer({ url: clusterUrl, poolSize: 1 });
    try {
      await admin.query({ text, values: [] });
    } finally {
      await admin.close();
    }
  };
  await administer(`create database ${name}`);
  t.after(async () => {
    await run('start');
    await administer(`drop database ${name} with (force)`);
    await run('stop');
  });
  const url = new URL(clusterUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    start: async () => void (await run('start')),
    stop: async () => void (await run('stop')),
    kill: async () => void (await run('kill')),
    administer: (text) => administer(text.replaceAll('DATABASE', name)),
  };
}

function hasClusters(): boolean {
  const root = process.env.POSTGRES17_ROOT ?? '/opt/postgres17-root';
  return process.getuid?.() === 0 && existsSync(join(root, '.ready'));
}
