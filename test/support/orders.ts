/** A domain service whose time and registry a test file owns: a manual clock, and faults by the name of the domain. */
import assert from 'node:assert/strict';
import type { Fault, FaultCommand } from '../../src/domains/registry/simulated/index.ts';
import { auditLedger, readWallet } from '../../src/domains/wallet/index.ts';
import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';
import { startDomains, type TestDomains, type TestDomainsOptions, type TestWorkspace } from './domains.ts';
import type { Answer } from './platform.ts';

export interface PlannedFault {
  readonly command: FaultCommand;
  readonly moment: 'before' | 'after';
  readonly fault: Exclude<Fault, 'ok'>;
}

export interface TestOrders extends TestDomains {
  readonly clock: ManualClock;
  /** The commands on this name meet these, the first first; in place of what was planned before. */
  plan(name: string, faults: readonly PlannedFault[]): void;
  /** With so much money in its wallet. Default 1,000 EUR. */
  fundedWorkspace(cents?: number): Promise<TestWorkspace>;
  /** Available and held. */
  balance(workspace: TestWorkspace): Promise<[availableCents: number, heldCents: number]>;
  /** So much later, with everything done that is due by then. */
  later(ms: number): Promise<void>;
  assertBooksAreRight(): Promise<void>;
}

export const DAY_MS = 86_400_000;
const START = new Date('2027-03-01T12:00:00Z');

export async function startOrders(options: Omit<TestDomainsOptions, 'clock'> = {}): Promise<TestOrders> {
  const clock = createManualClock(START);
  const planned = new Map<string, PlannedFault[]>();
  const meet = (moment: 'before' | 'after') => (command: FaultCommand, name: string) => {
    const next = planned.get(name)?.[0];
    if (next?.command !== command || next.moment !== moment) return 'ok';
    planned.get(name)?.shift();
    return next.fault;
  };
  const faults = { before: meet('before'), after: meet('after') };
  const service = await startDomains({ ...options, clock, simulated: { faults, ...options.simulated } });
  return {
    ...service,
    clock,
    plan: (name, faultsOfName) => void planned.set(name, [...faultsOfName]),
    async fundedWorkspace(cents = 100_000) {
      const workspace = await service.createWorkspace();
      await workspace.fund(cents);
      return workspace;
    },
    async balance({ workspaceId }) {
      const { availableCents, heldCents } = await readWallet(service.db, workspaceId);
      return [availableCents, heldCents];
    },
    async later(ms) {
      clock.advance(ms);
      // The first refreshes names, the second reads the registry’s messages about them.
      await service.domains.orders.sweep();
      await service.domains.orders.sweep();
    },
    async assertBooksAreRight() {
      assert.deepEqual(await auditLedger(service.db), []);
    },
  };
}

/** What identifies a refusal. */
export function refusal({ status, body }: Answer): [status: number, code: string] {
  return [status, body.error];
}

/** The command is carried out and its answer lost, and then the registry says nothing for a while. */
export function silenceAfter(command: FaultCommand): PlannedFault[] {
  const silent: PlannedFault = { command: 'info', moment: 'before', fault: 'timeout' };
  return [{ command, moment: 'after', fault: 'timeout' }, ...Array.from({ length: 8 }, () => silent)];
}
