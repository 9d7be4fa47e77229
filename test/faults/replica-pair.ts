/** Two server processes on one PostgreSQL and the model that they talk to, for the tests of the gate and of the soak. */
import type { ServerProcess } from '../boot/server-process.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { smithOf, type TestSmith, useUpstream } from '../support/turns.ts';
import { type Cleanup, type Fleet, openFleet } from './fleet.ts';

export interface ReplicaPair {
  readonly fleet: Fleet;
  readonly upstream: OpenAiUpstream;
  readonly a: ServerProcess;
  readonly b: ServerProcess;
  /** One smith, seen from both. */
  makeSmith(settings?: Record<string, unknown>): Promise<{ onA: TestSmith; onB: TestSmith }>;
}

export async function startReplicaPair(t: Cleanup): Promise<ReplicaPair> {
  const fleet = await openFleet(t, { store: 'server', only: 'platform' });
  const upstream = await startOpenAiUpstream();
  t.after(() => upstream.close());
  const a = await fleet.start();
  const b = await fleet.start();
  await useUpstream(fleet.project(a), upstream);
  return {
    fleet,
    upstream,
    a,
    b,
    async makeSmith(settings = {}) {
      const id = await fleet.project(a).createSmith(settings);
      return { onA: smithOf(fleet.project(a), id), onB: smithOf(fleet.project(b), id) };
    },
  };
}
