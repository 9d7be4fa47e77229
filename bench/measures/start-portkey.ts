import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OwnProcess } from '../child-process.ts';
import { findFreePort } from '../ironcraft.ts';
import { installPeer, readPeerVersion } from './install-peer.ts';

const FOLDER = resolve(import.meta.dirname, '../peers/portkey');
const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 60_000;

export interface Portkey {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  readonly version: string;
}

/** Portkey's gateway in a process of its own, which ends with `served`; installed when it is not. */
export async function startPortkey(served: AsyncDisposableStack, say: (line: string) => void): Promise<Portkey> {
  await installPeer(FOLDER, 'Portkey’s gateway into bench/peers/portkey, about 25 MB', say);
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-portkey-'));
  served.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await findFreePort(HOST);
  const gateway = new OwnProcess({
    args: [join(FOLDER, 'serve.ts'), String(port)],
    cwd: folder,
    logPath: join(folder, 'portkey.log'),
    env: { NODE_ENV: 'production' },
  });
  served.defer(() => gateway.stop());
  await gateway.waitFor('a ready Portkey gateway', START_TIMEOUT_MS, async () =>
    (await fetch(`http://${HOST}:${port}/`)).ok ? true : undefined,
  );
  return { host: HOST, port, pid: gateway.pid, version: readPeerVersion(FOLDER, '@portkey-ai/gateway') };
}
