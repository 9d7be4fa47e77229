import { noteStatements } from './support/noted-database.ts';
import { startPlatform } from './support/platform.ts';
import { startTools } from '../bench/tools/start-tools.ts';
import { question } from './support/turns.ts';
const served = new AsyncDisposableStack();
const url = await startTools(served);
const outboundAllow = ['127.0.0.1'];
const store = await startPlatform({ outboundAllow });
const { db, seen } = noteStatements(store.db);
const platform = await startPlatform({ outboundAllow, sharing: { db, vault: store.vault, blobs: store.blobs } });
const p = await platform.createProject();
await p.put('/v1/tenant/mcp/bench', { url });
console.log((await p.post('/v1/tenant/mcp/bench/refresh')).body.status);
const smithId = await p.createSmith();
const ask = (text: string) => p.post(`/v1/smiths/${smithId}/runs`, question(text));
const CALL = 'Call the tool bench__echo with {"text":"hello"}';
for (const text of ['Write 3 words', CALL, CALL, CALL]) await ask(text);
for (const text of ['Write 3 words', CALL]) {
  seen.length = 0;
  const t = performance.now();
  const a = await ask(text);
  console.log(text, a.body.status, performance.now() - t);
  for (const s of seen) if (JSON.stringify(s.values ?? []).includes(p.projectId)) console.log('  ', s.isInTransaction ? 'tx' : '  ', (s as any).name ?? '', s.text.replace(/\s+/g, ' ').slice(0, 150));
}
await platform.close(); await store.close(); await served.disposeAsync();
