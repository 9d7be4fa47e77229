/** Two server processes on one PostgreSQL and the model that they talk to, for the tests of the gate and of the soak. */
import type { ServerProcess } from '../boot/server-process.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import type { TestProject } from '../support/platform.ts';
import { smithOf, type TestSmith, useUpstream } from '../support/turns.ts';
import { type Cleanup, type Fleet, openFleet, openPatiently, patiently } from './fleet.ts';

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
      return { onA: smithOf(patientProject(fleet, a), id), onB: smithOf(patientProject(fleet, b), id) };
    },
  };
}

/** Waits for a server that sheds load. */
function patientProject(fleet: Fleet, server: ServerProcess): TestProject {
  const project = fleet.project(server);
  return {
    ...project,
    get: (path, headers) => patiently(() => project.get(path, headers)),
    post: (path, body, headers) => patiently(() => project.post(path, body, headers)),
    open: (...request) => openPatiently(() => project.open(...request)),
  };
}
