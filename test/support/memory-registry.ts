/** A registry in memory for what depends on the port's `info` and `update` of DS records. Its answers are scripted. */

import {
  type DsRecord,
  type MutationOutcome,
  type Registry,
  type RegistryDomain,
  RegistryUnavailable,
  type RejectionCode,
  type UpdateCommand,
} from '../../src/domains/registry/registry.ts';
import type { Clock } from '../../src/kernel/clock/clock.ts';

/**
 * How an update ends. `pending`: it is carried out so many milliseconds later, and until then the name is pendingUpdate,
 * which prohibits others (RFC 5731 2.3). All others are unknown to the caller: `unanswered` is carried out, `lost` is not,
 * and `late` is, so many milliseconds later and without a sign before, if it hands DS records over.
 */
export type UpdateEnd =
  | { readonly kind: 'completed' | 'lost' | 'unanswered' }
  | { readonly kind: 'pending' | 'late'; readonly delayMs: number }
  | { readonly kind: 'rejected'; readonly code: RejectionCode };

export interface MemoryRegistry extends Pick<Registry, 'info' | 'update'> {
  add(name: string): void;
  /** The name goes to another registrar, with all that is set of it. */
  transferAway(name: string): void;
  /** DS records that the name has now. */
  dsOf(name: string): readonly DsRecord[];
  /** The last time that the name had DS records; undefined: never. */
  lastHadDs(name: string): Date | undefined;
  setDs(name: string, dsRecords: readonly DsRecord[]): void;
  /** How the next updates end, one each; after them all are completed. */
  endWith(...ends: UpdateEnd[]): void;
  /** The next reads of a name get no answer. */
  failReads(count: number): void;
  readonly updates: readonly UpdateCommand[];
  readonly reads: number;
}

interface Update {
  readonly dsRecords: readonly DsRecord[];
  readonly atMs: number;
}

interface Entry {
  domain: RegistryDomain;
  waiting: Update | undefined;
  late: Update[];
  lastHadDs: Date | undefined;
}

export function createMemoryRegistry(clock: Clock, onChange: (name: string) => void = () => undefined): MemoryRegistry {
  const entries = new Map<string, Entry>();
  const updates: UpdateCommand[] = [];
  let ends: UpdateEnd[] = [];
  let readsToFail = 0;
  let reads = 0;

  const find = (name: string): Entry => {
    const entry = entries.get(name);
    if (entry === undefined) throw new Error(`the registry does not have ${name}`);
    for (let due = takeDue(entry); due !== undefined; due = takeDue(entry)) {
      hold(entry, due.dsRecords, new Date(due.atMs));
    }
    return entry;
  };
  const takeDue = (entry: Entry): Update | undefined => {
    const updates = [...entry.late, ...(entry.waiting === undefined ? [] : [entry.waiting])];
    const [first] = updates.filter(({ atMs }) => atMs <= clock.now().getTime()).sort((a, b) => a.atMs - b.atMs);
    entry.late = entry.late.filter((update) => update !== first);
    if (entry.waiting === first) entry.waiting = undefined;
    return first;
  };
  const hold = (entry: Entry, dsRecords: readonly DsRecord[], at: Date) => {
    if (entry.domain.dsRecords.length > 0) entry.lastHadDs = at;
    entry.domain = { ...entry.domain, dsRecords };
    onChange(entry.domain.name);
  };
  const carryOut = (entry: Entry, end: UpdateEnd, dsRecords: readonly DsRecord[]): MutationOutcome => {
    const now = clock.now();
    if (entry.waiting !== undefined) return reject('status_prohibits');
    switch (end.kind) {
      case 'completed':
        hold(entry, dsRecords, now);
        return { kind: 'completed' };
      case 'unanswered':
        hold(entry, dsRecords, now);
        return { kind: 'unknown', reason: 'the connection was cut' };
      case 'lost':
        return { kind: 'unknown', reason: 'the connection was cut' };
      case 'late':
        if (dsRecords.length > 0) entry.late.push({ dsRecords, atMs: now.getTime() + end.delayMs });
        return { kind: 'unknown', reason: 'the connection was cut' };
      case 'pending':
        entry.waiting = { dsRecords, atMs: now.getTime() + end.delayMs };
        return { kind: 'pending' };
      case 'rejected':
        return reject(end.code);
    }
  };

  return {
    updates,
    get reads() {
      return reads;
    },
    async info(name) {
      reads += 1;
      if (readsToFail > 0) {
        readsToFail -= 1;
        throw new RegistryUnavailable('no answer in time');
      }
      if (!entries.has(name)) return undefined;
      const { domain, waiting } = find(name);
      return waiting === undefined ? domain : { ...domain, statuses: ['pendingUpdate'] };
    },
    async update(command) {
      updates.push(command);
      const [end = { kind: 'completed' }, ...rest] = ends;
      ends = rest;
      if (!entries.has(command.name)) return reject('object_does_not_exist');
      const entry = find(command.name);
      if (!entry.domain.isOurs) return reject('not_authorized');
      return carryOut(entry, end, command.dsRecords ?? entry.domain.dsRecords);
    },
    add(name) {
      entries.set(name, { domain: describe(name, clock.now()), waiting: undefined, late: [], lastHadDs: undefined });
    },
    transferAway(name) {
      const entry = find(name);
      entry.domain = { ...entry.domain, isOurs: false };
    },
    dsOf: (name) => find(name).domain.dsRecords,
    lastHadDs(name) {
      const { domain, lastHadDs } = find(name);
      return domain.dsRecords.length > 0 ? clock.now() : lastHadDs;
    },
    setDs: (name, dsRecords) => hold(find(name), dsRecords, clock.now()),
    endWith(...next) {
      ends = next;
    },
    failReads(count) {
      readsToFail = count;
    },
  };
}

function reject(code: RejectionCode): MutationOutcome {
  return { kind: 'rejected', code, reason: `refused: ${code}` };
}

function describe(name: string, now: Date): RegistryDomain {
  return {
    name,
    registryId: `${name}-TEST`,
    isOurs: true,
    statuses: ['ok'],
    createdAt: now.toISOString(),
    updatedAt: null,
    expiresAt: new Date(now.getTime() + 31_536_000_000).toISOString(),
    nameservers: ['ns1.dns.test', 'ns2.dns.test'],
    dsRecords: [],
    isPrivate: true,
  };
}
