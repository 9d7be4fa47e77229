/** The registry's tables as its queries see them: migrations/domains/0002_simulated_registry.sql. */
import type { ColumnType, Generated, Kysely } from 'kysely';
import type { Executor } from '../../../kernel/db/database.ts';
import { unscoped } from '../../../kernel/db/kysely.ts';
import type { DsRecord } from '../registry.ts';
import type { ContactData, DomainContact, DomainTrade, PollMessage, TransferStatus } from './registry-core.ts';

/** jsonb: read as the parsed value, written as JSON text (see `json` in kernel/db). */
type Json<T> = ColumnType<T, string, string>;

/** What a `Date` becomes in JSON: ISO 8601. */
export type Stored<T> = { [Key in keyof T]: T[Key] extends Date ? string : T[Key] };

export interface PendingCommand {
  readonly command: 'create' | 'renew';
  readonly years: number;
  /** Whether it ends in a refusal: see policy.ts. */
  readonly fails: boolean;
  /** Of an application: what was charged for it, and comes back where it fails. */
  readonly refundedCents?: number;
  readonly completesAt: Date;
  readonly clTRID: string | null;
  readonly svTRID: string;
}

export interface TransferRecord {
  readonly status: TransferStatus;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  readonly actedBy: string;
  /** While pending: when the registry acts by itself. */
  readonly actedAt: Date;
  /** What it adds to the term. */
  readonly years: number;
  /** Whether the losing registrar rejects it when that time has come: see policy.ts. */
  readonly fails: boolean;
  readonly expiresAt: Date;
}

/** The present or last one. */
export interface TradeRecord extends Omit<DomainTrade, 'name'> {
  readonly contacts: readonly DomainContact[];
  readonly keepsKeys: boolean;
  /** Whether one of both does not consent: see policy.ts. */
  readonly fails: boolean;
}

export type Phase = 'creating' | 'active' | 'expired' | 'redemption' | 'pendingRestore' | 'pendingDelete';

interface ObjectColumns {
  roid: Generated<string>;
  sponsor: string;
  created_by: string;
  created_at: Date;
  updated_by: string | null;
  updated_at: Date | null;
}

export interface RegistryTables {
  registry_registrars: { id: string; name: string; password_hash: string | null; created_at: Generated<Date> };
  registry_contacts: ObjectColumns & {
    id: string;
    data: Json<Omit<ContactData, 'authInfo' | 'disclose'>>;
    disclose: boolean;
    auth_info: string;
  };
  registry_domains: ObjectColumns & {
    name: string;
    transferred_at: Date | null;
    expires_at: Date;
    registrant: string;
    auth_info: string;
    client_statuses: string[];
    ds_records: Json<readonly DsRecord[]>;
    phase: Phase;
    phase_until: Date | null;
    pending: ColumnType<Stored<PendingCommand> | null, string | null, string | null>;
    transfer: ColumnType<Stored<TransferRecord> | null, string | null, string | null>;
    trade: ColumnType<Stored<TradeRecord> | null, string | null, string | null>;
    due_at: Date | null;
    auto_renew_until: Date | null;
  };
  registry_charges: {
    id: Generated<number>;
    registrar: string;
    name: string;
    kind: 'create' | 'renew' | 'auto_renew' | 'transfer' | 'restore' | 'trade' | 'application';
    years: number;
    amount_cents: number;
    charged_at: Date;
  };
  registry_domain_contacts: { domain_name: string; type: 'admin' | 'billing' | 'tech'; contact_id: string };
  registry_hosts: ObjectColumns & { name: string; addresses: string[]; superordinate: string | null };
  registry_domain_hosts: { domain_name: string; host_name: string };
  registry_messages: {
    id: Generated<number>;
    registrar: string;
    queued_at: Date;
    name: string;
    text: string;
    data: Json<PollMessage['data']>;
  };
  registry_faults: {
    id: Generated<number>;
    name_pattern: string;
    command: string;
    moment: 'before' | 'after';
    outcome: 'timeout' | 'disconnect';
    remaining: number;
  };
}

export type RegistryDb = Kysely<RegistryTables>;

/** Queries over the registry's tables, inside `executor`'s transaction when it is one. */
export function registryDb(executor: Executor): RegistryDb {
  return unscoped<RegistryTables>(executor, 'domains');
}
