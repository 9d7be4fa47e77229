/** The child processes that all platforms of this process share: each would start its own, at half a second of processor time. */
import type { ChildProcesses } from '../../src/platform/app.ts';
import { createBuiltinEmbedder } from '../../src/platform/knowledge/embed/index.ts';
import { createDocumentReader } from '../../src/platform/knowledge/read/index.ts';
import { createForeignSchemas } from '../../src/platform/schemas/index.ts';
import { shareInProcess } from './shared.ts';
import { openTestLogger } from './test-log.ts';

/** Longer than other files take before the next one needs them. */
const IDLE_MS = 600_000;

export const borrowChildren = shareInProcess(async () => {
  const logger = openTestLogger();
  const children: ChildProcesses = {
    reader: createDocumentReader({ logger, idleMs: IDLE_MS }),
    schemas: createForeignSchemas({ logger, limits: { idleMs: IDLE_MS } }),
    embedder: createBuiltinEmbedder(),
  };
  return {
    ...children,
    async close() {
      await children.reader.close();
      await children.schemas.stop();
      await children.embedder.close();
    },
  };
});
