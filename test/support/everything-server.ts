/** `@modelcontextprotocol/server-everything` as a child process on loopback. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const manifest = import.meta.resolve('@modelcontextprotocol/server-everything/package.json');
const program = fileURLToPath(new URL('./dist/index.js', manifest));

const MAX_ATTEMPTS = 5;

export interface EverythingServer {
  readonly url: string;
  close(): Promise<void>;
}

type Transport = 'streamableHttp' | 'sse';

export async function startEverythingServer(transport: Transport): Promise<EverythingServer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(transport, await findFreePort());
    } catch (error) {
      // It cannot be told to find a port itself: until it listens, another program may have taken this one.
      if (attempt === MAX_ATTEMPTS || !String(error).includes('already in use')) throw error;
    }
  }
}

async function start(transport: Transport, port: number): Promise<EverythingServer> {
  const child: ChildProcess = spawn(process.execPath, [program, transport], {
    env: { PORT: String(port), PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // Read to its end: a server that cannot say something any more ends.
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk: unknown) => {
      said += String(chunk);
      if (/on port \d+/.test(said)) resolve();
    });
    child.once('exit', () => reject(new Error(`server-everything did not start: ${said}`)));
  });
  return {
    url: `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    async close() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
