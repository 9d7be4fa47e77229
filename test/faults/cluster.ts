/** PostgreSQL clusters of a test's own (test/postgres17), which may be stopped and killed. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { holdPort } from '../../src/command-line/hold-port.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Cleanup } from './fleet.ts';

const script = fileURLToPath(new URL('../postgres17', import.meta.url));

/** The reason that tests give where they are skipped: the script needs root, and would install a server where there is none. */
export const NEEDS_CLUSTERS = hasClusters() ? false : 'needs PostgreSQL clusters of test/postgres17, run as root';

/** Below those that Linux gives to connections. Each place is two ports: one is held for as long as a test has the cluster at the other. */
const FIRST_PORT = 25_500;
const PLACES = 50;

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

/** At a port that no other test has, also of another run on this machine. */
export async function startCluster(t: Cleanup): Promise<Cluster> {
  const port = await takePort(t);
  const run = (verb: string) => runScript(verb, port);
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

async function runScript(verb: string, port: number): Promise<string> {
  return (await promisify(execFile)(script, [verb, String(port)])).stdout.trim();
}

/** It is free until somebody starts a server there, and nobody else who asks here is given it before the test is over. */
async function takePort(t: Cleanup): Promise<number> {
  for (let place = 0; place < PLACES; place += 1) {
    const guard = FIRST_PORT + 2 * place;
    const port = guard + 1;
    const held = await tryHolding(guard);
    if (held === undefined) continue;
    // The cluster of a run that was killed may still be there.
    if (!(await isFree(port))) await runScript('stop', port).catch(() => undefined);
    if (await isFree(port)) {
      t.after(held.release);
      return port;
    }
    await held.release();
  }
  throw new Error(`no free port for a cluster from ${FIRST_PORT} on`);
}

function tryHolding(port: number) {
  return holdPort('127.0.0.1', port, 'FIRST_PORT').catch(() => undefined);
}

async function isFree(port: number): Promise<boolean> {
  const held = await tryHolding(port);
  await held?.release();
  return held !== undefined;
}

function hasClusters(): boolean {
  const root = process.env.POSTGRES17_ROOT ?? '/opt/postgres17-root';
  return process.getuid?.() === 0 && existsSync(join(root, '.ready'));
}
