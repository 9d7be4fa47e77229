/** A real NSD (Debian: nsd) on loopback, as a secondary of a nameserver that is tested. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findDnsPort } from './power-dns.ts';
import { requireProgram } from './programs.ts';

export const nsdMissing = 'NSD is not installed: Debian has it in nsd';

export function hasNsd(): boolean {
  const isInstalled = spawnSync('nsd', ['-v'], { stdio: 'ignore', env: programs }).error === undefined;
  return requireProgram(isInstalled, nsdMissing);
}

/** Debian keeps it where not every user looks. */
const programs = { PATH: `${process.env.PATH}:/usr/sbin` };

export interface Nsd {
  close(): Promise<void>;
}

export interface NsdOptions {
  readonly port: number;
  readonly primaryPort: number;
  readonly zones: readonly string[];
  /** Absent: transfers are asked for without one. */
  readonly key?: { readonly name: string; readonly algorithm: string; readonly secret: Uint8Array };
}

export const findNsdPort = findDnsPort;

/** It copies the zones as soon as it has started. */
export async function startNsd({ port, primaryPort, zones, key }: NsdOptions): Promise<Nsd> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-nsd-'));
  const file = (name: string) => `"${join(folder, name)}"`;
  const keyName = key?.name ?? 'NOKEY';
  const lines = [
    `server:\n  ip-address: 127.0.0.1\n  port: ${port}\n  username: ""\n  chroot: ""\n  server-count: 1`,
    `  zonesdir: "${folder}"\n  database: ""\n  pidfile: ${file('pid')}\n  xfrdfile: ${file('xfrd')}\n  xfrdir: "${folder}"`,
    `  zonelistfile: ${file('zones')}\nremote-control:\n  control-enable: no`,
    key === undefined
      ? ''
      : `key:\n  name: "${key.name}"\n  algorithm: ${key.algorithm}\n  secret: "${Buffer.from(key.secret).toString('base64')}"`,
    ...zones.map(
      (name) =>
        `zone:\n  name: "${name}"\n  zonefile: "${name}"\n  request-xfr: 127.0.0.1@${primaryPort} ${keyName}\n  allow-notify: 127.0.0.1 ${keyName}`,
    ),
  ];
  await writeFile(join(folder, 'nsd.conf'), `${lines.join('\n')}\n`);
  const child: ChildProcess = spawn('nsd', ['-d', '-c', join(folder, 'nsd.conf')], { stdio: 'ignore', env: programs });
  return {
    async close() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('close', resolve));
        child.kill('SIGTERM');
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
