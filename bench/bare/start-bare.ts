import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OwnProcess } from '../child-process.ts';

const START_TIMEOUT_MS = 20_000;

export interface BareServer {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** The framework alone, answering these bodies at `/check` and `/zone`. */
export async function startBare(check: string, zone: string): Promise<BareServer> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-bare-'));
  const server = new OwnProcess({
    args: [join(import.meta.dirname, 'serve.ts'), check, zone],
    cwd: folder,
    env: {},
    logPath: join(folder, 'server.log'),
  });
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const port = await server.waitFor('its port', START_TIMEOUT_MS, async () => {
      const found = Number(/^(\d+)\n/.exec(server.readLogTail())?.[1]);
      return Number.isInteger(found) ? found : undefined;
    });
    return { host: '127.0.0.1', port, pid: server.pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
