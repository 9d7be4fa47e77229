import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OwnProcess } from '../child-process.ts';
import { findFreePort } from '../ironcraft.ts';

const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 30_000;

/** What the model is asked for, ours and the peer's, with one call of the one tool. */
export const TOOL_TEXT = 'hello from the tool';

/** The MCP server of serve.ts in a process of its own, which ends with `served`. Its URL. */
export async function startTools(served: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-tools-'));
  served.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await findFreePort(HOST);
  const tools = new OwnProcess({
    args: [join(import.meta.dirname, 'serve.ts'), String(port)],
    cwd: folder,
    logPath: join(folder, 'tools.log'),
    env: {},
  });
  served.defer(() => tools.stop());
  await tools.waitFor('a ready MCP server', START_TIMEOUT_MS, async () =>
    (await fetch(`http://${HOST}:${port}/ok`)).ok ? true : undefined,
  );
  return `http://${HOST}:${port}/mcp`;
}
